// Drag points and see margin, support vectors and hinge losses follow.

import { gram, kernelOf, linspace, surface } from "./kernels.js";
import { short } from "./draw.js";
import { mostlyAlone } from "./gaussian.js";
import { kernelSVM } from "./solvers.js";
import { Lab } from "./widgets.js";

export const CLASS_HELP = "The space bar switches its class, Delete removes it. A click on free ground adds a point.";

// A square window around the points, with some air.
export function windowOf(points) {
  const middle = [0, 1].map((c) => {
    const values = points.map((p) => p[c]);
    return [(Math.max(...values) + Math.min(...values)) / 2, Math.max(...values) - Math.min(...values)];
  });
  const half = 0.56 * Math.max(middle[0][1], middle[1][1]);
  return { x: [middle[0][0] - half, middle[0][0] + half], y: [middle[1][0] - half, middle[1][0] + half] };
}

// The sentence for points that no classifier can do anything with, or "".
export function troubleWith(points) {
  if (points.length === 0) return "There are no points. Add some of both classes with a click, or press Reset.";
  if (points.some((p) => p[2] !== points[0][2])) return "";
  return "All points are of one class: there is nothing to separate. Add a point of the other class, or switch one's class.";
}

export function drawPoints(plot, points, { chosen = -1, ring = () => 0 } = {}) {
  points.forEach(([x, y, label], i) => {
    plot.mark(x, y, {
      colour: label > 0 ? "plus" : "minus",
      square: label > 0,
      size: (i === chosen ? 7 : 4.5) * (plot.width < 260 ? 0.7 : 1),
      ring: ring(i),
    });
  });
}

// Inputs, labels and Gram matrix of points [x, y, label].
export function classProblem(spec, points) {
  const X = points.map(([x, y]) => [x, y]);
  return { X, y: points.map((p) => p[2]), K: gram(kernelOf(spec), X) };
}

// An SVM that goes on from its last answer while points move, a few passes at a time so that no frame is late. Frames
// follow until it has converged.
export class WarmSVM {
  constructor(lab) {
    this.lab = lab;
    this.late = 0;
    lab.forget.push(() => (this.last = null));
  }

  solve(spec, points, lam) {
    const { X, y, K } = classProblem(spec, points);
    const alpha0 = this.last?.alpha.length === y.length ? this.last.alpha : null;
    this.last = kernelSVM(K, y, lam, { alpha0, goal: 1e-8, maxEpochs: 40 });
    this.late = this.last.gap > 1e-8 ? this.late + 1 : 0;
    if (this.late > 0 && this.late < 100) this.lab.frame = requestAnimationFrame(() => this.lab.drawNow());
    return { ...this.last, K, X, y, c: this.last.alpha.map((a, i) => a * y[i]) };
  }
}

const SIDE = 72;

export function svmFigure(root, { points }) {
  const lab = new Lab(root, "svm", {
    title: "Try it: who holds the boundary?",
    help: CLASS_HELP,
    start: { lambda: 0.0025, sigma: 0.7, adding: "1", points },
  });
  lab.slider("lambda", "λ", { min: 0.0001, max: 1, log: true });
  lab.slider("sigma", "σ", { min: 0.02, max: 5, log: true });
  const plane = lab.plot({
    label: "The plane with both classes, the boundary, its margins and the support vectors",
    ...windowOf(points),
    aspect: 1,
    xLabel: "x₁",
    yLabel: "x₂",
    share: 1.5,
  });
  const hinge = lab.plot({
    label: "The hinge loss of every point against y f(x)",
    x: [-2.2, 2.7],
    y: [-0.2, 3.2],
    aspect: 1,
    xLabel: "y f(x)",
    yLabel: "hinge loss",
  });
  const solver = new WarmSVM(lab);
  let margins = [];
  const handles = lab.handles(plane, {
    classes: true,
    describe: (i) => (i in margins ? `y f(x) ${short(margins[i])}` : ""),
  });
  const us = linspace(-2.2, 2.7, 50);
  lab.run(({ lambda, sigma, points: data }) => {
    hinge.frame();
    hinge.line(us, us.map((u) => Math.max(0, 1 - u)), { colour: "soft", width: 2 });
    hinge.line([0, 0], hinge.y, { colour: "soft", width: 1, dash: [3, 3] });
    const trouble = troubleWith(data);
    if (trouble) {
      margins = [];
      plane.frame();
      drawPoints(plane, data, { chosen: handles.chosen });
      lab.note(trouble, true);
      return;
    }
    const fit = solver.solve({ kind: "gaussian", sigma }, data, lambda);
    ({ margins } = fit);
    const { xs, ys } = plane.grid(SIDE);
    const f = surface({ kind: "gaussian", sigma }, fit.X, fit.c, xs, ys);
    plane.regions(f, SIDE);
    plane.contour(f, SIDE, 0);
    for (const level of [-1, 1]) plane.contour(f, SIDE, level, { width: 1.5, dotted: true });
    plane.frame();
    const kind = fit.alpha.map((a) => (a <= 1e-8 * fit.C ? 0 : a < (1 - 1e-8) * fit.C ? 1 : 2));
    drawPoints(plane, data, { chosen: handles.chosen, ring: (i) => (kind[i] === 1 ? 1.4 : 0) });
    data.forEach(([, , label], i) => {
      const u = Math.max(-2.2, Math.min(2.7, margins[i]));
      hinge.mark(u, Math.max(0, 1 - u), {
        colour: label > 0 ? "plus" : "minus",
        square: label > 0,
        size: i === handles.chosen ? 7 : 4,
      });
    });
    const count = [0, 1, 2].map((each) => kind.filter((v) => v === each).length);
    const wrong = margins.filter((m) => m <= 0).length;
    const closing = mostlyAlone(fit.K)
      ? " With σ this small hardly any point is similar to another: the machine learns its points by heart."
      : "";
    lab.note(
      `Objective ${short(fit.objective, 4)}. Of ${data.length} points ${count[0]} have α = 0 and no say, ${count[1]} lie ` +
        `on the margin (rings, dotted lines), ${count[2]} have α = C, among them ${wrong} on the wrong side.${closing}`,
      Boolean(closing),
    );
  });
}
