// Drag points and see the margin, the support vectors and the hinge losses follow.

import { gram, kernelOf, linspace, surface } from "./kernels.js";
import { short } from "./draw.js";
import { mostlyAlone } from "./gaussian.js";
import { kernelSVM } from "./solvers.js";
import { Lab } from "./widgets.js";

export const CLASS_HELP =
  "The space bar switches the class of a point, and Delete removes it. Click on an empty spot to add one.";

// A window around the points, with a margin, whose height is `aspect` times its width.
export function windowOf(points, aspect = 1) {
  const middle = [0, 1].map((c) => {
    const values = points.map((p) => p[c]);
    return [(Math.max(...values) + Math.min(...values)) / 2, Math.max(...values) - Math.min(...values)];
  });
  const half = 0.56 * Math.max(middle[0][1], middle[1][1] / aspect);
  const [x, y] = [middle[0][0], middle[1][0]];
  return { x: [x - half, x + half], y: [y - aspect * half, y + aspect * half], aspect };
}

// The sentence for points that no classifier can use, or "".
export function troubleWith(points) {
  if (points.length === 0) return "There are no points. Add some of both classes with a click, or press Reset.";
  if (points.some((p) => p[2] !== points[0][2])) return "";
  return "All points are of one class: there is nothing to separate. Add a point of the other class, or switch the class of one.";
}

export const CLASS_LEGEND = [
  ["class −1", { mark: true, colour: "minus" }],
  ["class +1", { mark: true, square: true, colour: "plus" }],
];

// `more(i)` adds to the style of point i's mark: a dot, or transparency.
export function drawPoints(plot, points, { chosen = -1, ring = () => 0, more = () => ({}) } = {}) {
  points.forEach(([x, y, label], i) => {
    plot.mark(x, y, {
      colour: label > 0 ? "plus" : "minus",
      square: label > 0,
      size: (i === chosen ? 7 : 4.5) * (plot.width < 260 ? 0.7 : 1),
      ring: ring(i),
      ...more(i),
    });
  });
}

// Inputs, labels and Gram matrix of points [x, y, label].
export function classProblem(spec, points) {
  const X = points.map(([x, y]) => [x, y]);
  return { X, y: points.map((p) => p[2]), K: gram(kernelOf(spec), X) };
}

// An SVM that continues from its last solution while points move, a few passes at a time so that no frame is late.
// More frames follow until it has converged.
export class WarmSVM {
  constructor(lab) {
    this.lab = lab;
    this.goal = 1e-8;
    this.late = 0;
    lab.forget.push(() => (this.last = null));
  }

  solve(spec, points, lam) {
    const { X, y, K } = classProblem(spec, points);
    const problem = JSON.stringify([spec, points, lam]);
    if (problem !== this.problem) this.late = 0; // frames that this problem has taken so far
    this.problem = problem;
    const alpha0 = this.last?.alpha.length === y.length ? this.last.alpha : null;
    this.last = kernelSVM(K, y, lam, { alpha0, goal: this.goal, maxEpochs: 40 });
    this.late = this.last.gap > this.goal ? this.late + 1 : 0;
    if (this.late > 0 && this.late < 300) this.lab.again();
    return { ...this.last, K, X, y, c: this.last.alpha.map((a, i) => a * y[i]) };
  }
}

const SIDE = 72;

