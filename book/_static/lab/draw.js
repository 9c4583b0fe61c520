// Drawing on a canvas in the units of the data, in the colours of the page. No library is used, because a page loads at
// most 70 kB for its figures, libraries included.

import { linspace } from "./kernels.js";

// What is drawn, by its role: lab.css gives each a colour, as kernelcourse.plots.ROLE does for the static figures.
const ROLES = [
  ...["ink", "soft", "ground", "bad", "fill", "minus", "plus", "primal", "dual", "truth", "fit"],
  ...["training", "held-out", "hinge", "boundary", "margin", "up", "down"],
];

// The colours that lab.css gives to this element, in light or dark.
export function coloursOf(element) {
  const style = getComputedStyle(element);
  return Object.fromEntries(ROLES.map((name) => [name, style.getPropertyValue(`--lab-${name}`).trim()]));
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

// Red, green and blue of a colour. A canvas spells every opaque colour as #rrggbb, even one that a minifier shortened.
const speller = typeof document === "undefined" ? {} : document.createElement("canvas").getContext("2d");
const rgb = (colour) => {
  speller.fillStyle = colour;
  return [1, 3, 5].map((at) => parseInt(speller.fillStyle.slice(at, at + 2), 16));
};

export class Plot {
  // `x` and `y` are the ranges; `aspect` is height over width, `narrow` the same on a phone, `most` the largest height;
  // `axes: false` leaves the whole area to the picture; `powers` labels both axes with powers of ten.
  constructor(box, { label, x, y, aspect = 0.6, narrow = aspect, most = 320, powers = false, ...others }) {
    const { xLabel = "", yLabel = "", axes = true, ticks = true, logX = false } = others;
    Object.assign(this, { box, x, y, aspect, narrow, most, powers, xLabel, yLabel, axes, ticks, logX });
    this.canvas = box.appendChild(document.createElement("canvas"));
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", label);
    this.pen = this.canvas.getContext("2d");
    this.band = 0; // the height of the legend
    this.resize();
  }

  resize() {
    const width = this.box.clientWidth || 300;
    const small = (this.box.closest(".lab-stage")?.clientWidth ?? 600) < 500;
    const height = this.band + Math.min(this.most, Math.round(width * (small ? this.narrow : this.aspect)));
    const ratio = window.devicePixelRatio || 1;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const inset = this.axes ? { left: 52, right: 15, top: 8, bottom: 36 } : { left: 1, right: 1, top: 1, bottom: 1 };
    this.area = { left: inset.left, top: inset.top + this.band, right: width - inset.right, bottom: height - inset.bottom };
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
        if ((this.logX || this.powers) && tick !== Math.round(tick)) continue;
        const at = this.logX ? 10 ** tick : tick;
        pen.fillText(short(this.powers ? 10 ** tick : at), this.px(at), area.bottom + 15);
      }
      pen.fillText(this.xLabel, (area.left + area.right) / 2, area.bottom + 31);
      pen.textAlign = "right";
      for (const tick of niceTicks(...this.y, this.height / 50)) {
        if (this.powers && tick !== Math.round(tick)) continue;
        pen.fillText(short(this.powers ? 10 ** tick : tick), area.left - 5, this.py(tick) + 4);
      }
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

  // A circle for one class and a square for the other, so that they also differ without colour.
  // `ring` is the width of a circle around the mark, and `dot` puts a dot into it.
  mark(x, y, style = {}) {
    this.markAt(this.px(x), this.py(y), style);
  }

  markAt(cx, cy, { colour = "ink", square = false, size = 5, hollow = false, ring = 0, dot = false, alpha = 1 } = {}) {
    const { pen } = this;
    const shape = (r) => {
      pen.beginPath();
      if (square) pen.rect(cx - r * 0.9, cy - r * 0.9, 1.8 * r, 1.8 * r);
      else pen.arc(cx, cy, r, 0, 7);
    };
    shape(size);
    pen.fillStyle = hollow ? this.colours.ground : this.colours[colour];
    pen.strokeStyle = hollow ? this.colours[colour] : this.colours.ground;
    pen.lineWidth = hollow ? 1.6 : 1;
    pen.globalAlpha = alpha;
    pen.fill();
    pen.stroke();
    pen.globalAlpha = 1;
    if (dot) {
      pen.beginPath();
      pen.arc(cx, cy, 0.4 * size, 0, 7);
      pen.fillStyle = this.colours.ground;
      pen.fill();
    }
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
    this.pen.strokeStyle = this.colours.ground; // a halo, so that text is readable on any background
    this.pen.strokeText(words, this.px(x) + dx, this.py(y) + dy);
    this.pen.fillStyle = this.colours[colour];
    this.pen.fillText(words, this.px(x) + dx, this.py(y) + dy);
  }

  // The legend, in rows above the picture: [[name, style], ...] with the style of a line, a mark, a bar
  // or a cross. The picture makes room for them, so this comes first.
  legend(entries) {
    const { pen } = this;
    const font = "12px system-ui, sans-serif";
    pen.font = font;
    const rows = [[]];
    let used = 0;
    for (const [name, style] of entries) {
      const width = pen.measureText(name).width + 46;
      if (used + width > this.width + 10 && used > 0) {
        rows.push([]);
        used = 0;
      }
      rows.at(-1).push([name, style, used]);
      used += width;
    }
    const band = 17 * rows.length + 2;
    if (band !== this.band) {
      this.band = band;
      this.resize();
    }
    pen.save();
    pen.font = font;
    pen.textAlign = "left";
    rows.forEach((row, i) => {
      const y = 17 * (i + 0.5) + 1;
      for (const [name, style, left] of row) {
        const colour = this.colours[style.colour ?? "ink"];
        if (style.line) {
          pen.strokeStyle = colour;
          pen.lineWidth = Math.min(4, style.width ?? 2);
          pen.setLineDash(style.dash ?? []);
          pen.beginPath();
          pen.moveTo(left + 1, y);
          pen.lineTo(left + 25, y);
          pen.stroke();
          pen.setLineDash([]);
        }
        pen.fillStyle = colour;
        if (style.bar) pen.fillRect(left + 10, y - 6, 6, 12);
        if (style.sign) {
          pen.font = "16px system-ui, sans-serif";
          pen.textAlign = "center";
          pen.fillText(style.sign, left + 13, y + 5);
          pen.textAlign = "left";
          pen.font = font;
        }
        if (style.mark) this.markAt(left + 13, y, { ...style, size: 4.3 });
        pen.fillStyle = this.colours.ink;
        pen.fillText(name, left + 30, y + 4);
      }
    });
    pen.restore();
  }

  // Values on columns times rows, row 0 below, as shades from white to dark: dark means large, on a dark page too. What is
  // negative is shaded in vermillion. If `written`, each value is written in its cell.
  shades(values, columns, rows, { full = 1, smooth = false, written = false } = {}) {
    this.tile ??= document.createElement("canvas");
    this.tile.width = columns;
    this.tile.height = rows;
    const pen = this.tile.getContext("2d");
    const image = pen.createImageData(columns, rows);
    const strength = (value) => Math.min(1, Math.abs(value) / full);
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const value = values[row * columns + column];
        const dark = value < 0 ? [122, 40, 0] : [0, 48, 92];
        const at = 4 * ((rows - 1 - row) * columns + column);
        for (let c = 0; c < 3; c++) image.data[at + c] = 255 - strength(value) * (255 - dark[c]);
        image.data[at + 3] = Number.isFinite(value) ? 255 : 0;
      }
    }
    pen.putImageData(image, 0, 0);
    const { left, top, right, bottom } = this.area;
    this.pen.imageSmoothingEnabled = smooth;
    this.pen.globalAlpha = rgb(this.colours.ground)[0] < 128 ? 0.8 : 1; // white would glare on a dark page
    this.pen.drawImage(this.tile, left, top, right - left, bottom - top);
    this.pen.globalAlpha = 1;
    if (!written) return;
    const [wide, high] = [(right - left) / columns, (bottom - top) / rows];
    this.pen.textAlign = "center";
    this.pen.font = `${Math.min(13, 0.36 * wide)}px system-ui, sans-serif`;
    values.forEach((value, at) => {
      this.pen.fillStyle = strength(value) > 0.45 ? "#ffffff" : "#1a1a1a";
      const size = Math.abs(value);
      const words = size < 0.005 ? "0" : minusSign(value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0));
      const [x, y] = [left + wide * ((at % columns) + 0.5), bottom - high * (Math.floor(at / columns) + 0.5)];
      this.pen.fillText(words.length > 5 ? value.toExponential(0).replace("e+", "e") : words, x, y + 4);
    });
  }

  grid(n) {
    return { xs: linspace(...this.x, n), ys: linspace(...this.y, n) };
  }

  // Values on grid(n), painted by their sign: the closer they are to `full`, the stronger.
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
