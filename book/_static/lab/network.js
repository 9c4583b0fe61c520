// A multilayer perceptron trained by gradient descent on all points at once: kernelcourse.algorithms.mlp.
// A layer is { W, b } with W as rows (inputs x outputs).

import { zeros } from "./linalg.js";

// Each activation function, its derivative in terms of its output, and the gain for new weights.
export const ACTIVATIONS = {
  tanh: { apply: Math.tanh, slope: (h) => 1 - h * h, gain: 1 },
  relu: { apply: (z) => Math.max(z, 0), slope: (h) => (h > 0 ? 1 : 0), gain: 2 },
  sigmoid: { apply: (z) => 1 / (1 + Math.exp(-z)), slope: (h) => h * (1 - h), gain: 1 },
};

// Random numbers that are the same in every browser (mulberry32), and normally distributed ones made from them (Box and
// Muller).
export function uniformFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const normalFrom = (uniform) => () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());

export function newNetwork(sizes, activation, seed) {
  const normal = normalFrom(uniformFrom(seed));
  return sizes.slice(1).map((outputs, l) => {
    const scale = Math.sqrt(ACTIVATIONS[activation].gain / sizes[l]);
    const W = zeros(sizes[l], outputs).map((row) => row.map(() => scale * normal()));
    return { W, b: new Float64Array(outputs) };
  });
}

// The outputs of every layer at one point, the point itself first.
export function forward(layers, activation, x) {
  const { apply } = ACTIVATIONS[activation];
  const outputs = [Float64Array.from(x)];
  layers.forEach(({ W, b }, l) => {
    const z = Float64Array.from(b);
    const h = outputs[l];
    for (let i = 0; i < h.length; i++) for (let j = 0; j < z.length; j++) z[j] += h[i] * W[i][j];
    outputs.push(l < layers.length - 1 ? z.map(apply) : z);
  });
  return outputs;
}

// Softmax cross-entropy of outputs z for the class c, and its gradient with respect to z.
function crossEntropy(z, c) {
  const top = Math.max(...z);
  const e = z.map((v) => Math.exp(v - top));
  const total = e.reduce((sum, v) => sum + v, 0);
  return { loss: Math.log(total) - (z[c] - top), delta: e.map((v, j) => v / total - (j === c ? 1 : 0)) };
}

export const meanLoss = (layers, activation, X, classes) =>
  X.reduce((sum, x, n) => sum + crossEntropy(forward(layers, activation, x).at(-1), classes[n]).loss, 0) / X.length;

// One step on the mean loss over all points; `velocity` carries the momentum from step to step.
export function descend(layers, velocity, activation, X, classes, step, momentum) {
  const gradient = layers.map(({ W, b }) => ({ W: zeros(W.length, b.length), b: new Float64Array(b.length) }));
  X.forEach((x, n) => {
    const outputs = forward(layers, activation, x);
    let { delta } = crossEntropy(outputs.at(-1), classes[n]);
    for (let l = layers.length - 1; l >= 0; l--) {
      const h = outputs[l];
      const before = new Float64Array(h.length);
      for (let i = 0; i < h.length; i++) {
        for (let j = 0; j < delta.length; j++) {
          gradient[l].W[i][j] += h[i] * delta[j];
          before[i] += delta[j] * layers[l].W[i][j];
        }
        if (l > 0) before[i] *= ACTIVATIONS[activation].slope(h[i]);
      }
      for (let j = 0; j < delta.length; j++) gradient[l].b[j] += delta[j];
      delta = before;
    }
  });
  const move = (values, speed, slopes) => {
    for (let j = 0; j < values.length; j++) {
      speed[j] = momentum * speed[j] - (step / X.length) * slopes[j];
      values[j] += speed[j];
    }
  };
  layers.forEach(({ W, b }, l) => {
    W.forEach((row, i) => move(row, velocity[l].W[i], gradient[l].W[i]));
    move(b, velocity[l].b, gradient[l].b);
  });
}

export const atRest = (layers) =>
  layers.map(({ W, b }) => ({ W: zeros(W.length, b.length), b: new Float64Array(b.length) }));

export function train(layers, activation, X, classes, { step, epochs, momentum = 0 }) {
  const velocity = atRest(layers);
  const losses = [meanLoss(layers, activation, X, classes)];
  for (let epoch = 0; epoch < epochs; epoch++) {
    descend(layers, velocity, activation, X, classes, step, momentum);
    losses.push(meanLoss(layers, activation, X, classes));
  }
  return losses;
}
