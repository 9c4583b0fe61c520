// Put a kernel together, rule by rule, and see its slice, its Gram matrix and its eigenvalues.

import { BASES, compose, counterexample, isNegative, spectrum, STEPS, WEIGHTS } from "./compose.js";
import { linspace } from "./kernels.js";
import { short } from "./draw.js";
import { Lab } from "./widgets.js";

const ROWS = ["step1", "step2", "step3", "step4", "step5"];
const FACTORS = ["0.25", "0.5", "2", "-1"];
const RULES = "thm-rules-ten"; // the theorem in kernels/rules.md

const choices = { "": "nothing more" };
for (const [name, sign] of [["plus", "+"], ["times", "×"], ["minus", "−"]]) {
  for (const [base, { text }] of Object.entries(BASES)) choices[`${name} ${base}`] = `${sign} ${text}`;
}
for (const c of FACTORS) choices[`scale ${c}`] = `times ${short(Number(c))}`;
Object.assign(choices, { "exp ": "exp(k)", "poly ": "1 + k + k²" });
for (const [f, { text }] of Object.entries(WEIGHTS)) choices[`weight ${f}`] = `f(x) k f(x′), f = ${text[0]}`;

const recipeOf = (state) => ({
  start: state.base,
  steps: ROWS.map((row) => state[row]).filter(Boolean).map((text) => text.split(" ")),
});

// The rules as links to the theorem, where the page has it.
function ruleLinks(rules) {
  return rules.flatMap((rule, i) => {
    const there = document.getElementById(RULES);
    const link = document.createElement(there ? "a" : "span");
    if (there) link.href = `#${RULES}`;
    link.textContent = rule;
    return i ? [", ", link] : [link];
  });
}

// What the button "Break it" tries, in this order, until it finds a counterexample.
const BREAKS = ["minus one", "minus linear", "minus gaussian", "minus square", "scale -1"];

const bell = (x, z) => Math.exp(-((x - z) ** 2) / 8); // what the first challenge asks for

