// Every training point votes at x': a_i k(x_i, x') as a stem, and the sum of the votes as a dot on the curve.

import { cross, gram, kernelOf, linspace } from "./kernels.js";
import { multiply } from "./linalg.js";
import { short } from "./draw.js";
import { column } from "./gaussian.js";
import { dualWeights } from "./solvers.js";
import { Lab } from "./widgets.js";

// The dual weights, each point's vote at the place `at`, and the curve on zs.
export function votesAt(points, { sigma, ridge }, at, zs) {
  const k = kernelOf({ kind: "gaussian", sigma });
  const X = column(points.map((p) => p[0]));
  const a = dualWeights(gram(k, X), points.map((p) => p[1]), ridge);
  const votes = Float64Array.from(a, (a_i, i) => a_i * k(X[i], [at]));
  return { a, votes, sum: votes.reduce((total, v) => total + v, 0), curve: multiply(cross(k, column(zs), X), a) };
}

export function votesFigure(root, { points }) {
  const lab = new Lab(root, "votes", {
    title: "Every point votes at x′",
    start: { sigma: 0.8, lambda: 0.05, cross: [[0, 0]], points },
  });
  lab.slider("sigma", "σ", { min: 0.1, max: 5, log: true });
  lab.slider("lambda", "λ", { min: 0.001, max: 10, log: true });
  const plot = lab.plot({
    label: "The bumps, their sum, and the votes at x prime",
    x: [-5, 5],
    y: [-1.8, 1.8],
    xLabel: "x",
    yLabel: "t",
    least: 600,
    most: 330,
    narrow: 0.9,
  });
  lab.handles(plot, { key: "cross", name: "x′", fixed: -1.5, describe: () => `sum ${short(lab.facts?.sum ?? 0)}` });
  lab.handles(plot, { describe: (i) => `vote ${short(lab.facts?.votes[i] ?? 0)}` });
  lab.challenge("Find an x′ where the votes cancel: their sum is below 0.02, but one is above 0.2.", ({ sum, loudest }) => [
    Math.abs(sum) < 0.02 && loudest > 0.2,
    `sum ${short(sum, 2)}`,
  ]);
  lab.challenge("Go where no point has a say: every vote is below 0.002.", ({ loudest }) => [
    loudest < 0.002,
    short(loudest, 2),
  ]);
  const zs = linspace(-5, 5, 241);
  lab.run(({ sigma, lambda, cross: [[at] = [0]], points: data }) => {
    const { a, votes, sum, curve } = votesAt(data, { sigma, ridge: lambda }, at, zs);
    const loudest = Math.max(0, ...votes.map(Math.abs));
    lab.facts = { a, votes, sum, curve, loudest };
    const k = kernelOf({ kind: "gaussian", sigma });
    plot.legend([
      ["aᵢ k(xᵢ, x), aᵢ > 0", { line: true, colour: "up", width: 1 }],
      ["aᵢ k(xᵢ, x), aᵢ < 0", { line: true, colour: "down", width: 1, dash: [5, 3] }],
      ["their sum h(x)", { line: true, width: 3 }],
      ["votes at x′", { bar: true, colour: "up" }],
      ["h(x′)", { mark: true }],
    ]);
    plot.frame();
    plot.line([-5, 5], [0, 0], { colour: "soft", width: 1 });
    const style = (v) => (v < 0 ? { colour: "down", dash: [5, 3] } : { colour: "up" });
    data.forEach(([x], i) => {
      plot.line(zs, zs.map((z) => a[i] * k([z], [x])), { ...style(a[i]), width: 1 });
    });
    plot.line(zs, curve, { colour: "ink", width: 3 });
    plot.line([at, at], plot.y, { colour: "soft", width: 1, dash: [3, 3] });
    // The votes are side by side at x', each as tall as its bump is there.
    votes.forEach((vote, i) => {
      const shift = (i - (votes.length - 1) / 2) * Math.min(8, 60 / votes.length);
      const place = plot.at(plot.px(at) + shift, 0)[0];
      plot.bar(place, 0, vote, { colour: style(vote).colour, width: Math.min(6, 44 / votes.length) });
    });
    data.forEach(([x, t]) => plot.mark(x, t, { hollow: true }));
    plot.mark(at, sum, { size: 6.5 });
    plot.text(at, -1.5, "x′", { align: "center", size: 16, dy: 5 });
    const list = Array.from(votes.slice(0, 6), (v) => short(v, 2).replace("−", "− ")).join(" + ").replaceAll("+ − ", "− ");
    const more = votes.length > 6 ? " + …" : "";
    lab.note(`At x′ = ${short(at)} the votes are ${list}${more} = ${short(sum)} = h(x′).`);
  });
}
