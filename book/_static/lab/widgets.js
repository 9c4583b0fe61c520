// What all figures share: controls, handles to drag, the sentence below, and the state in the page's address. No
// library is used, because the handles have to work by keyboard and with a screen reader; d3-drag only knows pointers.

import { coloursOf, Plot, short } from "./draw.js";

const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

// --- the state as text: #lab-svm=sigma:0.7,points:...&lab-dual=...

// A point [x, y, label] in seven characters: coordinates to 1/1000 within ±20, and the label.
const UNIT = 1000;
const REACH = 20;
const snap = (v) => Math.round(Math.min(REACH, Math.max(-REACH, v)) * UNIT) / UNIT;
const code = (v) => Math.round((v + REACH) * UNIT).toString(36).padStart(3, "0");
const encodePoint = ([x, y, label = 0]) => code(x) + code(y) + (label + 1);
const decodePoint = (text) => {
  const [x, y] = [0, 3].map((at) => snap(parseInt(text.slice(at, at + 3), 36) / UNIT - REACH));
  return [x, y, Number(text[6]) - 1];
};

export const encode = (state, start) =>
  Object.keys(start)
    .map((key) => {
      const text = (v) => (Array.isArray(v) ? v.map(encodePoint).join("") : encodeURIComponent(v));
      return text(state[key]) === text(start[key]) ? "" : `${key}:${text(state[key])}`;
    })
    .filter(Boolean)
    .join(",");

export function decode(text, start) {
  const state = structuredClone(start);
  for (const part of text.split(",")) {
    const [key, value = ""] = part.split(":");
    if (!Object.hasOwn(start, key)) continue;
    if (Array.isArray(start[key])) {
      const points = (value.match(/.{7}/g) ?? []).slice(0, 400).map(decodePoint);
      if (points.flat().every(Number.isFinite)) state[key] = points;
    } else if (typeof start[key] === "number") {
      if (value !== "" && Number.isFinite(Number(value))) state[key] = Number(value);
    } else {
      try {
        state[key] = decodeURIComponent(value);
      } catch {
        continue; // a link cut short
      }
    }
  }
  return state;
}

const fragmentParts = () => location.hash.slice(1).split("&").filter(Boolean);

// --- one figure on a page

const HELP =
  "Drag a point, or reach it with the Tab key: arrows move it (with Shift, further), Page Up and Page Down go to the " +
  "other points. Ctrl+Z undoes the last change.";

// All figures of the page by name. The tests compare their `facts` with the library.
export const figures = {};

// The static figure that shows the same in print and without JavaScript. The box takes its number and its place in the
// page's links, and the figure's code goes below the box.
function takePlaceOf(root) {
  const twin = document.getElementById(root.dataset.figure);
  const number = twin?.querySelector(".caption-number")?.textContent.trim();
  if (twin) {
    root.id = twin.id;
    twin.removeAttribute("id");
    twin.classList.add("lab-twin");
    const cell = twin.closest(".cell");
    if (cell?.nextElementSibling === root) root.after(cell);
  }
  return number ? `${number} (drag) ` : "";
}

