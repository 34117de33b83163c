// GradientLife: one gradient on its way from the loss to its weight, and mistakes that move it.

import { SLIM, bandsOf, clamp, hatching, write } from "./bands.mjs";
import { attach, draw, labelled, make, makeChips, makeSelect, setOne } from "./dom.mjs";
import { ENDING, STARTING, makeDrawing, multiples, through, ticks, trace } from "./plot.mjs";
import { RULES, travel } from "./travel.mjs";
import { numberText, raised, spelled } from "./words.mjs";

const [TOP, ROW, RANGE] = [8, 34, { low: -64, high: 32 }]; // pixels, pixels, octaves
const LONG = { backward: "backward pass, float16", weight: "at the weight" };
const MARKS = { float32: "M-6,0a6,6 0 1,0 12,0a6,6 0 1,0 -12,0", float16: "M-7,6L0,-7L7,6z" };
const yOf = (row) => TOP + (row + 0.5) * ROW;

// What a step is beside that of float32.
function told(step, right) {
  if (step === null) return "The step is skipped, and the loss scale halves.";
  if (!Number.isFinite(step)) return "The weight becomes NaN.";
  if (step === 0) return "No step: the gradient has become 0.";
  const share = step / right;
  const many = (n) => Number(n.toPrecision(3)).toLocaleString("en-US");
  const much = Math.abs(share - 1) < 0.02 ? ""
    : share < 1 ? `1/${many(1 / share)} ` : `${many(share)} times `;
  return `The step is ${much}as long as in float32.`;
}

// The ways of a gradient and of one without mistakes, a row for each station.
function drawWays(way, ideal, limits, width) {
  const slim = width < SLIM;
  const [left, right, floor] = [slim ? 74 : 156, width - 8, TOP + way.length * ROW];
  const step = (right - left - 32) / (RANGE.high - RANGE.low);
  const placeOf = (octave) => left + 16 + (octave - RANGE.low) * step;
  // Zero has a place of its own at the left end, infinity and NaN at the right one.
  function xOf(value) {
    if (value === 0) return left + 6;
    if (value === null || !Number.isFinite(value)) return right - 6;
    return placeOf(clamp(Math.log2(value), RANGE.low, RANGE.high));
  }
  const lineOf = (stations) => through(stations.map(([, value], row) =>
    (value === null ? null : [xOf(value), yOf(row)])));
  const bands = bandsOf(limits, RANGE).flatMap(({ name, from, to }) => {
    const x = placeOf(from);
    const box = { x, y: yOf(2) - 13, width: placeOf(to) - x, height: 26 };
    return [draw(`rect.band.${name}`, { ...box }), ...hatching(name, box)];
  });
  const axis = draw("g.axis", ...bands,
    ...way.map((_, row) => trace("rule", `M${left},${yOf(row)}H${right}`)),
    ...ticks(floor, multiples(step < 4 ? 30 : 10, RANGE.low, RANGE.high).map((octave) =>
      [placeOf(octave), raised(octave)])),
    trace("", `M${left},${floor}H${right}`), write(left + 6, floor + 17, "0"),
    write(right - 3, floor + 17, "∞"));
  const marks = way.flatMap(([station, value], row) => {
    const [x, y] = [xOf(value), yOf(row)];
    const dtype = station === "backward" ? "float16" : "float32";
    const end = x > right - 60;
    const mark = draw(`path.mark.${dtype}`, { d: MARKS[dtype],
      transform: `translate(${x.toFixed(1)},${y})` });
    return [write(left - 10, y + 4, slim ? station : LONG[station] ?? station, ENDING),
      ...(value === null ? [] : [mark]),
      write(x + (end ? -9 : 9), y - 8, value === null ? "skipped" : numberText(value),
        { class: "value", ...(end ? ENDING : STARTING) })];
  });
  return [axis, trace("should", lineOf(ideal)), trace("does", lineOf(way)), ...marks];
}

function buildLife({ limits, size, mistakes }) {
  const state = { size, scale: 15, rule: "SGD", made: [] };
  const names = Object.keys(mistakes);
  const drawing = makeDrawing("life", state, look);
  const dials = { size: drawing.dial("size", "gradient", -40, 4),
    scale: drawing.dial("scale", "loss scale", 0, 24) };
  const row = makeChips("mistakes", names.map((name) => [[mistakes[name]], () => drawing.set({
    made: names.filter((one) => state.made.includes(one) !== (one === name)) })]));
  const rule = makeSelect(Object.keys(RULES).map((name) => [name, name]), state.rule,
    (name) => drawing.set({ rule: name }));
  const element = make("div.explorer", dials.size.element, dials.scale.element,
    make("div.options", labelled("update rule", rule),
      make("span.note", "mistakes"), row.element), drawing.element,
    make("p.note", "● float32 · ▲ float16 · broad line: the way without mistakes"),
    drawing.sentence, drawing.spoken);

  function look(width) {
    const { made, rule: chosen } = state;
    const [gradient, scale] = [1.3 * 2 ** state.size, 2 ** state.scale];
    const way = travel(gradient, scale, made, chosen, limits);
    const ideal = travel(gradient, scale, [], chosen, limits);
    for (const [key, dial] of Object.entries(dials)) {
      dial.show(raised(state[key]), spelled(state[key]));
    }
    row.chips.forEach((chip, index) =>
      setOne(chip, "aria-pressed", made.includes(names[index])));
    const words = told(way.at(-1)[1], RULES[chosen](Math.min(Math.fround(gradient), 1)));
    const stations = way.map(([station, value]) =>
      `${station} ${value === null ? "none" : numberText(value)}`);
    return { words, label: `${stations.join(", ")}. ${words}`, height: TOP + way.length * ROW + 26,
      nodes: drawWays(way, ideal, limits, width) };
  }
  return { element, fit: drawing.fit };
}

attach("gradientlife", CSS, buildLife);