export function builderFigure(root, { points }) {
  const lab = new Lab(root, "builder", {
    title: "Build a kernel, or break one",
    help: "The points lie below the curve; the cross is x′.",
    start: {
      base: "linear",
      step1: "scale 0.25",
      step2: "exp ",
      step3: "",
      step4: "",
      step5: "",
      cross: [[2, 0]],
      points,
    },
  });
  lab.select("base", "Start with", Object.fromEntries(Object.entries(BASES).map(([name, { text }]) => [name, text])));
  ROWS.forEach((row, i) => {
    lab.select(row, `Step ${i + 1}`, choices, { unless: (s) => i > 0 && !s[ROWS[i - 1]] && !s[row] });
  });
  const refuted = (state) => {
    const { k, valid } = compose(recipeOf(state));
    return valid ? null : counterexample(k, state.points.map((p) => p[0]));
  };
  lab.button("Break it", (state) => {
    const free = ROWS.find((row) => !state[row]) ?? ROWS.at(-1);
    if (refuted(state)) return;
    const way = BREAKS.find((step) => refuted({ ...state, [free]: step }));
    if (way) state[free] = way;
  });
  const formula = lab.stage.appendChild(document.createElement("p"));
  formula.className = "lab-formula";
  const slice = lab.plot({
    label: "The kernel against x, for the fixed point x′",
    x: [-5, 5],
    y: [0, 1],
    xLabel: "x",
    yLabel: "k(x, x′)",
    share: 1.3,
    aspect: 0.8,
    narrow: 0.55,
    most: 270,
  });
  const heat = lab.plot({
    label: "The Gram matrix of the points: dark means large",
    caption: "Gram matrix: dark means large",
    x: [0, 1],
    y: [0, 1],
    aspect: 1,
    axes: false,
    least: 160,
    share: 0.8,
    most: 250,
    widest: 235,
  });
  const bars = lab.plot({
    label: "The eigenvalues of the Gram matrix as bars",
    x: [0, 1],
    y: [0, 1],
    xLabel: "eigenvalues",
    ticks: false,
    aspect: 1.3,
    narrow: 1.4,
    least: 130,
    share: 0.6,
    most: 265,
  });
  const grid = linspace(-5, 5, 201);
  const below = lab.handles(slice, { fixed: 0 });
  lab.handles(slice, { key: "cross", name: "x′", fixed: 0 });
  lab.challenge("One more rule makes this the Gaussian kernel exp(−(x − x′)²/8). Which?", ({ valid, bellGap }) => [
    valid && bellGap < 1e-9,
    bellGap < 1e-9 ? "" : `the largest difference is ${short(bellGap, 2)}`,
  ]);
  lab.challenge("No rule allows a difference. Subtract something so that no set of points refutes the result.", (facts) => [
    facts.subtracts && !facts.found,
    facts.subtracts ? (facts.found ? "refuted" : "not refuted") : "nothing is subtracted",
  ]);
  lab.run((state) => {
    const recipe = recipeOf(state);
    const { k, text, valid, broken } = compose(recipe);
    const x = state.points.map((p) => p[0]);
    const centre = state.cross[0]?.[0] ?? 0;
    formula.textContent = `k(x, x′) = ${text}`;
    const values = grid.map((z) => k(z, centre));
    const { K, values: eigenvalues } = spectrum(k, x);
    const largest = Math.max(...values.map(Math.abs), 1e-6);
    const flat = K.flatMap((row) => Array.from(row));
    root.classList.toggle("lab-broken", false);
    if (![...values, ...flat].every((v) => Number.isFinite(v) && Math.abs(v) < 1e100)) {
      for (const plot of lab.plots) plot.frame();
      lab.note("The values are too large for floating-point numbers. Remove an exponential or a square.", true);
      return;
    }
    const low = Math.min(0, ...values);
    const high = Math.max(0, ...values);
    const room = 0.14 * Math.max(high - low, largest * 0.5);
    slice.y = [low - room, high + room];
    below.fixed = low - 0.55 * room;
    const found = valid ? null : counterexample(k, x);
    const negative = found !== null;
    const bellGap = grid.reduce((most, z, i) => Math.max(most, Math.abs(values[i] - bell(z, centre))), 0);
    lab.facts = {
      ...{ K, eigenvalues, valid, found, bellGap, values },
      subtracts: recipe.steps.some(([name]) => name === "minus"),
    };
    root.classList.toggle("lab-broken", negative);
    slice.legend([
      ["k(x, x′)", { line: true, colour: negative ? "bad" : "fit", width: 2.5 }],
      ["x′", { sign: "×", colour: "plus" }],
      ["points xᵢ", { mark: true, hollow: true }],
    ]);
    slice.frame();
    slice.line([-5, 5], [0, 0], { colour: "soft", width: 1 });
    slice.line(grid, values, { colour: negative ? "bad" : "fit", width: 2.5 });
    slice.text(centre, 0, "×", { align: "center", size: 24, colour: "plus", dy: 8 });
    x.forEach((v) => slice.mark(v, below.fixed, { hollow: true, size: 4.5 }));
    const n = x.length;
    const full = Math.max(...flat.map(Math.abs), 1e-300);
    heat.shades(K.toReversed().flatMap((row) => Array.from(row)), n, n, { full, written: true });
    heat.frame();
    bars.x = [0.2, n + 0.8];
    const top = Math.max(...eigenvalues.map(Math.abs), 1e-9);
    bars.y = [Math.min(0, eigenvalues[0] * 1.15), Math.max(...eigenvalues, 0.1 * top) * 1.1];
    bars.frame();
    bars.line(bars.x, [0, 0], { colour: "soft", width: 1 });
    eigenvalues.toReversed().forEach((v, i) => bars.bar(i + 1, 0, v, {
      colour: v < 0 && isNegative(eigenvalues) ? "bad" : "fit",
      width: 10,
    }));
    const used = [...new Set(recipe.steps.map(([name]) => STEPS[name].rule))];
    if (valid) {
      lab.note([
        used.length ? "A kernel, by the rules " : "A kernel",
        ...ruleLinks(used),
        `. The smallest eigenvalue here is ${short(eigenvalues[0], 2)}: zero up to rounding, or positive, wherever you ` +
          "put the points.",
      ]);
    } else if (negative) {
      const list = (v) => Array.from(v, (each) => short(each, 3)).join(", ");
      lab.note(
        `Not a kernel: ${broken}. At the points x = ${list(found.points)} the coefficients ` +
          `a = ${list(found.a)} give Σ aᵢ aⱼ k(xᵢ, xⱼ) = ${short(found.value)} < 0.`,
        true,
      );
    } else {
      lab.note(`The rules do not make it a kernel (${broken}), but neither these points nor 200 other sets refute it.`);
    }
  });
}