export class Lab {
  constructor(root, name, { title, help = "", start }) {
    Object.assign(this, {
      root,
      name,
      start,
      state: structuredClone(start),
      facts: null, // what the last picture was drawn from; null where there was nothing to draw
      syncs: [],
      layers: [],
      plots: [],
      forget: [],
      challenges: [],
      past: [], // addresses of earlier states, for undo
      settled: "",
    });
    figures[name] = this;
    const id = `lab-${name}-${document.querySelectorAll(".lab-title").length}`;
    root.classList.add("lab-live");
    root.setAttribute("role", "group");
    root.setAttribute("aria-labelledby", id);
    const number = make("span", { class: "caption-number" }, takePlaceOf(root));
    this.invitation = root.querySelector(".lab-invite") ?? "";
    this.controls = make("div", { class: "lab-controls" });
    this.stage = make("div", { class: "lab-stage" });
    this.sentence = make("p", { class: "lab-note" });
    this.spoken = make("p", { class: "lab-spoken", role: "status" });
    this.tasks = make("ol", { class: "lab-tasks", "aria-label": "Challenges" });
    this.link = make("a", { href: `#lab-${name}=` }, "Link to this state");
    const reset = make("button", { type: "button" }, "Reset");
    reset.addEventListener("click", () => this.act(() => this.set(structuredClone(this.start))));
    const back = make("button", { type: "button" }, "Undo");
    back.addEventListener("click", () => this.undo());
    root.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
      event.preventDefault();
      this.undo();
    });
    this.help = make("p", { id: `${id}-help` }, `${HELP} ${help}`);
    const keys = make("details", { class: "lab-help" }, make("summary", {}, "Mouse and keys"), this.help);
    this.foot = make("div", { class: "lab-foot" }, back, reset, this.link, keys);
    const heading = make("p", { class: "lab-title", id }, number, title);
    root.append(heading, this.invitation, this.controls, this.stage, this.sentence, this.spoken, this.tasks, this.foot);
  }

  // Call this once all controls and plots exist.
  run(draw) {
    this.paint = draw;
    new ResizeObserver(() => this.resized()).observe(this.stage);
    new MutationObserver(() => this.recolour()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    window.addEventListener("hashchange", () => this.restore());
    this.colours = coloursOf(this.root);
    if (!this.restore()) this.drawNow();
  }

  set(state) {
    this.state = state;
    for (const forget of this.forget) forget();
    for (const sync of this.syncs) sync();
    this.changed();
  }

  // A press or a choice is one change, which one undo reverts.
  act(change) {
    this.remember();
    change(this.state);
    for (const sync of this.syncs) sync();
    this.remember();
    this.changed();
  }

  remember() {
    const text = encode(this.state, this.start);
    if (text === this.settled) return;
    this.past.push(this.settled);
    this.settled = text;
  }

  undo() {
    this.remember();
    if (this.past.length === 0) return;
    this.settled = this.past.pop();
    this.set(decode(this.settled, this.start));
  }

  restore() {
    const own = `lab-${this.name}=`;
    const part = fragmentParts().find((text) => text.startsWith(own));
    if (part === undefined || part === own + encode(this.state, this.start)) return false;
    this.set(decode(part.slice(own.length), this.start));
    this.root.scrollIntoView({ block: "center" });
    return true;
  }

  // The state has changed: draw in the next frame, and put it into the address once changes have stopped.
  changed() {
    this.frame ??= requestAnimationFrame(() => this.drawNow());
    clearTimeout(this.saving);
    this.saving = this.held ? null : setTimeout(() => this.save(), 400); // a drag is one change, however long it takes
    this.tell();
  }

  // data-pending names what is still to be done. The tests wait until it is empty.
  tell() {
    const pending = [this.frame && "picture", this.saving && "address"].filter(Boolean);
    this.root.dataset.pending = pending.join(" ");
  }

  save() {
    this.saving = this.frame ? setTimeout(() => this.save(), 100) : null; // only the finished picture is announced
    if (this.saving) return;
    this.remember();
    const own = `lab-${this.name}=`;
    const text = encode(this.state, this.start);
    const others = fragmentParts().filter((part) => !part.startsWith(own));
    const labs = others.filter((part) => part.startsWith("lab-"));
    this.link.href = `#${own}${text}`;
    const hash = text ? [...labs, own + text] : labs.length ? labs : others;
    history.replaceState(null, "", hash.length ? `#${hash.join("&")}` : location.pathname + location.search);
    const won = this.challenges.filter(({ verdict }) => verdict.classList.contains("lab-won"));
    this.spoken.textContent = [this.sentence.textContent, ...won.map(({ ask }) => `Solved: ${ask}`)].join(" ");
    this.tell();
  }

  drawNow() {
    cancelAnimationFrame(this.frame);
    this.frame = null;
    this.facts = null;
    this.note("");
    for (const plot of this.plots) plot.begin(this.colours);
    this.paint(this.state);
    for (const layer of this.layers) layer.place();
    this.judge();
    this.tell();
  }

  // The picture is not finished: continue in the next frame.
  again() {
    this.frame ??= requestAnimationFrame(() => this.drawNow());
  }

  resized() {
    for (const plot of this.plots) plot.resize();
    this.drawNow();
  }

  recolour() {
    this.colours = coloursOf(this.root);
    this.drawNow();
  }

  // The sentence below the figure: what there is to see, or why there is nothing to see. Parts are words or elements.
  note(parts, bad = false) {
    const list = [parts].flat();
    if (this.sentence.textContent !== list.map((part) => part.textContent ?? part).join("")) {
      this.sentence.replaceChildren(...list);
    }
    this.sentence.classList.toggle("lab-bad", bad);
  }

  // --- challenges

  // `judge(facts, state)` says whether it is solved, and what the figure's own number is: [true, "0.04"].
  challenge(ask, judge) {
    const verdict = make("span", { class: "lab-verdict" });
    this.tasks.append(make("li", {}, `${ask} `, verdict));
    this.challenges.push({ ask, judge, verdict });
  }

  judge() {
    for (const { judge, verdict } of this.challenges) {
      const [won, now] = this.facts ? judge(this.facts, this.state) : [false, ""];
      verdict.textContent = `${won ? "✓ solved" : "not yet"}${now && `: ${now}`}`;
      verdict.classList.toggle("lab-won", won);
    }
  }

  // --- controls

  slider(key, label, { min, max, log = false, step = log ? 0.01 : (max - min) / 100, digits = 3, unless = null }) {
    const to = log ? Math.log10 : Number;
    const from = (v) => (log ? Number((10 ** v).toPrecision(digits)) : Number(v));
    const input = make("input", { type: "range", min: to(min), max: to(max), step });
    const value = make("span", { class: "lab-value" });
    const row = make("label", { class: "lab-slider" }, make("span", {}, label), input, value);
    const sync = () => {
      this.state[key] = Math.min(max, Math.max(min, this.state[key]));
      input.value = to(this.state[key]);
      value.textContent = short(this.state[key]);
      input.setAttribute("aria-valuetext", value.textContent);
      row.hidden = Boolean(unless?.(this.state));
    };
    input.addEventListener("input", () => {
      this.state[key] = from(Number(input.value));
      for (const each of this.syncs) each();
      this.changed();
    });
    this.controls.append(row);
    this.syncs.push(sync);
    sync();
    return row;
  }

  select(key, label, options, { unless = null, parent = this.controls, chosen = null } = {}) {
    const input = make("select");
    for (const [value, text] of Object.entries(options)) input.append(make("option", { value }, text));
    const row = make("label", { class: "lab-select" }, make("span", {}, label), input);
    const sync = () => {
      if (!Object.hasOwn(options, this.state[key])) this.state[key] = this.start[key];
      input.value = this.state[key];
      row.hidden = Boolean(unless?.(this.state));
    };
    input.addEventListener("change", () => this.act((state) => {
      state[key] = input.value;
      chosen?.(state);
    }));
    parent.append(row);
    this.syncs.push(sync);
    sync();
    return row;
  }

  // A box to tick: state[key] is "yes" or "".
  check(key, label) {
    const input = make("input", { type: "checkbox" });
    const sync = () => (input.checked = this.state[key] === "yes");
    input.addEventListener("change", () => this.act((state) => (state[key] = input.checked ? "yes" : "")));
    this.controls.append(make("label", { class: "lab-select" }, input, make("span", {}, label)));
    this.syncs.push(sync);
    sync();
  }

  button(label, change, { unless = null, title = "" } = {}) {
    const button = make("button", { type: "button", ...(title && { title }) }, label);
    button.addEventListener("click", () => this.act(change));
    this.controls.append(button);
    const sync = () => (button.hidden = Boolean(unless?.(this.state)));
    this.syncs.push(sync);
    sync();
    return button;
  }

  // --- plots and their handles

  // `share` is its part of the row's width, `least` the width in pixels below which it goes to a row of its own,
  // `widest` the width that it never exceeds, and `phone` the same on a phone.
  plot({ share = 1, least = 300, widest = 2000, phone = widest, caption = "", ...options }) {
    const box = make("div", { class: "lab-plot" });
    const style = `flex: ${share} 1 ${least}px; --lab-widest: ${widest}px; --lab-phone: ${phone}px`;
    const cell = make("div", { class: "lab-cell", style });
    if (caption) cell.append(make("p", { class: "lab-caption" }, caption));
    cell.append(box);
    this.stage.append(cell);
    const plot = new Plot(box, options);
    plot.cell = cell;
    this.plots.push(plot);
    return plot;
  }

  handles(plot, options) {
    const layer = new Handles(this, plot, options);
    this.layers.push(layer);
    return layer;
  }
}

