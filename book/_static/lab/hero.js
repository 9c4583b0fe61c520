// The whole method on the home page: your own points, a width and a ridge.

import { cross, gram, kernelOf, linspace } from "./kernels.js";
import { multiply } from "./linalg.js";
import { short } from "./draw.js";
import { column, sinc } from "./gaussian.js";
import { dualWeights, meanSquare } from "./solvers.js";
import { Lab } from "./widgets.js";

const LIFT = 6; // the x at which the second challenge is judged

export function heroFigure(root, { points }) {
  const lab = new Lab(root, "hero", {
    title: "A curve from similarities alone",
    help: "Click on an empty spot to add a point; Delete removes one.",
    start: { sigma: 0.4, ridge: 0.01, points },
  });
  lab.slider("sigma", "width σ", { min: 0.05, max: 10, log: true });
  lab.slider("ridge", "ridge", { min: 0.0001, max: 10, log: true });
  const fit = lab.plot({
    label: "Points, the fitted curve and the truth",
    x: [-10, 10],
    y: [-0.8, 1.6],
    xLabel: "x",
    yLabel: "t",
    least: 600,
    most: 340,
    narrow: 0.85,
  });
  const handles = lab.handles(fit, { grows: true });
  lab.challenge("Bring the curve to the truth: a root mean square distance below 0.05.", ({ distance }) => [
    distance < 0.05,
    short(distance, 2),
  ]);
  lab.challenge(`Add a point of your own, and lift the curve at x = ${LIFT} above 1.`, ({ lifted }, state) => [
    lifted > 1 && state.points.length > points.length,
    short(lifted, 2),
  ]);
  const zs = linspace(-10, 10, 401);
  const Z = column(zs);
  lab.run(({ sigma, ridge, points: data }) => {
    const k = kernelOf({ kind: "gaussian", sigma });
    const X = column(data.map((p) => p[0]));
    const a = data.length ? dualWeights(gram(k, X), data.map((p) => p[1]), ridge) : [];
    const curve = multiply(cross(k, Z, X), a);
    const truth = zs.map(sinc);
    const lifted = cross(k, [[LIFT]], X)[0].reduce((sum, v, i) => sum + v * a[i], 0);
    lab.facts = { a, curve, distance: Math.sqrt(meanSquare(curve, truth)), lifted };
    fit.legend([
      ["your points", { mark: true, hollow: true }],
      ["Σ aᵢ k(xᵢ, x)", { line: true, colour: "fit", width: 3 }],
      ["truth, sin(x)/x", { line: true, colour: "truth", width: 1 }],
    ]);
    fit.frame();
    fit.line(zs, truth, { colour: "truth", width: 1 });
    fit.line(zs, curve, { colour: "fit", width: 3 });
    data.forEach(([x, t], i) => fit.mark(x, t, { hollow: true, size: i === handles.chosen ? 6.5 : 4.5 }));
    lab.note(
      data.length
        ? `${data.length} points vote, each as far as σ reaches: k(x, x′) = exp(−(x − x′)²/2σ²). The curve is ` +
            `${short(lab.facts.distance, 2)} from the truth on average, without any knowledge of sines.`
        : "There are no points, so the curve is zero. Click in the figure to add some.",
    );
  });
}
