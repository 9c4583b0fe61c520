// Drag the points: the primal and the dual fit remain the same curve, and each dual weight is its point's residual
// divided by lambda.

import { gram, linspace } from "./kernels.js";
import { dot, multiply } from "./linalg.js";
import { short } from "./draw.js";
import { dualWeights, primalWeights } from "./solvers.js";
import { Lab } from "./widgets.js";

const POWERS = 6;
const powers = (x) => Float64Array.from({ length: POWERS }, (_, j) => x ** j);

export function fitBoth(x, t, ridge, at) {
  const Phi = x.map(powers);
  const K = gram(dot, Phi);
  const w = primalWeights(Phi, t, ridge);
  const a = dualWeights(K, t, ridge);
  const Z = Array.from(at, powers);
  return {
    w,
    a,
    fitted: multiply(K, a),
    primal: multiply(Z, w),
    dual: Z.map((z) => dot(Phi.map((phi) => dot(phi, z)), a)),
  };
}

export function dualFigure(root, { points }) {
  const lab = new Lab(root, "dual", {
    title: "Two solutions, one curve",
    start: { lambda: 0.1, points },
  });
  lab.slider("lambda", "λ", { min: 0.001, max: 10, log: true });
  const x = [-1.2, 1.2];
  const top = lab.plot({
    label: "The points, the primal and the dual fit",
    x,
    y: [-1.5, 1.5],
    yLabel: "t",
    least: 600,
    most: 215,
    narrow: 0.72,
  });
  const low = lab.plot({
    label: "The dual weights as bars",
    x,
    y: [-4, 4],
    xLabel: "x",
    yLabel: "aᵢ",
    least: 600,
    most: 140,
    narrow: 0.5,
  });
  const zs = linspace(-1.2, 1.2, 201);
  lab.handles(top, { describe: (i) => `a ${short(lab.facts?.a[i] ?? 0)}` });
  lab.challenge("Drag one point until it has more than a third of all the weight, |aᵢ| > ⅓ Σ |aⱼ|.", ({ share }) => [
    share > 1 / 3,
    short(share, 2),
  ]);
  lab.challenge("Leave the points where they were. Choose λ so that every weight is below 0.1.", ({ largest, still }) => [
    still && largest < 0.1,
    still ? short(largest, 2) : "a point was moved",
  ]);
  lab.run(({ lambda, points: data }) => {
    top.legend([
      ["primal, wᵀφ(x)", { line: true, colour: "primal", width: 4 }],
      ["dual, Σ aᵢ k(xᵢ, x)", { line: true, colour: "dual", width: 2.5, dash: [7, 4] }],
      ["points, residuals", { mark: true, hollow: true }],
    ]);
    top.frame();
    const xs = data.map((p) => p[0]);
    const t = data.map((p) => p[1]);
    const { a, fitted, primal, dual } = fitBoth(xs, t, lambda, zs);
    const sizes = Array.from(a, Math.abs);
    const largest = Math.max(...sizes);
    const all = sizes.reduce((sum, v) => sum + v, 0);
    const still = String(data.map((p) => p.slice(0, 2))) === String(points.map((p) => p.slice(0, 2)));
    lab.facts = { a, fitted, primal, dual, largest, share: all ? largest / all : 0, still };
    const reach = Math.max(0.5, largest);
    low.y = [-1.2 * reach, 1.2 * reach];
    low.legend([["aᵢ", { bar: true, colour: "dual" }], ["(tᵢ − y(xᵢ)) / λ", { sign: "×" }]]);
    low.frame();
    data.forEach(([px, py], i) => top.line([px, px], [py, fitted[i]], { colour: "soft", width: 1.5 }));
    top.line(zs, primal, { colour: "primal", width: 6 });
    top.line(zs, dual, { colour: "ground", width: 3 });
    top.line(zs, dual, { colour: "dual", width: 2.5, dash: [7, 4] });
    data.forEach(([px, py]) => top.mark(px, py, { hollow: true }));
    low.line(x, [0, 0], { colour: "soft", width: 1 });
    data.forEach(([px, py], i) => {
      low.bar(px, 0, a[i], { colour: "dual" });
      low.text(px, (py - fitted[i]) / lambda, "×", { align: "center", size: 17, dy: 6 });
    });
    const gap = primal.reduce((most, p, i) => Math.max(most, Math.abs(p - dual[i])), 0);
    lab.note(
      `The two curves differ by at most ${gap.toExponential(0).replace("-", "−")}. Each weight is its point's residual ` +
        `divided by λ; the largest is ${short(largest)}.`,
    );
  });
}
