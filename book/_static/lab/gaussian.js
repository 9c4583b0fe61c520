// Width and ridge of a Gaussian fit, the bumps it is made of, and its errors against the width.

import { cross, gram, kernelOf, linspace } from "./kernels.js";
import { multiply } from "./linalg.js";
import { short } from "./draw.js";
import { dualWeights, meanSquare } from "./solvers.js";
import { Lab } from "./widgets.js";

const column = (values) => Array.from(values, (v) => [v]);
const sinc = (x) => (x === 0 ? 1 : Math.sin(x) / x);
const WIDTHS = Array.from(linspace(-2, 1.2, 33), (e) => 10 ** e);

// Whether hardly any point is similar to another.
export function mostlyAlone(K) {
  const alone = K.filter((row, i) => row.every((value, j) => i === j || Math.abs(value) < 0.01));
  return alone.length > 0.8 * K.length;
}

// Mean squared errors of the fit on its own points and on new ones.
export function errorsAt(sigma, ridge, train, held) {
  const k = kernelOf({ kind: "gaussian", sigma });
  const [X, t] = [column(train.map((p) => p[0])), train.map((p) => p[1])];
  const K = gram(k, X);
  const a = dualWeights(K, t, ridge);
  const there = multiply(cross(k, column(held.map((p) => p[0])), X), a);
  return { K, a, training: meanSquare(multiply(K, a), t), validation: meanSquare(there, held.map((p) => p[1])) };
}

export function gaussianFigure(root, { samples, held }) {
  const lab = new Lab(root, "gaussian", {
    title: "Try it: a sum of bumps",
    start: { sigma: 1.5, lambda: 0.3, show: "terms", sample: 0, points: samples[0] },
  });
  lab.slider("sigma", "σ", { min: 0.01, max: 15, log: true });
  lab.slider("lambda", "λ", { min: 0.001, max: 30, log: true });
  lab.select("show", "Show", { terms: "the bumps of this fit", fits: "the fits to ten samples" });
  lab.button("Another sample", (state) => {
    state.sample = (Math.max(0, Math.floor(state.sample)) + 1) % samples.length;
    state.points = structuredClone(samples[state.sample]);
  });
  const fit = lab.plot({
    label: "Points, fit, truth, and the bumps that the fit is the sum of",
    x: [-10, 10],
    y: [-1.2, 1.8],
    xLabel: "x",
    yLabel: "t",
    share: 1.4,
    aspect: 0.75,
  });
  const curve = lab.plot({
    label: "Training and validation error against the width",
    x: [WIDTHS[0], WIDTHS.at(-1)],
    y: [0, 0.25],
    xLabel: "σ",
    yLabel: "mean squared error",
    aspect: 0.85,
    logX: true,
  });
  const zs = linspace(-10, 10, 241);
  const Z = column(zs);
  lab.handles(fit, {});
  lab.run(({ sigma, lambda, show, points }) => {
    fit.frame();
    curve.frame();
    const k = kernelOf({ kind: "gaussian", sigma });
    const fitTo = (data) => multiply(cross(k, Z, column(data.map((p) => p[0]))), errorsAt(sigma, lambda, data, held).a);
    const now = errorsAt(sigma, lambda, points, held);
    if (show === "fits") for (const data of samples) fit.line(zs, fitTo(data), { colour: "third", width: 1 });
    else {
      points.forEach(([x], i) => {
        const near = zs.filter((z) => Math.abs(z - x) < 4 * sigma);
        const style = {
          width: 1,
          alpha: 0.75,
          ...(now.a[i] < 0 ? { colour: "plus", dash: [5, 3] } : { colour: "minus" })
        };
        fit.line(near, near.map((z) => now.a[i] * k([z], [x])), style);
      });
    }
    fit.line(zs, zs.map(sinc), { width: 1.5, dash: [6, 4], colour: "soft" });
    fit.line(zs, fitTo(points), { width: 3 });
    for (const [x, t] of points) fit.mark(x, t, { hollow: true, size: 4.5 });

    const path = WIDTHS.map((width) => errorsAt(width, lambda, points, held));
    for (const [key, colour, dash] of [["training", "minus", []], ["validation", "plus", [7, 4]]]) {
      curve.line(WIDTHS, path.map((p) => p[key]), { colour, dash });
      curve.mark(sigma, Math.min(now[key], curve.y[1]), { colour, square: key === "validation", size: 6 });
    }
    curve.line([sigma, sigma], curve.y, { colour: "soft", width: 1 });
    const alone = mostlyAlone(now.K);
    const facts =
      `Training error ${short(now.training)} (solid, circle), ` +
      `validation error ${short(now.validation)} (dashed, square).`;
    const lines =
      show === "terms"
        ? "Thin: aᵢ k(xᵢ, x), dashed where aᵢ < 0."
        : "Thin: the fits to ten samples. Where they spread there is variance, where all miss the truth there is bias.";
    const spikes =
      "With σ this small hardly any point is similar to another, K ≈ I: a spike at each point, and 0 elsewhere.";
    if (mostlyAlone(now.K)) lab.note(`${facts} ${spikes}`, true);
    else lab.note(`${facts} Thick: the fit; dashed: the truth, sin(x)/x. ${lines}`);
  });
}
