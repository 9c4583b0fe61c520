// The kernel perceptron step by step, and on request nearest neighbours and the SVM on the same points.

import { gridPoints, surface } from "./kernels.js";
import { short } from "./draw.js";
import { kernelNeighbors, perceptronCheck, perceptronStart } from "./solvers.js";
import { CLASS_HELP, CLASS_LEGEND, classProblem, drawPoints, troubleWith, WarmSVM, windowOf } from "./svm.js";
import { Lab } from "./widgets.js";

const GRID = 50;
const SMALL = 40; // for the rivals
const MOST_EPOCHS = 200;
const ALL = 1000000; // more checks than any run takes

export const specOf = ({ kernel, sigma, degree }) =>
  ({
    gaussian: { kind: "gaussian", sigma },
    polynomial: { kind: "polynomial", degree: Math.round(degree) },
    linear: { kind: "linear" },
  })[kernel];

const KERNEL_NAMES = { gaussian: "Gaussian", polynomial: "polynomial, (xᵀz + 1)ᵖ", linear: "linear" };

export function kernelControls(lab, unless = () => false) {
  lab.select("kernel", "Kernel", KERNEL_NAMES, { unless });
  lab.slider("sigma", "σ", { min: 0.02, max: 5, log: true, unless: (s) => unless(s) || s.kernel !== "gaussian" });
  lab.slider("degree", "p", { min: 1, max: 8, step: 1, unless: (s) => unless(s) || s.kernel !== "polynomial" });
}

// Train from the start for `checks` checks, or until a pass makes no mistake; also returns which checks were mistakes.
function replay(K, y, checks) {
  const state = perceptronStart(y.length);
  const mistakes = [];
  let last = null;
  while (!state.done && state.checks < checks && state.epoch <= MOST_EPOCHS) {
    last = perceptronCheck(state, K, y);
    if (last.mistake) mistakes.push(state.checks);
  }
  return { ...state, last, mistakes };
}

