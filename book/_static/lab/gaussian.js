// The width and the ridge of a Gaussian fit, the bumps that add up to it, and its errors against the width.

import { cross, gram, kernelOf, linspace } from "./kernels.js";
import { multiply } from "./linalg.js";
import { short } from "./draw.js";
import { dualWeights, meanSquare } from "./solvers.js";
import { Lab } from "./widgets.js";

export const column = (values) => Array.from(values, (v) => [v]);
export const sinc = (x) => (x === 0 ? 1 : Math.sin(x) / x);
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
    title: "A sum of bumps, and its errors",
    start: { sigma: 0.3, lambda: 0.3, show: "terms", sample: 0, points: samples[0] },
  });
  lab.slider("sigma", "σ", { min: 0.01, max: 15, log: true });
  lab.slider("lambda", "λ", { min: 0.001, max: 30, log: true });
  lab.select("show", "Show", { terms: "the bumps", fits: "fits to ten samples" });
  lab.button("Another sample", (state) => {
    state.sample = (Math.max(0, Math.floor(state.sample)) + 1) % samples.length;
    state.points = structuredClone(samples[state.sample]);
  });
  const fit = lab.plot({
    label: "Points, fit, truth, and the bumps whose sum is the fit",
    x: [-10, 10],
    y: [-1.2, 1.8],
    xLabel: "x",
    yLabel: "t",
    share: 1.4,
    aspect: 0.75,
    narrow: 0.68,
    most: 320,
  });
  const curve = lab.plot({
    label: "Training and validation error against the width",
    x: [WIDTHS[0], WIDTHS.at(-1)],
    y: [0, 0.25],
    xLabel: "σ",
    yLabel: "mean squared error",
    aspect: 1.05,
    narrow: 0.55,
    most: 320,
    logX: true,
  });
  const zs = linspace(-10, 10, 241);
  const Z = column(zs);
  lab.handles(fit, {});
  lab.challenge("Find σ and λ with a validation error below 0.062.", ({ validation }) => [
    validation < 0.062,
    short(validation, 3),
  ]);
  lab.challenge("Overfit: training error below 0.005 and validation error above 0.15.", ({ training, validation }) => [
    training < 0.005 && validation > 0.15,
    `${short(training, 2)} and ${short(validation, 2)}`,
  ]);
  lab.run(({ sigma, lambda, show, points }) => {
    fit.legend([
      ["fit", { line: true, colour: "fit", width: 3 }],
      ["truth", { line: true, colour: "truth", width: 1 }],
      show === "terms"
        ? ["bumps aᵢ k(xᵢ, x)", { line: true, colour: "soft", width: 1 }]
        : ["fits to ten samples", { line: true, colour: "soft", width: 1 }],
      ["training points", { mark: true, hollow: true, colour: "training" }],
      ["validation points", { mark: true, square: true, colour: "held-out" }],
    ]);
    fit.frame();
    curve.legend([
      ["training error", { line: true, mark: true, colour: "training" }],
      ["validation error", { line: true, mark: true, square: true, colour: "held-out", dash: [7, 4] }],
    ]);
    curve.frame();
    const k = kernelOf({ kind: "gaussian", sigma });
    const fitTo = (data) => multiply(cross(k, Z, column(data.map((p) => p[0]))), errorsAt(sigma, lambda, data, held).a);
    const now = errorsAt(sigma, lambda, points, held);
    lab.facts = { a: now.a, training: now.training, validation: now.validation };
    for (const [x, t] of held) fit.mark(x, t, { colour: "held-out", square: true, size: 2.2, alpha: 0.6 });
    if (show === "fits") for (const data of samples) fit.line(zs, fitTo(data), { colour: "soft", width: 1 });
    else {
      points.forEach(([x], i) => {
        const near = zs.filter((z) => Math.abs(z - x) < 4 * sigma);
        const dash = now.a[i] < 0 ? [5, 3] : [];
        fit.line(near, near.map((z) => now.a[i] * k([z], [x])), { colour: "soft", width: 1, dash });
      });
    }
    fit.line(zs, zs.map(sinc), { width: 1, colour: "truth" });
    fit.line(zs, fitTo(points), { width: 3, colour: "fit" });
    for (const [x, t] of points) fit.mark(x, t, { hollow: true, size: 4.5, colour: "training" });

    const path = WIDTHS.map((width) => errorsAt(width, lambda, points, held));
    const lines = { training: ["training", []], validation: ["held-out", [7, 4]] };
    for (const [key, [colour, dash]] of Object.entries(lines)) {
      curve.line(WIDTHS, path.map((p) => p[key]), { colour, dash });
      curve.mark(sigma, Math.min(now[key], curve.y[1]), { colour, square: key === "validation", size: 6 });
    }
    curve.line([sigma, sigma], curve.y, { colour: "soft", width: 1 });
    const facts = `Training error ${short(now.training)}, validation error ${short(now.validation)}.`;
    const spikes = "Hardly any point is similar to another, K ≈ I: a spike at each point, and 0 elsewhere.";
    const shown = {
      terms: "Each bump is aᵢ k(xᵢ, x), dashed where aᵢ < 0; the fit is their sum.",
      fits: "Where the fits spread there is variance; where all miss the truth there is bias.",
    };
    lab.note(`${facts} ${mostlyAlone(now.K) ? spikes : shown[show]}`);
  });
}