// Points to drag: state[key] holds [x, y, label]. With `grows` a click on an empty spot adds a point and Delete removes
// one; with `classes` a new point has the class state.adding, and the space bar changes a point's class. `fixed` is a
// height that the points keep. With `jumps` the only point goes to where the plot is pressed. `words` says where a
// point is.
class Handles {
  constructor(lab, plot, {
    key = "points",
    name = "Point",
    classes = false,
    grows = classes,
    jumps = false,
    fixed = null,
    words = null,
    describe = null,
    limit = 400,
  }) {
    Object.assign(this, { lab, plot, key, name, classes, grows, fixed, words, describe, limit, elements: [] });
    this.current = 0;
    lab.forget.push(() => (this.touched = false));
    if (jumps) {
      plot.canvas.classList.add("lab-free");
      plot.canvas.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        this.hold(this.elements[0], event);
        this.move(0, ...plot.at(event.offsetX, event.offsetY));
      });
    }
    if (!grows) return;
    plot.canvas.addEventListener("click", (event) => {
      lab.act(() => this.add(...plot.at(event.offsetX, event.offsetY)));
    });
    if (classes) lab.select("adding", "New points", { 1: "+1 ■", "-1": "−1 ●" });
    lab.button("Add", () => {
      this.add((plot.x[0] + plot.x[1]) / 2, (plot.y[0] + plot.y[1]) / 2);
      this.elements[this.current].focus();
    }, { title: "Add a point in the middle" });
    if (classes) lab.button("Switch", () => this.flip(this.current), { title: "Switch the class of the chosen point" });
    lab.button("Remove", () => this.remove(this.current), { title: "Remove the chosen point" });
  }

  // The point that the buttons act on, once one has been touched.
  get chosen() {
    return this.touched ? this.current : -1;
  }

  get points() {
    return this.lab.state[this.key];
  }

  add(x, y) {
    if (this.points.length >= this.limit) return;
    this.points.push([snap(x), snap(y), Number(this.lab.state.adding ?? 0)]);
    this.current = this.points.length - 1;
    this.edited();
    this.place();
  }

  flip(i) {
    if (!this.points[i]) return;
    this.points[i][2] *= -1;
    this.edited();
  }

  remove(i) {
    if (!this.points[i]) return;
    this.points.splice(i, 1);
    this.current = Math.max(0, Math.min(i, this.points.length - 1));
    this.edited();
  }

  edited() {
    this.touched = true;
    this.lab.changed();
  }

  move(i, x, y) {
    const inside = (v, [low, high]) => snap(Math.min(high, Math.max(low, v)));
    this.points[i][0] = inside(x, this.plot.x);
    if (this.fixed === null) this.points[i][1] = inside(y, this.plot.y);
    this.edited();
  }

  create(i) {
    const { plot } = this;
    const element = make("span", {
      class: "lab-handle",
      role: "slider",
      tabindex: -1,
      "aria-describedby": this.lab.help.id,
    });
    element.addEventListener("focus", () => {
      this.current = i;
      this.touched = true;
      this.place();
      if (this.grows) this.lab.changed(); // the chosen point is drawn larger
    });
    element.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      const nearest = this.elements[this.nearestTo(event)]; // where points overlap, not the one on top
      this.hold(nearest, event);
    });
    element.addEventListener("lostpointercapture", () => {
      this.lab.held = false;
      this.lab.changed();
    });
    element.addEventListener("pointermove", (event) => {
      if (!element.hasPointerCapture(event.pointerId)) return;
      const box = plot.canvas.getBoundingClientRect();
      this.move(i, ...plot.at(event.clientX - box.left, event.clientY - box.top));
    });
    element.addEventListener("keydown", (event) => this.pressed(event, i));
    plot.box.append(element);
    return element;
  }

  hold(element, { pointerId }) {
    this.lab.held = true;
    element.setPointerCapture(pointerId);
    element.focus({ preventScroll: true });
  }

  nearestTo({ clientX, clientY }) {
    const box = this.plot.canvas.getBoundingClientRect();
    const far = ([x, y]) => Math.hypot(
      this.plot.px(x) + box.left - clientX,
      this.plot.py(this.fixed ?? y) + box.top - clientY,
    );
    return this.points.reduce((best, point, i) => (far(point) < far(this.points[best]) ? i : best), 0);
  }

  pressed(event, i) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const [x, y] = this.points[i];
    const part = event.shiftKey ? 0.1 : 0.01;
    const [dx, dy] = [this.plot.x, this.plot.y].map(([low, high]) => part * (high - low));
    const go = (to) => {
      this.current = (to + this.points.length) % this.points.length;
      this.place();
      this.elements[this.current].focus();
    };
    const acts = {
      ArrowLeft: () => this.move(i, x - dx, y),
      ArrowRight: () => this.move(i, x + dx, y),
      ArrowUp: () => (this.fixed === null ? this.move(i, x, y + dy) : this.move(i, x + dx, y)),
      ArrowDown: () => (this.fixed === null ? this.move(i, x, y - dy) : this.move(i, x - dx, y)),
      PageDown: () => go(i + 1),
      PageUp: () => go(i - 1),
      Home: () => go(0),
      End: () => go(-1),
      ...(this.classes && { " ": () => this.lab.act(() => this.flip(i)) }),
      ...(this.grows && {
        Delete: () => {
          this.lab.act(() => this.remove(i));
          this.place();
          this.elements[this.current]?.focus();
        },
      }),
    };
    if (!Object.hasOwn(acts, event.key)) return;
    event.preventDefault();
    acts[event.key]();
  }

  // Move the elements to the points. Only the current one can be reached with the Tab key.
  place() {
    const { plot, points } = this;
    while (this.elements.length > points.length) this.elements.pop().remove();
    while (this.elements.length < points.length) this.elements.push(this.create(this.elements.length));
    this.current = Math.min(this.current, Math.max(0, points.length - 1));
    this.elements.forEach((element, i) => {
      const [x, y, label] = points[i];
      const height = this.fixed ?? y;
      const up = this.fixed === null ? `, y ${short(y)}` : "";
      const side = this.classes ? `, class ${label > 0 ? "+1" : "−1"}` : "";
      const words = this.words?.(points[i]) ?? `x ${short(x)}${up}${side}`;
      const where = `translate(${plot.px(x).toFixed(1)}px, ${plot.py(height).toFixed(1)}px)`;
      if (element.where !== where) element.style.transform = element.where = where;
      const tab = i === this.current ? 0 : -1;
      if (element.tabIndex !== tab) element.tabIndex = tab;
      const told = words + (this.describe ? `, ${this.describe(i)}` : "");
      if (element.told === told) return;
      element.told = told;
      const facts = {
        label: this.name === "Point" ? `Point ${i + 1}` : this.name,
        valuemin: plot.x[0],
        valuemax: plot.x[1],
        valuenow: x,
        valuetext: told,
      };
      for (const [fact, value] of Object.entries(facts)) element.setAttribute(`aria-${fact}`, value);
    });
  }
}
