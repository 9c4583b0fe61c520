// Drawing on a canvas in the units of the data, in the colours of the page. By hand, because a page loads at most
// 60 kB for its figures, libraries included.

import { linspace } from "./kernels.js";

const NAMES = ["ink", "soft", "ground", "minus", "plus", "third", "bad"];

// The colours that lab.css gives to this element, in light or dark.
export function coloursOf(element) {
  const style = getComputedStyle(element);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--lab-${name}`).trim()]));
}

function niceTicks(low, high, most) {
  const raw = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= raw);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(i * step);
  return ticks;
}

const minusSign = (text) => String(text).replace(/-/g, "−");
export const short = (value, digits = 3) => minusSign(String(Number(value.toPrecision(digits))));

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

export class Plot {
  // `x` and `y` are the ranges; `aspect` is height over width; `axes: false` leaves the whole area to the picture.
  constructor(box, { label, x, y, aspect = 0.6, xLabel = "", yLabel = "", axes = true, ticks = true, logX = false }) {
    Object.assign(this, { box, x, y, aspect, xLabel, yLabel, axes, ticks, logX });
    this.canvas = box.appendChild(document.createElement("canvas"));
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", label);
    this.pen = this.canvas.getContext("2d");
    this.resize();
  }

  resize() {
    const width = this.box.clientWidth || 300;
    const height = Math.round(width * this.aspect);
    const ratio = window.devicePixelRatio || 1;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const inset = this.axes ? { left: 46, right: 10, top: 10, bottom: 38 } : { left: 1, right: 1, top: 1, bottom: 1 };
    this.area = { left: inset.left, top: inset.top, right: width - inset.right, bottom: height - inset.bottom };
    Object.assign(this, { width, height });
  }

  scale(value) {
    return this.logX ? Math.log10(value) : value;
  }

  px(x) {
    const [low, high] = this.x.map((v) => this.scale(v));
    return this.area.left + ((this.scale(x) - low) / (high - low)) * (this.area.right - this.area.left);
  }

  py(y) {
    return this.area.bottom - ((y - this.y[0]) / (this.y[1] - this.y[0])) * (this.area.bottom - this.area.top);
  }

  // From pixels of the box back to the data, kept inside the ranges.
  at(px, py) {
    const { left, right, top, bottom } = this.area;
    const across = Math.min(1, Math.max(0, (px - left) / (right - left)));
    const up = Math.min(1, Math.max(0, (bottom - py) / (bottom - top)));
    return [this.x[0] + across * (this.x[1] - this.x[0]), this.y[0] + up * (this.y[1] - this.y[0])];
  }

  begin(colours) {
    this.colours = colours;
    this.pen.clearRect(0, 0, this.width, this.height);
  }

  frame() {
    const { pen, area, colours } = this;
    pen.save();
    pen.strokeStyle = colours.soft;
    pen.fillStyle = colours.ink;
    pen.lineWidth = 1;
    pen.strokeRect(area.left - 0.5, area.top - 0.5, area.right - area.left + 1, area.bottom - area.top + 1);
    if (this.axes) {
      pen.font = "12.5px system-ui, sans-serif";
      pen.textAlign = "center";
      const [low, high] = this.x.map((v) => this.scale(v));
      for (const tick of this.ticks ? niceTicks(low, high, this.width / 80) : []) {
        if (this.logX && tick !== Math.round(tick)) continue;
        const at = this.logX ? 10 ** tick : tick;
        pen.fillText(short(at), this.px(at), area.bottom + 15);
      }
      pen.fillText(this.xLabel, (area.left + area.right) / 2, area.bottom + 32);
      pen.textAlign = "right";
      for (const tick of niceTicks(...this.y, this.height / 50)) pen.fillText(
        short(tick),
        area.left - 5,
        this.py(tick) + 4,
      );
      pen.translate(11, (area.top + area.bottom) / 2);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = "center";
      pen.fillText(this.yLabel, 0, 0);
    }
    pen.restore();
  }

  clipped(paint) {
    const { pen, area } = this;
    pen.save();
    pen.beginPath();
    pen.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
    pen.clip();
    paint(pen);
    pen.restore();
  }

  line(xs, ys, { colour = "ink", width = 2, dash = [], alpha = 1 } = {}) {
    this.clipped((pen) => {
      pen.strokeStyle = this.colours[colour];
      pen.lineWidth = width;
      pen.globalAlpha = alpha;
      pen.setLineDash(dash);
      pen.beginPath();
      for (let i = 0; i < xs.length; i++) pen.lineTo(this.px(xs[i]), this.py(ys[i]));
      pen.stroke();
    });
  }

  // A circle for one class and a square for the other, so that no one has to tell colours apart.
  mark(x, y, { colour = "ink", square = false, size = 5, hollow = false, ring = 0 } = {}) {
    const { pen } = this;
    const [cx, cy] = [this.px(x), this.py(y)];
    const shape = (r) => {
      pen.beginPath();
      if (square) pen.rect(cx - r * 0.9, cy - r * 0.9, 1.8 * r, 1.8 * r);
      else pen.arc(cx, cy, r, 0, 7);
    };
    shape(size);
    pen.fillStyle = hollow ? this.colours.ground : this.colours[colour];
    pen.strokeStyle = hollow ? this.colours[colour] : this.colours.ground;
    pen.lineWidth = hollow ? 1.6 : 1;
    pen.fill();
    pen.stroke();
    if (ring) {
      pen.beginPath();
      pen.arc(cx, cy, 1.75 * size, 0, 7);
      pen.strokeStyle = this.colours.ink;
      pen.lineWidth = ring;
      pen.stroke();
    }
  }

  bar(x, from, to, { colour = "minus", width = 6 } = {}) {
    this.pen.fillStyle = this.colours[colour];
    this.pen.fillRect(
      this.px(x) - width / 2,
      Math.min(this.py(from), this.py(to)),
      width,
      Math.abs(this.py(to) - this.py(from)),
    );
  }

  text(x, y, words, { colour = "ink", align = "left", size = 12, dx = 0, dy = 0 } = {}) {
    this.pen.font = `${size}px system-ui, sans-serif`;
    this.pen.textAlign = align;
    this.pen.lineWidth = 3;
    this.pen.strokeStyle = this.colours.ground; // a halo, to be read on any ground
    this.pen.strokeText(words, this.px(x) + dx, this.py(y) + dy);
    this.pen.fillStyle = this.colours[colour];
    this.pen.fillText(words, this.px(x) + dx, this.py(y) + dy);
  }

  grid(n) {
    return { xs: linspace(...this.x, n), ys: linspace(...this.y, n) };
  }

  // Values on grid(n), painted by their sign: the more of `full` they reach, the stronger.
  regions(values, n, { full = 1, below = "minus", above = "plus", smooth = true } = {}) {
    this.tile ??= document.createElement("canvas");
    this.tile.width = this.tile.height = n;
    const pen = this.tile.getContext("2d");
    const image = pen.createImageData(n, n);
    const [low, high] = [rgb(this.colours[below]), rgb(this.colours[above])];
    for (let row = 0; row < n; row++) {
      for (let column = 0; column < n; column++) {
        const value = values[row * n + column];
        const at = 4 * ((n - 1 - row) * n + column);
        const colour = value < 0 ? low : high;
        for (let c = 0; c < 3; c++) image.data[at + c] = colour[c];
        image.data[at + 3] = value === 0 ? 0 : 35 + 95 * Math.min(1, Math.abs(value) / full);
      }
    }
    pen.putImageData(image, 0, 0);
    const { left, top, right, bottom } = this.area;
    this.pen.imageSmoothingEnabled = smooth;
    this.pen.drawImage(this.tile, left, top, right - left, bottom - top);
  }

  // The lines where values on grid(n) cross a level (marching squares).
  contour(values, n, level, { colour = "ink", width = 2, dotted = false } = {}) {
    const { xs, ys } = this.grid(n);
    this.clipped((pen) => {
      pen.strokeStyle = this.colours[colour];
      pen.lineWidth = width;
      pen.beginPath();
      for (let row = 0; row + 1 < n; row++) {
        for (let column = 0; column + 1 < n; column++) {
          const at = row * n + column;
          const corners = [
            [xs[column], ys[row], values[at] - level],
            [xs[column + 1], ys[row], values[at + 1] - level],
            [xs[column + 1], ys[row + 1], values[at + n + 1] - level],
            [xs[column], ys[row + 1], values[at + n] - level],
          ];
          const cuts = [];
          for (let i = 0; i < 4; i++) {
            const [x1, y1, v1] = corners[i];
            const [x2, y2, v2] = corners[(i + 1) % 4];
            if (v1 > 0 === v2 > 0) continue;
            const part = v1 / (v1 - v2);
            cuts.push([this.px(x1 + part * (x2 - x1)), this.py(y1 + part * (y2 - y1))]);
          }
          for (let i = 0; i + 1 < cuts.length; i += 2) {
            const [[x1, y1], [x2, y2]] = [cuts[i], cuts[i + 1]];
            const end = dotted ? 0.5 : 1; // half of each piece: dashes would start anew in every square
            pen.moveTo(x1, y1);
            pen.lineTo(x1 + end * (x2 - x1), y1 + end * (y2 - y1));
          }
        }
      }
      pen.stroke();
    });
  }
}
