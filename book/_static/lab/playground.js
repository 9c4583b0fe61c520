// One data set, a kernel machine or a small network, and the hidden units of either.

import { gridPoints, squaredDistance, surface } from "./kernels.js";
import { ACTIVATIONS, atRest, descend, forward, meanLoss, newNetwork } from "./network.js";
import { short } from "./draw.js";
import { kernelControls, specOf } from "./perceptron.js";
import { CLASS_HELP, CLASS_LEGEND, drawPoints, troubleWith, WarmSVM, windowOf } from "./svm.js";
import { Lab } from "./widgets.js";

const FINE = 64;
const COARSE = 28;
const UNITS = 8;
const MOMENTUM = 0.9;
const MOST = 5000; // epochs
const EMPTY = [[-2, -2], [2, 2]]; // the corners for your own points

// Inputs with mean 0 and standard deviation 1, as in the library's MLP; the map does the same to new ones.
export function standardise(X) {
  const columns = [0, 1].map((c) => X.map((x) => x[c]));
  const mean = columns.map((v) => v.reduce((sum, x) => sum + x, 0) / X.length);
  const spread = columns.map((v, c) => Math.sqrt(v.reduce((sum, x) => sum + (x - mean[c]) ** 2, 0) / X.length) || 1);
  return (x) => [(x[0] - mean[0]) / spread[0], (x[1] - mean[1]) / spread[1]];
}

// The first point of `among` and then, repeatedly, the point farthest from those already chosen: the units should not
// look alike.
function spread(among, X, most) {
  const taken = among.slice(0, 1);
  while (taken.length < Math.min(most, among.length)) {
    const far = (i) => Math.min(...taken.map((j) => squaredDistance(X[i], X[j])));
    taken.push(among.reduce((best, i) => (far(i) > far(best) ? i : best)));
  }
  return taken;
}

