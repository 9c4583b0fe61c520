// Renders formulas for formulas.py: a line of JSON in, a line of JSON out. The argument is the path of katex.min.js.
const katex = require(process.argv[2]);
const lines = require("readline").createInterface({ input: process.stdin });

lines.on("line", (line) => {
  const { latex, katex_options } = JSON.parse(line);
  let answer;
  try {
    answer = { html: katex.renderToString(latex, katex_options) };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
