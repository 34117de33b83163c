// The lens: the number line around x, cut into the bins that round to one value each.

import { binSentence, binsBetween, digitsBetween, nudged, onGrid, windowAround } from "./bins.mjs";
import { draw, isCommand, make, setOne, setText } from "./dom.mjs";
import {
  TWO, add, compare, div, dyadic, equal, magnitude, mul, nearNumber, negate, readable, sub,
} from "./values.mjs";

const LENS = { lane: 26, main: 48, labels: 24, head: 100, top: 34, grain: 32n };
const SLIDE = 8; // pixels sideways, before a finger moves x: it may be about to scroll the page
const between = (low, value, high) => Math.max(low, Math.min(high, value));

// The lens tab. on: {move(value)} when x is dragged or moved by keys.
// → {element, fit(width), update({x, selected, shown, mode})}, formats given as such.
export function makeLens(on) {
  const note = make("p", { class: "note" });
  const lanes = draw("g");
  const line = draw("path", { class: "x-line", "aria-hidden": "true" });
  const flag = draw("text", {
    class: "x-text", "text-anchor": "middle", y: 12, "aria-hidden": "true" });
  const knob = draw("g", {
    role: "slider", tabindex: "0", class: "knob", "aria-label": "x, the number to round",
    "aria-valuemin": 0, "aria-valuemax": 100 },
  draw("circle", { r: 11, class: "halo" }), draw("circle", { r: 7 }));
  const svg = draw("svg", { class: "lens", role: "group", "aria-label": "number line around x" },
    lanes, line, flag, knob);
  const element = make("div", { class: "lens-panel" }, svg, note);
  let view = null; // what update got
  let piece = null; // the window {low, high, unit, format}
  let held = false; // while x is dragged
  let width = 640;

  const left = LENS.head;
  const inside = () => width - left - 10;
  const right = () => left + inside();
  const share = (value) => nearNumber(div(sub(value, piece.low), sub(piece.high, piece.low)));
  const placeOf = (value) => left + share(value) * inside();
  const clip = (place) => between(left, place, right());
  const placeOfX = () => clip(placeOf(view.x));
  const becomes = (format) => format.round(view.x, view.mode).value;

  function choosePiece() {
    const { x, selected } = view;
    if (piece?.format === selected) {
      const at = share(x);
      if (held || (at > 0.08 && at < 0.92)) return;
    }
    const last = selected.decode(selected.largest);
    const far = compare(magnitude(x), add(last.value, mul(last.ulp, TWO))) > 0;
    const end = x.negative ? negate(last.value) : last.value;
    piece = { ...windowAround(selected, far ? end : x), format: selected };
  }

  // Whether what x became is the bin's.
  function isHere(bin, stored) {
    if (bin.value && stored.kind === "finite") return equal(bin.value, stored);
    const below = bin.from === null; // beyond the negative end
    return !bin.value && stored.kind !== "finite" && below === view.x.negative;
  }

  // One lane: its bins in two tints, a tick per value, and labels where there is room.
  // → {lane, bin}: the lane, and the bin of x in the main one.
  function drawLane(format, top, height, isMain) {
    const y = top + height / 2 + 4;
    const box = { x: left, y: top, width: inside(), height };
    const lane = draw("g", { class: isMain ? "lane main" : "lane", "data-lane": format.name },
      draw("text", { x: 0, y, class: "lane-name" }, format.name));
    const bins = binsBetween(format, view.mode, piece.low, piece.high);
    if (bins === null) {
      const note = "too dense to draw";
      const x = placeText(note, (left + right()) / 2, left, right());
      lane.append(draw("rect", { ...box, class: "dense" }),
        ...x === null ? [] : [draw("text", { x, y, class: "lane-note" }, note)]);
      return { lane };
    }
    const stored = becomes(format);
    const fills = { even: "", odd: "", beyond: "", here: "", ticks: "" };
    const labels = [];
    let here = null;
    for (const bin of bins) {
      const from = bin.from === null ? left : clip(placeOf(bin.from));
      const to = bin.to === null ? right() : clip(placeOf(bin.to));
      if (to <= from) continue;
      const shape = `M${from.toFixed(1)},${top}H${to.toFixed(1)}v${height}H${from.toFixed(1)}z`;
      const tick = bin.value ? placeOf(bin.value) : NaN;
      fills[!bin.value ? "beyond" : bin.odd ? "odd" : "even"] += shape;
      const mine = isHere(bin, stored);
      if (mine && isMain) [fills.here, here] = [shape, bin];
      if (tick >= left && tick <= right()) {
        fills.ticks += `M${tick.toFixed(1)},${top + height}v${isMain ? -14 : -5}`;
      }
      labels.push({ bin, from, to, tick, mine });
    }
    const fill = (kind) => draw("path", { class: kind, d: fills[kind] });
    lane.append(fill("even"), fill("odd"), fill("beyond"),
      draw("rect", { ...box, class: "lane-box" }), fill("here"), fill("ticks"));
    labels.sort((one, other) => Number(other.mine) - Number(one.mine));
    const digits = digitsBetween(format, piece);
    const taken = [];
    for (const { bin, from, to, tick, mine } of labels) {
      const text = bin.value ? tickText(bin.value, digits) : bin.text;
      const half = text.length * 3.8 + 3;
      let [x, line] = [null, y];
      if (isMain && bin.value) {
        x = between(left, tick, width - half);
        const free = taken.every((other) => Math.abs(other.x - x) > other.half + half + 4);
        if (!(tick >= left - 1 && tick <= right() + 1) || !free) continue;
        taken.push({ x, half });
        line = top + height + 17;
      } else {
        const middle = (from + to) / 2;
        if (to - from >= 2 * half + 4) x = placeText(text, middle, from, to, half);
        if (mine && !isMain) x ??= placeText(text, middle, left, right(), half);
        if (x === null) continue;
      }
      const name = `bin-text${bin.value ? "" : " beyond-text"}${mine ? " here-text" : ""}`;
      lane.append(draw("text", { x, y: line, class: name }, text));
    }
    return { lane, bin: here };
  }

  // A tick's number, in digits that tell it from the next tick's.
  const tickText = (value, digits) =>
    readable(value, value.negative ? 13 : 12, digits).replace("≈ ", "");

  // The place of a text between from and to, beside the line of x; null if it fits nowhere.
  function placeText(text, place, from, to, half = text.length * 3.4) {
    const x = placeOfX();
    let at = between(left + half, place, width - half - 8);
    if (Math.abs(at - x) < half + 5) {
      const [before, after] = [x - half - 6, x + half + 6];
      const fits = (spot) => spot - half > from && spot + half < to;
      if (fits(after) && (after - at <= at - before || !fits(before))) at = after;
      else at = fits(before) ? before : null;
    }
    return at;
  }

  function render() {
    const { x, selected, shown, mode } = view;
    svg.toggleAttribute("hidden", x.kind !== "finite");
    if (x.kind !== "finite") {
      const what = x.kind === "nan" ? "NaN is not" : "Infinity has no place";
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
    const place = placeOfX();
    line.setAttribute("d", `M${place},18V${LENS.top + LENS.main}`
      + (others.length ? `M${place},${below}V${height - 4}` : ""));
    knob.setAttribute("transform", `translate(${place},${LENS.top - 8})`);
    const digits = digitsBetween(selected, piece);
    const text = readable(x, 18, Math.max(9, digits + 2));
    const name = text.startsWith("≈") ? `x ${text}` : `x = ${text}`;
    const at = share(x);
    setText(flag, at > 1 ? `${name} →` : at < 0 ? `← ${name}` : name);
    const half = flag.textContent.length * 4 + 2;
    flag.setAttribute("x", between(half, place, width - half));
    const told = main.bin ? `${binSentence(selected, mode, main.bin, digits)} ` : "";
    setText(note, `${told}Drag x, or focus it and press ← or →.`);
    // For assistive technology: the place in percent (ARIA wants decimals, and 6e-8 is none).
    setOne(knob, "aria-valuenow", Math.round(1000 * between(0, at, 1)) / 10);
    setOne(knob, "aria-valuetext",
      `${text}, in ${selected.name} ${readable(becomes(selected), 24)}`);
  }

  knob.addEventListener("keydown", (event) => {
    if (isCommand(event)) return;
    const counts = {
      ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -16, PageUp: 16 };
    const ends = { Home: piece.low, End: piece.high };
    if (event.key in counts) {
      on.move(nudged(view.selected, view.x, counts[event.key], LENS.grain));
    } else if (event.key in ends) on.move(ends[event.key]);
    else return;
    event.preventDefault();
  });

  // Move x to the pointer, on a grid of grains.
  function follow(event) {
    const box = svg.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * width;
    const portion = dyadic(BigInt(Math.round(between(0, (place - left) / inside(), 1) * 2 ** 20)),
      -20);
    const there = add(piece.low, mul(sub(piece.high, piece.low), portion));
    const grain = div(piece.unit, dyadic(LENS.grain));
    on.move(onGrid(add(there, div(grain, TWO)), grain));
  }
  let touch = null; // where a finger began, until it slides
  const moved = (event) =>
    [event.clientX - touch.clientX, event.clientY - touch.clientY].map(Math.abs);
  svg.addEventListener("pointerdown", (event) => {
    const place = event.clientX - svg.getBoundingClientRect().left;
    if (event.button !== 0 || place < left - 12) return;
    event.preventDefault();
    held = true;
    svg.setPointerCapture(event.pointerId);
    knob.focus({ preventScroll: true });
    touch = event.pointerType === "touch" ? event : null;
    if (!touch) follow(event);
  });
  svg.addEventListener("pointerup", (event) => {
    if (held && touch && Math.hypot(...moved(event)) < SLIDE) follow(event); // a tap
  });
  svg.addEventListener("pointermove", (event) => {
    if (!held) return;
    const [dx, dy] = touch ? moved(event) : [SLIDE, 0];
    if (dx < SLIDE || dx <= dy) return;
    touch = null;
    follow(event);
  });
  svg.addEventListener("lostpointercapture", () => {
    held = false;
    render();
  });

  function fit(next) {
    if (Math.round(next) === width) return;
    width = Math.round(next);
    if (view) render();
  }
  return { element, fit, update: (next) => { view = next; render(); } };
}