export function svmFigure(root, { points }) {
  const lab = new Lab(root, "svm", {
    title: "Which points hold the boundary?",
    help: CLASS_HELP,
    start: { lambda: 0.0025, sigma: 0.7, adding: "1", points },
  });
  lab.slider("lambda", "λ", { min: 0.00001, max: 1, log: true });
  lab.slider("sigma", "σ", { min: 0.02, max: 5, log: true });
  const plane = lab.plot({
    label: "The points, the boundary and the margin",
    ...windowOf(points),
    axes: false,
    share: 1.2,
    most: 420,
    widest: 310,
    phone: 265,
  });
  const hinge = lab.plot({
    label: "The hinge loss of every point against y f(x)",
    x: [-2.2, 2.7],
    y: [-0.2, 3.2],
    aspect: 0.9,
    narrow: 0.36,
    most: 310,
    xLabel: "y f(x)",
    yLabel: "hinge loss",
  });
  const solver = new WarmSVM(lab);
  const handles = lab.handles(plane, {
    classes: true,
    describe: (i) => (lab.facts && i in lab.facts.margins ? `y f(x) ${short(lab.facts.margins[i])}` : ""),
  });
  lab.challenge("Find λ and σ with at most 100 support vectors and at most 35 points on the wrong side.", (facts) => [
    facts.support <= 100 && facts.wrong <= 35,
    `${facts.support} and ${facts.wrong}`,
  ]);
  lab.challenge("Keep λ and σ. Move a point and leave the boundary exactly where it was.", (facts, state) => {
    if (state.lambda !== lab.start.lambda || state.sigma !== lab.start.sigma) return [false, "λ or σ was changed"];
    const at = ([x, y, label]) => [x, y, label].join();
    const moved = state.points.filter((p, i) => !points[i] || at(p) !== at(points[i])).length;
    const same = facts.converged && Math.abs(facts.objective - atFirst.objective) < 1e-7 * atFirst.objective;
    const n = state.points.length === points.length;
    return [n && moved > 0 && same, !n ? "a point was added or removed" : moved === 0 ? "no point was moved" : same ? "" : "it moved"];
  });
  const { K: firstK, y: firstY } = classProblem({ kind: "gaussian", sigma: lab.start.sigma }, points);
  const atFirst = kernelSVM(firstK, firstY, lab.start.lambda, { goal: 1e-11 });
  const us = linspace(-2.2, 2.7, 50);
  lab.run(({ lambda, sigma, points: data }) => {
    plane.legend([
      ...CLASS_LEGEND,
      ["α = 0", { mark: true, alpha: 0.45 }],
      ["0 < α < C", { mark: true, ring: 1.4 }],
      ["α = C", { mark: true, dot: true }],
      ["margin", { line: true, colour: "margin", width: 1.5, dash: [2, 2] }],
    ]);
    hinge.legend([["max(0, 1 − y f(x))", { line: true, colour: "hinge" }]]);
    hinge.frame();
    hinge.line(us, us.map((u) => Math.max(0, 1 - u)), { colour: "hinge", width: 2 });
    hinge.line([0, 0], hinge.y, { colour: "soft", width: 1, dash: [3, 3] });
    const trouble = troubleWith(data);
    if (trouble) {
      plane.frame();
      drawPoints(plane, data, { chosen: handles.chosen });
      lab.note(trouble, true);
      return;
    }
    const fit = solver.solve({ kind: "gaussian", sigma }, data, lambda);
    const { margins } = fit;
    const { xs, ys } = plane.grid(SIDE);
    const f = surface({ kind: "gaussian", sigma }, fit.X, fit.c, xs, ys);
    plane.regions(f, SIDE);
    plane.contour(f, SIDE, 0, { colour: "boundary" });
    for (const level of [-1, 1]) plane.contour(f, SIDE, level, { width: 1.5, dotted: true, colour: "margin" });
    plane.frame();
    const kind = fit.alpha.map((a) => (a <= 1e-8 * fit.C ? 0 : a < (1 - 1e-8) * fit.C ? 1 : 2));
    const count = [0, 1, 2].map((each) => kind.filter((v) => v === each).length);
    const wrong = margins.filter((m) => m <= 0).length;
    lab.facts = {
      ...{ alpha: fit.alpha, margins, objective: fit.objective, C: fit.C, converged: fit.gap <= solver.goal },
      ...{ support: count[1] + count[2], wrong },
    };
    const more = (i) => [{ alpha: 0.45 }, {}, { dot: true }][kind[i]];
    drawPoints(plane, data, { chosen: handles.chosen, ring: (i) => (kind[i] === 1 ? 1.4 : 0), more });
    data.forEach(([, , label], i) => {
      const u = Math.max(-2.2, Math.min(2.7, margins[i]));
      hinge.mark(u, Math.max(0, 1 - u), {
        colour: label > 0 ? "plus" : "minus",
        square: label > 0,
        size: i === handles.chosen ? 7 : 4,
        ...more(i),
      });
    });
    const closing = mostlyAlone(fit.K)
      ? " With σ this small hardly any point is similar to another: the machine learns its points by heart."
      : "";
    lab.note(
      `C = 1/(2nλ) = ${short(fit.C)}, objective ${short(fit.objective, 4)}. Of ${data.length} points ${count[0]} have ` +
        `α = 0 and no say, ${count[1]} lie on the margin and ${count[2]} have α = C. On the wrong side: ${wrong}.${closing}`,
    );
  });
}
