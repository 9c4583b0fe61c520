// The leave-one-out error over width and ridge, and the fit at the chosen pair.

import { cross, gram, kernelOf, linspace } from "./kernels.js";
import { cholesky, choleskySolve, dot, multiply } from "./linalg.js";
import { short } from "./draw.js";
import { column, sinc } from "./gaussian.js";
import { Lab } from "./widgets.js";

// Weights, leave-one-out residuals a_i / G_ii and their mean square for each ridge, where G is the inverse of
// K + ridge I = L L'. With M = L^-1 its diagonal is G_ii = sum_k M_ki^2. At these sizes that is quicker than computing
// eigenvalues.
export function looPath(K, t, ridges) {
  return ridges.map((ridge) => {
    const L = cholesky(K.map((row, i) => row.map((value, j) => (i === j ? value + ridge : value))));
    const a = choleskySolve(L, t);
    const G = new Float64Array(t.length);
    const m = new Float64Array(t.length); // column i of M
    for (let i = 0; i < t.length; i++) {
      for (let k = i; k < t.length; k++) {
        let sum = k === i ? 1 : 0;
        for (let j = i; j < k; j++) sum -= L[k][j] * m[j];
        m[k] = sum / L[k][k];
        G[i] += m[k] * m[k];
      }
    }
    const residuals = a.map((a_i, i) => a_i / G[i]);
    return { a, residuals, error: dot(residuals, residuals) / t.length };
  });
}

export function looAt(points, sigma, ridges) {
  const K = gram(kernelOf({ kind: "gaussian", sigma }), column(points.map((p) => p[0])));
  return looPath(K, points.map((p) => p[1]), ridges);
}

const COLUMNS = 24;
const ROWS = 24;
const SIGMAS = [-1, 1.3]; // log10
const RIDGES = [-4, 1];
const widths = Array.from(linspace(...SIGMAS, COLUMNS), (e) => 10 ** e);
const ridges = Array.from(linspace(...RIDGES, ROWS), (e) => 10 ** e);

// The errors on the grid, one width per call of `step`, so that no frame is late.
class Landscape {
  constructor(points) {
    Object.assign(this, { points, done: 0, errors: new Float64Array(COLUMNS * ROWS).fill(NaN) });
  }

  step() {
    looAt(this.points, widths[this.done], ridges).forEach(({ error }, row) => {
      this.errors[row * COLUMNS + this.done] = error;
    });
    this.done += 1;
    this.complete = this.done === COLUMNS;
    if (this.complete) this.at = this.errors.indexOf(Math.min(...this.errors));
  }
}