export function perceptronFigure(root, { points }) {
  const lab = new Lab(root, "perceptron", {
    title: "One mistake after another",
    help: CLASS_HELP,
    start: {
      ...{ kernel: "gaussian", sigma: 0.3, degree: 3, kappa: 5, lambda: 0.01, checks: 0, rivals: "" },
      adding: "1",
      points,
    },
  });
  kernelControls(lab);
  let last = { key: "" }; // the problem and its whole run, kept while steps are taken on it
  const whole = (spec, data) => {
    const key = JSON.stringify([spec, data]);
    if (key !== last.key) {
      const problem = classProblem(spec, data);
      last = { key, ...problem, end: replay(problem.K, problem.y, ALL) };
    }
    return last;
  };
  const advance = (until) => (state) => {
    if (troubleWith(state.points)) return;
    const { K, y } = whole(specOf(state), state.points);
    const run = replay(K, y, state.checks);
    const before = { ...run };
    while (!run.done && run.epoch <= MOST_EPOCHS) if (until(perceptronCheck(run, K, y), run, before)) break;
    state.checks = run.checks;
  };
  lab.button("Start over", (state) => (state.checks = 0));
  lab.button("Check one point", advance(() => true));
  lab.button("To the next mistake", advance((check) => check.mistake));
  lab.button("One epoch", advance((_, run, before) => run.epoch > before.epoch));
  lab.button("Run", (state) => (state.checks = ALL));
  lab.check("rivals", "with two rivals");
  lab.slider("kappa", "κ of κ-NN", { min: 1, max: 15, step: 1, unless: (s) => !s.rivals });
  lab.slider("lambda", "λ of the SVM", { min: 0.0001, max: 1, log: true, unless: (s) => !s.rivals });

  const view = { ...windowOf(points, 0.8), axes: false, most: 400 };
  const perceptron = lab.plot({
    label: "Regions of the perceptron",
    ...view,
    least: 240,
    widest: 330,
    share: 1.3,
  });
  const count = lab.plot({
    label: "Mistakes so far against the points checked",
    x: [0, 1],
    y: [0, 1],
    xLabel: "points checked",
    yLabel: "mistakes so far",
    least: 240,
    aspect: 0.8,
    narrow: 0.38,
    most: 310,
  });
  const [neighbours, machine] = ["κ nearest neighbours", "SVM"].map((name) =>
    lab.plot({ label: `Regions of ${name}`, caption: name, ...view, least: 140, widest: 240 }),
  );
  const solver = new WarmSVM(lab);
  const handles = lab.handles(perceptron, {
    classes: true,
    describe: (i) => (lab.facts && i in lab.facts.alpha ? `alpha ${lab.facts.alpha[i]}` : ""),
  });
  lab.challenge("Change the kernel so that a run makes more than 100 mistakes, and still ends.", ({ total, ends }) => [
    total > 100 && ends,
    `a run makes ${total}${ends ? "" : " and does not end"}`,
  ]);
  lab.challenge("Add one point so that the run with σ = 0.3 does not end within 200 epochs.", (facts, s) => {
    const same = s.kernel === "gaussian" && s.sigma === 0.3 && s.points.length === points.length + 1;
    return [same && !facts.ends, facts.ends ? `it ends after ${facts.epochs} epochs` : "it does not end"];
  });
  lab.run((state) => {
    const { points: data, kappa, lambda } = state;
    const rivals = state.rivals === "yes";
    const alone = rivals || lab.stage.clientWidth < 500; // a phone has no room for the count
    if (count.cell.hidden !== alone || machine.cell.hidden === rivals) {
      for (const plot of [neighbours, machine]) plot.cell.hidden = !rivals;
      count.cell.hidden = alone;
      for (const plot of lab.plots) plot.resize();
    }
    perceptron.legend([...CLASS_LEGEND, ["mistake, with its α", { mark: true, hollow: true, ring: 1.2 }]]);
    count.legend([
      ["mistakes", { line: true, mark: true, width: 2.5 }],
      ["end of an epoch", { line: true, colour: "soft", width: 1, dash: [2, 3] }],
    ]);
    const trouble = troubleWith(data);
    for (const plot of [perceptron, neighbours, machine]) plot.frame();
    if (trouble) {
      for (const plot of [perceptron, neighbours, machine]) drawPoints(plot, data, { chosen: handles.chosen });
      lab.note(trouble, true);
      return;
    }
    const spec = specOf(state);
    const { K, X, y, end } = whole(spec, data);
    const now = replay(K, y, state.checks);
    const mistakes = now.mistakes.length;
    const stored = now.alpha.filter((a) => a > 0).length;
    lab.facts = {
      ...{ alpha: now.alpha, mistakes, checks: now.checks, done: now.done },
      ...{ total: end.mistakes.length, ends: end.done, epochs: end.checks / y.length },
    };
    const { xs, ys } = perceptron.grid(GRID);
    const paint = (plot, values, n, full) => {
      if (values.every((v) => v === 0)) return;
      plot.regions(values, n, { full });
      plot.contour(values, n, 0, { colour: "boundary" });
    };
    paint(perceptron, surface(spec, X, now.alpha.map((a, i) => a * y[i]), xs, ys), GRID, 1);
    const checked = state.checks < ALL && now.last ? now.last.i : -1;
    drawPoints(perceptron, data, {
      chosen: checked >= 0 ? checked : handles.chosen,
      ring: (i) => (i === checked ? 3 : now.alpha[i] > 0 ? 1.2 : 0),
    });
    now.alpha.forEach((a, i) => a > 0 && perceptron.text(data[i][0], data[i][1], String(a), { dx: 9, dy: -6 }));
    let others = "";
    if (rivals) {
      const fit = solver.solve(spec, data, lambda);
      const small = machine.grid(SMALL);
      paint(neighbours, kernelNeighbors(spec, gridPoints(small), X, y, Math.round(kappa)), SMALL, 2);
      const g = surface(spec, X, fit.c, small.xs, small.ys);
      paint(machine, g, SMALL, 1);
      for (const level of [-1, 1]) machine.contour(g, SMALL, level, { width: 1.5, dotted: true, colour: "margin" });
      drawPoints(neighbours, data);
      drawPoints(machine, data, { ring: (i) => (fit.alpha[i] > 1e-8 * fit.C ? 0.8 : 0) });
      const support = fit.alpha.filter((a) => a > 1e-8 * fit.C).length;
      others = ` κ-NN keeps all ${data.length} points, the SVM ${support} (rings).`;
    } else {
      count.x = [0, Math.max(now.checks, data.length)];
      count.y = [0, 1.1 * Math.max(10, mistakes)];
      count.frame();
      for (let at = data.length; at < now.checks; at += data.length) {
        count.line([at, at], count.y, { colour: "soft", width: 1, dash: [2, 3] });
      }
      const steps = now.mistakes.flatMap((at, i) => [[at, i], [at, i + 1]]);
      count.line([0, ...steps.map((p) => p[0]), now.checks], [0, ...steps.map((p) => p[1]), mistakes], { width: 2.5 });
      count.mark(now.checks, mistakes, {});
    }
    let story = "No point has been checked yet: f = 0 everywhere, and a score of 0 counts as a mistake. Press a button.";
    if (now.done) story = `Epoch ${now.epoch} made no mistake: done.`;
    else if (now.epoch > MOST_EPOCHS) {
      story =
        `The classes are not separated after ${MOST_EPOCHS} epochs. With this kernel, or with points of both ` +
        "classes in one place, they may never be.";
    } else if (now.last) {
      const { i, score, mistake } = now.last;
      const so = mistake ? `a mistake, so its α becomes ${now.alpha[i]}.` : "right, so nothing changes.";
      const epoch = Math.ceil(now.checks / y.length);
      story = `Epoch ${epoch}. Point ${i + 1} has y f(x) = ${short(y[i] * score)}: ${so}`;
    }
    const sofar = now.checks ? ` So far ${mistakes} mistakes on ${stored} of ${data.length} points.` : "";
    lab.note(story + sofar + others, now.epoch > MOST_EPOCHS);
  });
}
