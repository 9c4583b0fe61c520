// The kernel perceptron step by step, with nearest neighbours and the SVM on the same points.

import { gridPoints, surface } from "./kernels.js";
import { short } from "./draw.js";
import { kernelNeighbors, perceptronCheck, perceptronStart } from "./solvers.js";
import { CLASS_HELP, classProblem, drawPoints, troubleWith, WarmSVM, windowOf } from "./svm.js";
import { Lab } from "./widgets.js";

const GRID = 50;
const SMALL = 40; // for the rivals
const MOST_EPOCHS = 200;
const ALL = 1000000; // as many checks as it takes

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

// Train from the start, `checks` checks long or until a pass goes without a mistake.
function replay(K, y, checks) {
  const state = perceptronStart(y.length);
  let last = null;
  while (!state.done && state.checks < checks && state.epoch <= MOST_EPOCHS) last = perceptronCheck(state, K, y);
  return { ...state, last };
}

export function perceptronFigure(root, { points }) {
  const lab = new Lab(root, "perceptron", {
    title: "Try it: one mistake after the other, and two rivals",
    help: CLASS_HELP,
    start: { kernel: "gaussian", sigma: 0.3, degree: 3, kappa: 5, lambda: 0.01, checks: ALL, adding: "1", points },
  });
  kernelControls(lab);
  lab.slider("kappa", "κ of κ-NN", { min: 1, max: 15, step: 1 });
  lab.slider("lambda", "λ of the SVM", { min: 0.0001, max: 1, log: true });
  let now = null;
  const advance = (until) => (state) => {
    if (troubleWith(state.points)) return;
    const { K, y } = classProblem(specOf(state), state.points);
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

  const window2 = windowOf(points);
  const [perceptron, neighbours, machine] = ["Perceptron", "κ nearest neighbours", "SVM"].map((name, i) =>
    lab.plot({
      label: `Regions of the ${name}`,
      caption: name,
      ...window2,
      aspect: 1,
      axes: false,
      least: i === 0 ? 260 : 150,
      share: i === 0 ? 1.3 : 1,
    }),
  );
  const solver = new WarmSVM(lab);
  const handles = lab.handles(perceptron, {
    classes: true,
    describe: (i) => (now && i in now.alpha ? `alpha ${now.alpha[i]}` : ""),
  });
  lab.run((state) => {
    const { points: data, kappa, lambda } = state;
    now = null;
    const trouble = troubleWith(data);
    for (const plot of lab.plots) plot.frame();
    if (trouble) {
      for (const plot of lab.plots) drawPoints(plot, data, { chosen: handles.chosen });
      lab.note(trouble, true);
      return;
    }
    const spec = specOf(state);
    const fit = solver.solve(spec, data, lambda);
    const { K, X, y } = fit;
    now = replay(K, y, state.checks);
    const { xs, ys } = perceptron.grid(GRID);
    const small = machine.grid(SMALL);
    const f = surface(spec, X, now.alpha.map((a, i) => a * y[i]), xs, ys);
    const g = surface(spec, X, fit.c, small.xs, small.ys);
    const votes = kernelNeighbors(spec, gridPoints(small), X, y, Math.round(kappa));
    for (const [plot, values, n] of [[perceptron, f, GRID], [neighbours, votes, SMALL], [machine, g, SMALL]]) {
      if (values.every((v) => v === 0)) continue;
      plot.regions(values, n, { full: plot === neighbours ? 2 : 1 });
      plot.contour(values, n, 0);
    }
    for (const level of [-1, 1]) machine.contour(g, SMALL, level, { width: 1.5, dotted: true });
    const last = state.checks < ALL && now.last ? now.last.i : -1;
    drawPoints(perceptron, data, {
      chosen: last >= 0 ? last : handles.chosen,
      ring: (i) => (i === last ? 3 : now.alpha[i] > 0 ? 1.2 : 0),
    });
    now.alpha.forEach((a, i) => a > 0 && perceptron.text(data[i][0], data[i][1], String(a), { dx: 9, dy: -6 }));
    drawPoints(neighbours, data);
    drawPoints(machine, data, { ring: (i) => (fit.alpha[i] > 1e-8 * fit.C ? 0.8 : 0) });

    const mistakes = now.alpha.reduce((sum, a) => sum + a, 0);
    const stored = now.alpha.filter((a) => a > 0).length;
    let story = "Nothing is checked yet: f = 0 everywhere, and a score of 0 counts as a mistake.";
    if (now.done) story = `Epoch ${now.epoch} went without a mistake: done.`;
    else if (now.epoch > MOST_EPOCHS) {
      story =
        `Not separated after ${MOST_EPOCHS} epochs: with this kernel, or with points of both classes at one place, ` +
        "it may never be.";
    } else if (now.last) {
      const { i, score, mistake } = now.last;
      const so = mistake ? `a mistake, so its α becomes ${now.alpha[i]}.` : "right, nothing changes.";
      story = `Epoch ${now.epoch}. Point ${i + 1} has y f(x) = ${short(y[i] * score)}: ${so}`;
    }
    lab.note(
      `${story} So far ${mistakes} mistakes on ${stored} of ${data.length} points (numbers: α). κ-NN keeps all ` +
        `${data.length} points, the SVM ${fit.alpha.filter((a) => a > 1e-8 * fit.C).length} (rings).`,
      now.epoch > MOST_EPOCHS,
    );
  });
}