export function landscapeFigure(root, { samples }) {
  const lab = new Lab(root, "landscape", {
    title: "Width, ridge and the leave-one-out error",
    help: "Press anywhere in the landscape to go there.",
    start: { sample: 0, pair: [[-0.5, -2]] },
  });
  lab.button("Another sample", (state) => {
    state.sample = (Math.max(0, Math.floor(state.sample)) + 1) % samples.length;
  });
  lab.button("To the smallest error", (state) => {
    const { complete, at } = landscapeOf(state);
    if (complete) state.pair = [[Math.log10(widths[at % COLUMNS]), Math.log10(ridges[Math.floor(at / COLUMNS)])]];
  });
  const map = lab.plot({
    label: "The leave-one-out error against width and ridge: dark means large",
    caption: "leave-one-out error: dark means large",
    x: SIGMAS,
    y: RIDGES,
    xLabel: "σ",
    yLabel: "λ",
    powers: true,
    aspect: 0.85,
    narrow: 0.66,
    most: 330,
  });
  const fit = lab.plot({
    label: "The fit at the chosen pair and what the other points predict for each point",
    caption: "the fit at the chosen pair",
    x: [-10, 10],
    y: [-1.2, 1.8],
    xLabel: "x",
    yLabel: "t",
    share: 1.25,
    aspect: 0.68,
    narrow: 0.62,
    most: 330,
  });
  const landscapes = new Map();
  const sampleOf = (state) => samples[Math.floor(Math.abs(state.sample)) % samples.length];
  function landscapeOf(state) {
    const points = sampleOf(state);
    if (!landscapes.has(points)) landscapes.set(points, new Landscape(points));
    return landscapes.get(points);
  }
  const numbers = ([x, y]) => `σ ${short(10 ** x)}, λ ${short(10 ** y)}`;
  lab.handles(map, { key: "pair", name: "Width and ridge", jumps: true, words: numbers });
  lab.challenge("Find the valley: an error within 2 % of the smallest one on the map.", ({ over, error }) => [
    over < 1.02,
    short(error),
  ]);
  lab.challenge("The valley is long: keep σ below 2 and the error within 10 % of the smallest.", ({ over, error, sigma }) => [
    over < 1.1 && sigma < 2,
    `${short(error)} at σ = ${short(sigma)}`,
  ]);
  const zs = linspace(-10, 10, 241);
  lab.run((state) => {
    const [x, y] = state.pair[0] ?? lab.start.pair[0];
    const [sigma, ridge] = [10 ** x, 10 ** y];
    const points = sampleOf(state);
    const [{ a, residuals, error }] = looAt(points, sigma, [ridge]);
    const k = kernelOf({ kind: "gaussian", sigma });
    const curve = multiply(cross(k, column(zs), column(points.map((p) => p[0]))), a);
    const landscape = landscapeOf(state);
    for (let i = 0; i < 4 && !landscape.complete; i++) landscape.step();
    if (!landscape.complete) lab.again();
    const { complete, errors, at } = landscape;
    const smallest = complete ? errors[at] : NaN;
    lab.facts = { sigma, ridge, a, residuals, error, curve, errors, smallest, over: error / smallest };

    const low = Math.min(...errors.filter(Number.isFinite));
    map.legend([["chosen pair", { mark: true, hollow: true }], ["smallest error", { sign: "★" }]]);
    map.shades(errors.map((v) => Math.log(v)).map((v) => v - Math.log(low)), COLUMNS, ROWS, { full: 1.4, smooth: true });
    map.frame();
    if (complete) {
      const column_ = [SIGMAS, RIDGES].map(([from, to], axis) => {
        const step = axis === 0 ? at % COLUMNS : Math.floor(at / COLUMNS);
        return from + ((to - from) * step) / (COLUMNS - 1);
      });
      map.text(...column_, "★", { align: "center", size: 20, dy: 7 });
    }
    map.mark(x, y, { hollow: true, size: 7 });

    fit.legend([
      ["points", { mark: true, hollow: true, colour: "training" }],
      ["predicted without it", { mark: true, square: true, colour: "held-out" }],
      ["fit", { line: true, colour: "fit", width: 2.5 }],
      ["truth", { line: true, colour: "truth", width: 1 }],
    ]);
    fit.frame();
    fit.line(zs, zs.map(sinc), { colour: "truth", width: 1 });
    points.forEach(([px, t], i) => {
      fit.line([px, px], [t, t - residuals[i]], { colour: "soft", width: 1 });
      fit.mark(px, t - residuals[i], { colour: "held-out", square: true, size: 3 });
    });
    fit.line(zs, curve, { colour: "fit", width: 2.5 });
    for (const [px, t] of points) fit.mark(px, t, { hollow: true, size: 4, colour: "training" });
    const against = complete
      ? `The smallest error on the map is ${short(smallest)}, at σ = ${short(widths[at % COLUMNS])} and ` +
        `λ = ${short(ridges[Math.floor(at / COLUMNS)])}.`
      : "The map is being computed …";
    lab.note(`At σ = ${short(sigma)} and λ = ${short(ridge)} the leave-one-out error is ${short(error)}. ${against}`);
  });
}
