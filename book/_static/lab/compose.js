// Kernels on the line put together by the construction rules, and by two steps that break them.

import { dot, eigenSymmetric } from "./linalg.js";
import { gram } from "./kernels.js";
import { uniformFrom } from "./network.js";

// The functions to start from, to add or to multiply by: k(x, z) for numbers, how it is written, and whether it is a
// kernel.
export const BASES = {
  linear: { k: (x, z) => x * z, text: "xx′", valid: true },
  square: { k: (x, z) => (1 + x * z) ** 2, text: "(1 + xx′)²", valid: true },
  gaussian: { k: (x, z) => Math.exp(-((x - z) ** 2) / 2), text: "exp(−(x − x′)²/2)", valid: true },
  periodic: {
    k: (x, z) => Math.exp(-2 * Math.sin((Math.PI * (x - z)) / 2) ** 2),
    text: "periodic(x, x′)",
    valid: true,
  },
  one: { k: () => 1, text: "1", valid: true },
  distance: { k: (x, z) => Math.abs(x - z), text: "|x − x′|", valid: false },
};

export const WEIGHTS = {
  bell: { f: (x) => Math.exp(-(x * x) / 8), text: ["exp(−x²/8)", "exp(−x′²/8)"] },
  x: { f: (x) => x, text: ["x", "x′"] },
};

// How a step changes a value and the formula, the rule that it follows, and when the rule holds.
const between = (sign) => (text, base) => `${text} ${sign} ${BASES[base].text}`;
function bracket(text) {
  let outside = text; // what is outside all parentheses
  for (let last = ""; last !== outside; ) [last, outside] = [
    outside,
    outside.replace(/\([^()]*\)|\[[^[\]]*\]|\|[^|]*\|/g, ""),
  ];
  return outside.includes(" ") ? `[${text}]` : text;
}
const both = (valid, base) => valid && BASES[base].valid;
export const STEPS = {
  plus: { value: (u, b, x, z) => u + BASES[b].k(x, z), text: between("+"), keeps: both, rule: "6.17" },
  times: {
    value: (u, b, x, z) => u * BASES[b].k(x, z),
    text: (text, b) => `${bracket(text)} · ${bracket(BASES[b].text)}`,
    keeps: both,
    rule: "6.18",
  },
  minus: { value: (u, b, x, z) => u - BASES[b].k(x, z), text: between("−"), keeps: () => false, rule: "none" },
  scale: {
    value: (u, c) => Number(c) * u,
    text: (text, c) => `${String(c).replace("-", "−")} ${bracket(text)}`,
    keeps: (valid, c) => valid && Number(c) >= 0,
    rule: "6.13",
  },
  exp: { value: (u) => Math.exp(u), text: (text) => `exp(${text})`, keeps: (valid) => valid, rule: "6.16" },
  poly: {
    value: (u) => 1 + u + u * u,
    text: (text) => `1 + ${bracket(text)} + ${bracket(text)}²`,
    keeps: (valid) => valid,
    rule: "6.15",
  },
  weight: {
    value: (u, f, x, z) => WEIGHTS[f].f(x) * u * WEIGHTS[f].f(z),
    text: (text, f) => `${WEIGHTS[f].text[0]} · ${bracket(text)} · ${WEIGHTS[f].text[1]}`,
    keeps: (valid) => valid,
    rule: "6.14",
  },
};

// `recipe` is { start: "linear", steps: [["scale", "0.25"], ["exp", ""], ...] }.
export function compose(recipe) {
  const start = BASES[recipe.start];
  let { text, valid } = start;
  let broken = valid ? "" : `${text} is not a kernel`;
  for (const [name, operand] of recipe.steps) {
    const step = STEPS[name];
    const before = valid;
    valid = step.keeps(valid, operand);
    text = step.text(text, operand);
    if (before && !valid) {
      if (name === "minus") broken = "no rule allows a difference";
      else if (name === "scale") broken = "rule 6.13 allows no negative factor";
      else broken = `${BASES[operand].text} is not a kernel`;
    }
  }
  const k = (x, z) => recipe.steps.reduce((u, [name, b]) => STEPS[name].value(u, b, x, z), start.k(x, z));
  return { k, text, valid, broken };
}

export function spectrum(k, x) {
  const K = gram((a, b) => k(a[0], b[0]), x.map((value) => [value]));
  return { K, ...eigenSymmetric(K) };
}

// Whether the smallest eigenvalue is negative beyond rounding.
export const isNegative = (values) => values[0] < -1e-9 * Math.max(...values.map(Math.abs), 1e-300);

// Points and coefficients with sum a_i a_j k(x_i, x_j) < 0, first among the given points; as few points as possible.
export function counterexample(k, x) {
  const uniform = uniformFrom(1);
  for (let trial = 0; trial < 200; trial++) {
    let points = trial === 0 ? [...x] : Array.from(
      { length: 2 + (trial % 5) },
      () => Math.round(uniform() * 80 - 40) / 10,
    );
    if (points.length === 0 || !isNegative(spectrum(k, points).values)) continue;
    for (let i = points.length - 1; i >= 0 && points.length > 1; i--) {
      const fewer = points.filter((_, j) => j !== i);
      if (isNegative(spectrum(k, fewer).values)) points = fewer;
    }
    const { K, vectors } = spectrum(k, points);
    const a = vectors[0];
    return { points, a, value: a.reduce((sum, a_i, i) => sum + a_i * dot(K[i], a), 0) };
  }
  return null;
}
