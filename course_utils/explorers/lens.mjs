// The lens: the number line around x, cut into the bins that round to one value each.

import { binSentence, binsBetween, digitsBetween, placeOf, windowAround } from "./bins.mjs";
import { readable } from "./digits.mjs";
import { draw, isCommand, make, setAttributes, setOne, setText } from "./dom.mjs";
import { clamp, scaleLinear } from "./plot.mjs";

const [LEFT, TOP, MAIN, LANE] = [100, 34, 48, 26]; // pixels: the lanes' left end, top and heights
const BELOW = TOP + MAIN + 24; // behind the labels of the main lane
const GRAINS = 32; // in a unit: where x goes
const SLIDE = 8; // pixels sideways, before a finger moves x: it may be about to scroll the page
const STRIDES = { // in grains
  ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -16, PageUp: 16 };

// A number in digits that tell it from the next one.
const tickText = (value, digits) =>
  readable(value, value < 0 ? 13 : 12, digits).replace("≈ ", "");

// The lens, of the state that floatlab.mjs keeps. move(value) is called when x is dragged or moved
// by keys. → {element, render(width)}
export function makeLens(state, move) {
  const note = make("p.note");
  const lanes = draw("g");
  const line = draw("path.x-line");
  const flag = draw("text.x-text", { y: 12, "aria-hidden": "true" });
  const knob = draw("g.knob", {
    role: "slider", tabindex: "0", "aria-label": "x, the number to round",
    "aria-valuemin": 0, "aria-valuemax": 100 },
  draw("circle.halo", { r: 11 }), draw("circle", { r: 7 }));
  const svg = draw("svg.lens", { role: "group", "aria-label": "number line around x" },
    lanes, line, flag, knob);
  const element = make("div.lens-panel", svg, note);
  let piece = null; // the window {low, high, unit, format}
  let isHeld = false; // while x is dragged
  let width = 0;

  const right = () => width - 10;
  const share = (value) => (value - piece.low) / (piece.high - piece.low);
  const spotOf = (value) => LEFT + share(value) * (right() - LEFT);
  const clip = (spot) => clamp(spot, LEFT, right());

  // The window stays until x comes to its ends, or another format is selected.
  function choosePiece() {
    const { value: x, selected } = state;
    const at = piece?.format === selected ? share(x) : 0;
    if (at > 0.08 && at < 0.92) return;
    if (!isHeld) piece = { ...windowAround(selected, x), format: selected };
  }

  // The middle of a text, `half` of it on each side, between from and to, beside the line of x;
  // null if it fits nowhere.
  function fitText(half, wanted, from, to) {
    const x = clip(spotOf(state.value));
    const spot = clamp(wanted, LEFT + half, width - half - 8);
    if (Math.abs(spot - x) >= half + 5) return spot;
    const side = spot < x ? -1 : 1;
    const beside = [side, -side].map((one) => x + one * (half + 6));
    return beside.find((one) => one - half > from && one + half < to) ?? null;
  }

  // One lane: its bins in two tints, a tick per value, and labels where there is room.
  function makeLane(format, top, height) {
    const isMain = format === state.selected;
    const y = top + height / 2 + 4;
    const box = { x: LEFT, y: top, width: right() - LEFT, height };
    const lane = draw("g", { class: isMain ? "lane main" : "lane", "data-lane": format.name },
      draw("text.lane-name", { x: 0, y }, format.name));
    const bins = binsBetween(format, state, piece.low, piece.high);
    if (bins === null) {
      const text = "too dense to draw";
      lane.append(draw("rect.dense", box));
      const x = fitText(text.length * 3.4, (LEFT + right()) / 2, LEFT, right());
      if (x !== null) lane.append(draw("text.lane-note", { x, y }, text));
      return lane;
    }
    const own = placeOf(format, state, state.value);
    const isOwn = ({ place }) => place === own;
    const digits = digitsBetween(format, piece);
    const shapes = { even: "", odd: "", beyond: "", here: "", ticks: "" };
    const texts = [];
    const taken = []; // of the line below the main lane
    // The bin of x comes first, so that it has a label.
    for (const bin of [...bins.filter(isOwn), ...bins.filter((other) => !isOwn(other))]) {
      const [from, to] = [clip(spotOf(bin.from)), clip(spotOf(bin.to))];
      if (from === to) continue;
      const tick = spotOf(bin.value);
      const hasTick = !bin.beyond && tick === clip(tick);
      const shape = `M${from},${top}H${to}v${height}H${from}z`;
      shapes[bin.beyond ? "beyond" : bin.place % 2 ? "odd" : "even"] += shape;
      if (isMain && isOwn(bin)) shapes.here = shape;
      if (hasTick) shapes.ticks += `M${tick},${top + height}v${isMain ? -14 : -5}`;

      const text = bin.beyond ?? tickText(bin.value, digits);
      const half = text.length * 3.8 + 3;
      const name = `bin-text${bin.beyond ? " beyond-text" : ""}${isOwn(bin) ? " here-text" : ""}`;
      if (isMain && !bin.beyond) {
        const x = clamp(tick, LEFT, width - half);
        const isFree = taken.every((other) => Math.abs(other.x - x) > other.half + half + 4);
        if (!isFree || !hasTick) continue;
        taken.push({ x, half });
        texts.push(draw("text", { x, y: top + height + 17, class: name }, text));
      } else {
        const middle = (from + to) / 2;
        let x = to - from < 2 * half + 4 ? null : fitText(half, middle, from, to);
        if (isOwn(bin) && !isMain) x ??= fitText(half, middle, LEFT, right());
        if (x !== null) texts.push(draw("text", { x, y, class: name }, text));
      }
    }
    const fill = (kind) => draw(`path.${kind}`, { d: shapes[kind] });
    lane.append(fill("even"), fill("odd"), fill("beyond"), draw("rect.lane-box", box), fill("here"),
      fill("ticks"), ...texts);
    return lane;
  }

  function render(next = width) {
    width = next;
    const { value: x, typed, selected, shown } = state;
    svg.toggleAttribute("hidden", !Number.isFinite(x));
    if (!Number.isFinite(x)) {
      const what = Number.isNaN(x) ? "NaN is not" : "Infinity has no place";
      setText(note, `${what} on the number line: enter a number to see its neighbors.`);
      return;
    }
    choosePiece();
    const others = shown.filter((format) => format !== selected);
    const height = BELOW + others.length * LANE;
    setAttributes(svg, { viewBox: `0 0 ${width} ${height}`, height });
    lanes.replaceChildren(makeLane(selected, TOP, MAIN), ...others.map((format, index) =>
      makeLane(format, BELOW + index * LANE, LANE - 4)));
    const at = share(x);
    const spot = clip(spotOf(x));
    setOne(line, "d", `M${spot},18V${TOP + MAIN}`
      + (others.length ? `M${spot},${BELOW}V${height - 4}` : ""));
    setOne(knob, "transform", `translate(${spot},${TOP - 8})`);
    const digits = digitsBetween(selected, piece);
    const text = readable(x, 18, Math.max(9, digits + 2), typed.text);
    const name = text.startsWith("≈") ? `x ${text}` : `x = ${text}`;
    setText(flag, at > 1 ? `${name} →` : at < 0 ? `← ${name}` : name);
    const half = flag.textContent.length * 4 + 2;
    setOne(flag, "x", clamp(spot, half, width - half));
    setText(note, `${binSentence(selected, state, x, digits)} `
      + "Drag x, or focus it and press ← or →.");
    // For assistive technology: the place in percent (ARIA wants decimals, and 6e-8 is none).
    setOne(knob, "aria-valuenow", Math.round(1000 * clamp(at, 0, 1)) / 10);
    setOne(knob, "aria-valuetext",
      `${text}, in ${selected.name} ${readable(selected.round(x, state).value, 24)}`);
  }

  knob.addEventListener("keydown", (event) => {
    const ends = { Home: piece.low, End: piece.high };
    const stride = STRIDES[event.key];
    if (isCommand(event) || !(stride || event.key in ends)) return;
    const grain = piece.unit / GRAINS;
    const nearest = stride > 0 ? Math.floor : Math.ceil; // grain, if x is between two
    move(ends[event.key] ?? (nearest(state.value / grain) + stride) * grain);
    event.preventDefault();
  });

  // Move x to the pointer, on a grain.
  function follow({ clientX }) {
    const spot = clip(clientX - svg.getBoundingClientRect().left);
    const grain = piece.unit / GRAINS;
    const x = scaleLinear(LEFT, right(), piece.low, piece.high)(spot);
    move(Math.floor(x / grain + 0.5) * grain);
  }
  // Where a finger began, until it slides. Sideways only: the browser takes the rest as scrolling.
  let start = null;
  svg.addEventListener("pointerdown", (event) => {
    const spot = event.clientX - svg.getBoundingClientRect().left;
    if (event.button !== 0 || spot < LEFT - 12) return;
    event.preventDefault();
    isHeld = true;
    svg.setPointerCapture(event.pointerId);
    knob.focus({ preventScroll: true });
    start = event.pointerType === "touch" ? event.clientX : null;
    if (start === null) follow(event);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!isHeld || (start !== null && Math.abs(event.clientX - start) < SLIDE)) return;
    start = null;
    follow(event);
  });
  svg.addEventListener("pointerup", (event) => {
    if (start !== null) follow(event); // a tap
  });
  svg.addEventListener("lostpointercapture", () => {
    isHeld = false;
    start = null;
    render();
  });

  return { element, render };
}
