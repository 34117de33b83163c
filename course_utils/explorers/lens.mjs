// The lens: the number line around x, cut into the bins that round to one value each.

import {
  beyondName, binSentence, binsBetween, digitsBetween, isSame, nudged, onGrid, windowAround,
} from "./bins.mjs";
import { meant, readable } from "./digits.mjs";
import { draw, isCommand, make, setOne, setText } from "./dom.mjs";

const LENS = { lane: 26, main: 48, labels: 24, head: 100, top: 34, grain: 32 };
const SLIDE = 8; // pixels sideways, before a finger moves x: it may be about to scroll the page
const STRIDES = { // in grains
  ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -16, PageUp: 16 };
const between = (low, value, high) => Math.max(low, Math.min(high, value));

// A number in digits that tell it from the next one.
const tickText = (value, digits) =>
  readable(value, value < 0 ? 13 : 12, digits).replace("≈ ", "");

// The lens tab. on: {move(value)} when x is dragged or moved by keys.
// → {element, fit(width), update({x, selected, shown, mode})}, formats given as such.
export function makeLens(on) {
  const note = make("p.note");
  const lanes = draw("g");
  const line = draw("path.x-line", { "aria-hidden": "true" });
  const flag = draw("text.x-text", {
    "text-anchor": "middle", y: 12, "aria-hidden": "true" });
  const knob = draw("g.knob", {
    role: "slider", tabindex: "0", "aria-label": "x, the number to round",
    "aria-valuemin": 0, "aria-valuemax": 100 },
  draw("circle.halo", { r: 11 }), draw("circle", { r: 7 }));
  const svg = draw("svg.lens", { role: "group", "aria-label": "number line around x" },
    lanes, line, flag, knob);
  const element = make("div.lens-panel", svg, note);
  let view = null; // what update got
  let piece = null; // the window {low, high, unit, format}
  let held = false; // while x is dragged
  let width = 640;

  const left = LENS.head;
  const right = () => width - 10;
  const share = (value) => (value - piece.low) / (piece.high - piece.low);
  const placeOf = (value) => left + share(value) * (right() - left);
  const clip = (place) => between(left, place, right());
  const becomes = (format) => format.round(view.x, view.mode).value;

  function choosePiece() {
    const { x, selected } = view;
    if (piece?.format === selected) {
      const at = share(x);
      if (held || (at > 0.08 && at < 0.92)) return;
    }
    const { value: last, ulp } = selected.decode(selected.largest);
    const far = Math.abs(x) > last + 2 * ulp;
    piece = { ...windowAround(selected, far ? Math.sign(x) * last : x), format: selected };
  }

  // One lane: its bins in two tints, a tick per value, and labels where there is room.
  // → {lane, bin}: the lane, and the bin of x.
  function drawLane(format, top, height, isMain) {
    const y = top + height / 2 + 4;
    const box = { x: left, y: top, width: right() - left, height };
    const lane = draw("g", { class: isMain ? "lane main" : "lane", "data-lane": format.name },
      draw("text.lane-name", { x: 0, y }, format.name));
    const bins = binsBetween(format, view.mode, piece.low, piece.high);
    if (bins === null) {
      const text = "too dense to draw";
      lane.append(draw("rect.dense", { ...box }));
      const x = placeText(text.length * 3.4, (left + right()) / 2, left, right());
      if (x !== null) lane.append(draw("text.lane-note", { x, y }, text));
      return { lane };
    }
    const stored = becomes(format);
    const fills = { even: "", odd: "", beyond: "", here: "", ticks: "" };
    const visible = bins.map((bin) => ({ bin,
      from: clip(placeOf(bin.from)), to: clip(placeOf(bin.to)), tick: placeOf(bin.value),
      mine: isSame(bin, stored) && view.x >= bin.from && view.x <= bin.to }))
      .filter(({ from, to }) => from < to);
    for (const { bin, from, to, tick, mine } of visible) {
      const shape = `M${from.toFixed(1)},${top}H${to.toFixed(1)}v${height}H${from.toFixed(1)}z`;
      fills[beyondName(bin.value) ? "beyond" : bin.odd ? "odd" : "even"] += shape;
      if (mine && isMain) fills.here = shape;
      if (tick >= left && tick <= right()) {
        fills.ticks += `M${tick.toFixed(1)},${top + height}v${isMain ? -14 : -5}`;
      }
    }
    const fill = (kind) => draw(`path.${kind}`, { d: fills[kind] });
    lane.append(fill("even"), fill("odd"), fill("beyond"),
      draw("rect.lane-box", { ...box }), fill("here"), fill("ticks"));
    const digits = digitsBetween(format, piece);
    const taken = []; // of the line below the main lane
    visible.sort((one, other) => Number(other.mine) - Number(one.mine));
    for (const { bin, from, to, tick, mine } of visible) {
      const beyond = beyondName(bin.value);
      const text = beyond ?? tickText(bin.value, digits);
      const half = text.length * 3.8 + 3;
      let x = null;
      if (isMain && !beyond) {
        const place = between(left, tick, width - half);
        const free = taken.every((other) => Math.abs(other.place - place) > other.half + half + 4);
        if (!free || tick < left - 1 || tick > right() + 1) continue;
        taken.push({ place, half });
        x = place;
      } else {
        const middle = (from + to) / 2;
        if (to - from >= 2 * half + 4) x = placeText(half, middle, from, to);
        if (mine && !isMain) x ??= placeText(half, middle, left, right());
        if (x === null) continue;
      }
      const name = `bin-text${beyond ? " beyond-text" : ""}${mine ? " here-text" : ""}`;
      lane.append(draw("text", { x, y: isMain && !beyond ? top + height + 17 : y, class: name },
        text));
    }
    return { lane, bin: visible[0].mine ? visible[0].bin : null };
  }

  // The place of a text, `half` of it on each side, between from and to, beside the line of x;
  // null if it fits nowhere.
  function placeText(half, place, from, to) {
    const x = clip(placeOf(view.x));
    const at = between(left + half, place, width - half - 8);
    if (Math.abs(at - x) >= half + 5) return at;
    const nearby = [x + half + 6, x - half - 6]
      .filter((spot) => spot - half > from && spot + half < to)
      .sort((one, other) => Math.abs(one - at) - Math.abs(other - at));
    return nearby[0] ?? null;
  }

  function render() {
    const { x, selected, shown, mode } = view;
    svg.toggleAttribute("hidden", !Number.isFinite(x));
    if (!Number.isFinite(x)) {
      const what = Number.isNaN(x) ? "NaN is not" : "Infinity has no place";
      setText(note, `${what} on the number line: enter a number to see its neighbors.`);
      return;
    }
    choosePiece();
    const others = shown.filter((format) => format !== selected);
    const below = LENS.top + LENS.main + LENS.labels;
    const height = below + others.length * LENS.lane;
    setOne(svg, "viewBox", `0 0 ${width} ${height}`);
    setOne(svg, "height", height);
    const main = drawLane(selected, LENS.top, LENS.main, true);
    lanes.replaceChildren(main.lane, ...others.map((format, index) =>
      drawLane(format, below + index * LENS.lane, LENS.lane - 4, false).lane));
    const at = share(x);
    const place = clip(placeOf(x));
    line.setAttribute("d", `M${place},18V${LENS.top + LENS.main}`
      + (others.length ? `M${place},${below}V${height - 4}` : ""));
    knob.setAttribute("transform", `translate(${place},${LENS.top - 8})`);
    const digits = digitsBetween(selected, piece);
    const text = meant(x, 18, Math.max(9, digits + 2));
    const name = text.startsWith("≈") ? `x ${text}` : `x = ${text}`;
    setText(flag, at > 1 ? `${name} →` : at < 0 ? `← ${name}` : name);
    const half = flag.textContent.length * 4 + 2;
    flag.setAttribute("x", between(half, place, width - half));
    const sentence = main.bin ? `${binSentence(selected, mode, main.bin, digits)} ` : "";
    setText(note, `${sentence}Drag x, or focus it and press ← or →.`);
    // For assistive technology: the place in percent (ARIA wants decimals, and 6e-8 is none).
    setOne(knob, "aria-valuenow", Math.round(1000 * between(0, at, 1)) / 10);
    setOne(knob, "aria-valuetext",
      `${text}, in ${selected.name} ${readable(becomes(selected), 24)}`);
  }

  knob.addEventListener("keydown", (event) => {
    if (isCommand(event)) return;
    const ends = { Home: piece.low, End: piece.high };
    if (event.key in STRIDES) {
      on.move(nudged(view.selected, view.x, STRIDES[event.key], LENS.grain));
    } else if (event.key in ends) on.move(ends[event.key]);
    else return;
    event.preventDefault();
  });

  // Move x to the pointer, on a grid of grains.
  function follow({ clientX }) {
    const box = svg.getBoundingClientRect();
    const place = ((clientX - box.left) / box.width) * width;
    const portion = between(0, (place - left) / (right() - left), 1);
    const grain = piece.unit / LENS.grain;
    on.move(onGrid(piece.low + portion * (piece.high - piece.low) + grain / 2, grain));
  }
  // Where a finger began, until it slides. Sideways only: the browser takes the rest as scrolling.
  let start = null;
  svg.addEventListener("pointerdown", (event) => {
    const place = event.clientX - svg.getBoundingClientRect().left;
    if (event.button !== 0 || place < left - 12) return;
    event.preventDefault();
    held = true;
    svg.setPointerCapture(event.pointerId);
    knob.focus({ preventScroll: true });
    start = event.pointerType === "touch" ? event.clientX : null;
    if (start === null) follow(event);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!held || (start !== null && Math.abs(event.clientX - start) < SLIDE)) return;
    start = null;
    follow(event);
  });
  svg.addEventListener("pointerup", (event) => {
    if (start !== null) follow(event); // a tap
  });
  svg.addEventListener("lostpointercapture", () => {
    held = false;
    start = null;
    render();
  });

  function fit(next) {
    if (Math.round(next) === width) return;
    width = Math.round(next);
    if (view) render();
  }
  return { element, fit, update: (next) => { view = next; render(); } };
}
