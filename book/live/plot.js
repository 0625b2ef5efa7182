// Curves on a canvas: axes that start at zero, round ticks, sharp on dense screens, in the colours of the page.
"use strict";
(function (live) {
  const MARGIN = { left: 26, right: 10, top: 10, bottom: 40 }; // on the left, beside the numbers
  const FONT_SIZE = 12;

  // About four round numbers from zero up to `largest`.
  function ticks(largest) {
    const rough = largest / 4;
    const unit = 10 ** Math.floor(Math.log10(rough));
    const step = unit * [1, 2, 2.5, 5, 10].find((factor) => factor * unit >= rough * (1 - 1e-9));
    const count = Math.floor(largest / step + 1e-9);
    return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(12)));
  }

  // A range that holds the values up to `cap`, with a little room above.
  function upTo(values, floor, cap = Infinity) {
    let largest = floor;
    for (const value of values) if (value > largest) largest = value;
    return 1.06 * Math.min(largest, Math.max(cap, floor));
  }

  // `axes`: x and y, each with a label and the largest value; `curves`: x, y, and the name of a style of the page.
  function draw(canvas, axes, curves) {
    const density = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (width === 0 || height === 0) return;
    const pixels = [Math.round(width * density), Math.round(height * density)];
    if (canvas.width !== pixels[0]) canvas.width = pixels[0];
    if (canvas.height !== pixels[1]) canvas.height = pixels[1];
    const context = canvas.getContext("2d");
    const style = getComputedStyle(canvas);
    const colour = (name) => style.getPropertyValue(`--live-${name}`).trim();
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = `${FONT_SIZE}px ${style.fontFamily}`;
    const numbers = Math.max(...ticks(axes.y.largest).map((value) => context.measureText(String(value)).width));
    const area = { right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
    area.left = MARGIN.left + Math.max(Math.ceil(numbers), 2 * FONT_SIZE);
    const toX = (value) => area.left + (value / axes.x.largest) * (area.right - area.left);
    const toY = (value) => area.bottom - (value / axes.y.largest) * (area.bottom - area.top);
    context.lineCap = "round";
    context.lineJoin = "round";
    drawAxes(context, axes, area, toX, toY, colour);
    context.save();
    context.beginPath();
    context.rect(area.left, area.top - 3, area.right - area.left + 4, area.bottom - area.top + 6);
    context.clip();
    for (const curve of curves) drawCurve(context, curve, toX, toY, colour);
    context.restore();
  }

  function drawAxes(context, axes, area, toX, toY, colour) {
    context.strokeStyle = context.fillStyle = colour("ink");
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(area.left, area.top);
    context.lineTo(area.left, area.bottom);
    context.lineTo(area.right, area.bottom);
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const value of ticks(axes.x.largest)) {
      context.moveTo(toX(value), area.bottom);
      context.lineTo(toX(value), area.bottom - 4);
      context.fillText(String(value), toX(value), area.bottom + 5);
    }
    context.fillText(axes.x.label, (area.left + area.right) / 2, area.bottom + 22);
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const value of ticks(axes.y.largest)) {
      context.moveTo(area.left, toY(value));
      context.lineTo(area.left + 4, toY(value));
      context.fillText(String(value), area.left - 5, toY(value));
    }
    context.stroke();
    context.save();
    context.translate(4, (area.top + area.bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.textBaseline = "top";
    context.fillText(axes.y.label, 0, 0);
    context.restore();
  }

  function drawCurve(context, { x, y, style }, toX, toY, colour) {
    context.strokeStyle = context.fillStyle = colour(style);
    context.lineWidth = { theory: 4.5, ghost: 1 }[style] || 1.8;
    context.beginPath();
    let last = null;
    for (let i = 0; i < x.length; i++) {
      if (!Number.isFinite(x[i]) || !Number.isFinite(y[i])) continue;
      const point = [toX(x[i]), toY(y[i])];
      if (last === null) context.moveTo(...point);
      else context.lineTo(...point);
      last = point;
    }
    context.stroke();
    if (last !== null && style === "run") {
      context.beginPath();
      context.arc(...last, 3.5, 0, 2 * Math.PI);
      context.fill();
    }
  }

  live.plot = { draw, ticks, upTo };
})((window.sgdnoise = window.sgdnoise || {}));
