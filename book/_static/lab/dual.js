// Drag the points: primal and dual fit stay one curve, and each dual weight is its point's residual over lambda.

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
    title: "Try it: two solutions, one curve",
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
  });
  const low = lab.plot({
    label: "The dual weights as bars",
    x,
    y: [-4, 4],
    xLabel: "x",
    yLabel: "dual weights a",
    aspect: 0.4,
    least: 600,
  });
  const zs = linspace(-1.2, 1.2, 201);
  lab.handles(top, { describe: (i) => `a ${short(lab.a?.[i] ?? 0)}` });
  lab.run(({ lambda, points: data }) => {
    top.frame();
    const xs = data.map((p) => p[0]);
    const t = data.map((p) => p[1]);
    const { a, fitted, primal, dual } = fitBoth(xs, t, lambda, zs);
    lab.a = a;
    const reach = Math.max(0.5, ...a.map(Math.abs));
    low.y = [-1.15 * reach, 1.15 * reach];
    low.frame();
    data.forEach(([px, py], i) => top.line([px, px], [py, fitted[i]], { colour: "soft", width: 1.5 }));
    top.line(zs, primal, { colour: "third", width: 7 });
    top.line(zs, dual, { colour: "plus", width: 2, dash: [7, 4] });
    data.forEach(([px, py]) => top.mark(px, py, { hollow: true }));
    low.line(x, [0, 0], { colour: "soft", width: 1 });
    data.forEach(([px, py], i) => {
      low.bar(px, 0, a[i]);
      low.text(px, (py - fitted[i]) / lambda, "×", { align: "center", size: 17, dy: 6 });
    });
    const gap = primal.reduce((most, p, i) => Math.max(most, Math.abs(p - dual[i])), 0);
    const most = gap.toExponential(0).replace("-", "−");
    lab.note(
      `Wide line: primal, wᵀφ(x). Dashed: dual, Σ aᵢ k(xᵢ, x). They differ by at most ${most}. ` +
        `Bars: aᵢ; crosses: (tᵢ − y(xᵢ))/λ. The largest weight is ${short(reach)}.`,
    );
  });
}