export function playgroundFigure(root, sets) {
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  const lab = new Lab(root, "playground", {
    title: "Features given, or features learned",
    help: CLASS_HELP,
    start: {
      data: "checkerboard",
      model: "network",
      kernel: "gaussian",
      sigma: 2,
      degree: 3,
      lambda: 0.01,
      units: 8,
      layers: 1,
      activation: "tanh",
      step: 0.3,
      seed: 1,
      epochs: 0,
      adding: "1",
      points: sets.checkerboard,
    },
  });
  const machine = (s) => s.model === "kernel";
  const learned = (s) => s.model === "network";
  const restart = (s) => (s.epochs = 0);
  const names = { checkerboard: "checkerboard", moons: "moons", rings: "rings", xor: "exclusive or", own: "your points" };
  lab.select("data", "Data", names, {
    chosen: (s) => {
      s.points = s.data === "own" ? [] : structuredClone(sets[s.data]);
      restart(s);
    },
  });
  lab.select("model", "Model", { kernel: "kernel machine", network: "network" });
  kernelControls(lab, learned);
  lab.slider("lambda", "λ", { min: 0.0001, max: 1, log: true, unless: learned });
  lab.slider("units", "Units", { min: 1, max: UNITS, step: 1, unless: machine });
  lab.slider("layers", "Layers", { min: 1, max: 2, step: 1, unless: machine });
  const functions = Object.fromEntries(Object.keys(ACTIVATIONS).map((name) => [name, name]));
  lab.select("activation", "Activation", functions, { unless: machine });
  lab.slider("step", "Step size", { min: 0.01, max: 3, log: true, unless: machine });
  let running = false;
  const play = lab.button("Train", (s) => {
    running = !running;
    if (s.epochs >= MOST) restart(s);
    tick();
  }, { unless: machine });
  lab.button("New weights", (s) => {
    s.seed = (Math.round(s.seed) % 99) + 1;
    restart(s);
  }, { unless: machine });

  const plane = lab.plot({
    label: "Regions of the model",
    ...windowOf(sets.checkerboard),
    axes: false,
    share: 1.6,
    most: 400,
    widest: 320,
    phone: 265,
  });
  const minis = Array.from({ length: UNITS }, () => lab.plot({
    label: "A hidden unit",
    caption: "unit",
    x: plane.x,
    y: plane.y,
    aspect: 1,
    axes: false,
    share: 0,
    least: 60,
  }));
  const caption = document.createElement("p");
  caption.className = "lab-caption";
  const side = document.createElement("div");
  side.className = "lab-units";
  side.append(caption, ...minis.map((m) => m.cell));
  lab.stage.append(side);
  const handles = lab.handles(plane, { classes: true });
  lab.challenge("Train a network until at most 10 points of the checkerboard are on the wrong side.", (facts, state) => [
    learned(state) && state.data === "checkerboard" && facts.wrong <= 10,
    learned(state) && state.data === "checkerboard" ? String(facts.wrong) : "choose network and checkerboard",
  ]);
  lab.challenge("Do better with the kernel machine: at most 3 points, with σ at least 0.3.", (facts, state) => [
    machine(state) && state.data === "checkerboard" && facts.wrong <= 3 && specOf(state).sigma >= 0.3,
    machine(state) && state.data === "checkerboard" ? String(facts.wrong) : "choose the kernel machine",
  ]);

  // The network of this state: made again when its shape or seed changes, and trained until it has its epochs.
  let net = { key: "", epochs: 0 };
  function network(s, X, classes) {
    const hidden = new Array(Math.round(s.layers)).fill(Math.round(s.units));
    const key = [hidden, s.activation, s.seed].join();
    if (net.key !== key || net.epochs > s.epochs) {
      const layers = newNetwork([2, ...hidden, 2], s.activation, s.seed);
      net = { key, layers, velocity: atRest(layers), epochs: 0 };
    }
    s.epochs = Math.min(MOST, Math.max(0, Math.round(s.epochs)));
    for (; net.epochs < s.epochs; net.epochs++) {
      descend(net.layers, net.velocity, s.activation, X, classes, s.step, MOMENTUM);
    }
    return net;
  }

  function tick() {
    play.textContent = running ? "Pause" : "Train";
    if (!running) return;
    if (still.matches) running = false; // only the final picture
    lab.state.epochs += still.matches ? 500 : 10;
    if (lab.state.epochs >= MOST || learned(lab.state) === false) running = false;
    play.textContent = running ? "Pause" : "Train";
    lab.changed();
    if (running) requestAnimationFrame(tick);
  }
  lab.forget.push(() => {
    running = false;
    play.textContent = "Train";
  });

  function drawUnits(pictures) {
    minis.forEach((mini, i) => {
      const picture = pictures[i];
      mini.cell.hidden = !picture;
      if (!picture) return;
      mini.cell.firstChild.textContent = picture.name;
      mini.regions(picture.values, COARSE, { full: picture.full });
      mini.frame();
    });
  }

  const solver = new WarmSVM(lab);
  lab.run((s) => {
    const view = windowOf(sets[s.data] ?? EMPTY);
    for (const plot of lab.plots) Object.assign(plot, view);
    plane.legend([...CLASS_LEGEND, ["boundary", { line: true, colour: "boundary" }]]);
    const trouble = troubleWith(s.points);
    if (trouble) {
      plane.frame();
      drawUnits([]);
      caption.textContent = "";
      drawPoints(plane, s.points, { chosen: handles.chosen });
      lab.note(trouble, true);
      return;
    }
    const { xs, ys } = plane.grid(FINE);
    let values;
    let story;
    let pictures;
    let scores;
    let layers = null;
    let loss = null;
    if (machine(s)) {
      const spec = specOf(s);
      const fit = solver.solve(spec, s.points, s.lambda);
      values = surface(spec, fit.X, fit.c, xs, ys);
      scores = fit.margins;
      const small = plane.grid(COARSE);
      const support = Array.from(fit.alpha.keys()).filter((i) => fit.alpha[i] > 1e-8 * fit.C);
      const chosen = spread(support.sort((i, j) => fit.alpha[j] - fit.alpha[i]), fit.X, UNITS);
      pictures = chosen.map((i) => {
        const unit = surface(spec, [fit.X[i]], [fit.y[i]], small.xs, small.ys);
        return { name: `α ${short(fit.alpha[i], 2)}`, values: unit, full: Math.max(...unit.map(Math.abs)) };
      });
      caption.textContent = `Units y k(xᵢ, ·): ${pictures.length} of ${support.length}, far from one another`;
      story = `One unit for each of the ${support.length} support vectors, fixed by the kernel; only α is learned.`;
    } else {
      const classes = s.points.map((p) => (p[2] > 0 ? 1 : 0));
      const scaled = standardise(s.points);
      const X = s.points.map(scaled);
      ({ layers } = network(s, X, classes));
      loss = meanLoss(layers, s.activation, X, classes);
      if (!Number.isFinite(loss)) {
        running = false;
        plane.frame();
        drawUnits([]);
        drawPoints(plane, s.points);
        lab.note("Training diverged: the step size is too large. Make it smaller and draw new weights.", true);
        return;
      }
      const out = (x) => forward(layers, s.activation, x);
      const lead = (x) => ((z) => z[1] - z[0])(out(x).at(-1));
      values = gridPoints({ xs, ys }).map((z) => lead(scaled(z)));
      scores = X.map((x, i) => (2 * classes[i] - 1) * lead(x));
      const last = gridPoints(plane.grid(COARSE)).map((z) => out(scaled(z)).at(-2));
      const { W } = layers.at(-1);
      pictures = W.map((row, j) => ({
        name: `w ${(row[1] - row[0]).toFixed(1).replace("-", "−")}`,
        values: last.map((h) => h[j]),
        full: Math.max(1, ...last.map((h) => Math.abs(h[j]))),
      }));
      caption.textContent = "Units of the last hidden layer, and their weights w";
      const end = s.epochs >= MOST ? " (the last)" : "";
      const press = s.epochs ? "" : ": press Train";
      story = `Epoch ${s.epochs}${end}, loss ${short(loss)}. The units are learned with the weights${press}.`;
    }
    plane.regions(values, FINE);
    plane.contour(values, FINE, 0, { colour: "boundary" });
    plane.frame();
    drawPoints(plane, s.points, { chosen: handles.chosen });
    drawUnits(pictures);
    const wrong = scores.filter((m) => m <= 0).length;
    lab.facts = { wrong, scores, loss, layers };
    lab.note(`${story} ${wrong} of ${s.points.length} points are on the wrong side.`);
  });
}
