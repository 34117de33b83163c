// TradeOff: networks by size and accuracy, with their latency as the size of the mark.

import { SLIM, write } from "./bands.mjs";
import { attach, draw, labelled, make, makeSelect, makeTable } from "./dom.mjs";
import { ENDING, STARTING, makeDrawing, multiples, rules, ticks, trace } from "./plot.mjs";
import { numberText } from "./words.mjs";

const [TOP, FLOOR] = [14, 244]; // pixels
const STEPS = 100; // of a slider
const TIE = 0.01; // sizes that differ by a smaller share are the same
const SIZES = { file_kb: "the file", packed_kb: "the file, packed" };
const KINDS = ["float32", "bfloat16", "float16", "dynamic", "int8"]; // of the weights, in the name
const kindOf = ({ name }) => KINDS.find((kind) => name.includes(kind)) ?? "";
const kB = (value) => `${numberText(value)} kB`;
const ms = (value) => `${numberText(value, 2)} ms`;
const right = (value) => `${(100 * value).toFixed(1)} %`;
const limitText = (limit, unit) => (limit === Infinity ? "no limit" : `≤ ${unit(limit)}`);

// The points that no other one beats, ties aside, the smallest first; as in tradeoff.py.
function frontOf(points, size, error) {
  const beats = (one, other) => {
    const smaller = other[size] > one[size] * (1 + TIE);
    const larger = one[size] > other[size] * (1 + TIE);
    const better = one.accuracy - other.accuracy > error;
    const worse = other.accuracy - one.accuracy > error;
    return (smaller || better) && !(larger || worse);
  };
  return points.filter((point) => !points.some((other) => beats(other, point)))
    .sort((a, b) => a[size] - b[size] || b.accuracy - a.accuracy);
}

// A scale of equal ratios, a little beyond both ends of what points have of something: where a
// value is on it, from 0 to 1, and the limit that a slider's step sets.
function scaleOf(points, key) {
  const logs = points.map((point) => Math.log(point[key]));
  const low = Math.min(...logs) + Math.log(0.9);
  const whole = Math.max(...logs) + Math.log(1.1) - low;
  return { at: (value) => (Math.log(value) - low) / whole,
    limit: (step) => (step === STEPS ? Infinity : Math.exp(low + whole * (step / STEPS))) };
}

// A circle, or for a pruned network a triangle.
function shapeOf({ name }, radius) {
  const r = radius * (name.includes("pruned") ? 1.3 : 1);
  return name.includes("pruned") ? `M0,${-r}L${0.87 * r},${0.5 * r}H${-0.87 * r}z`
    : `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`;
}

function buildTradeOff({ points, error }) {
  const state = { size: "file_kb", kb: STEPS, ms: STEPS };
  const accuracies = points.map(({ accuracy }) => accuracy);
  const [least, best] = [Math.min(...accuracies), Math.max(...accuracies)];
  const room = Math.max(0.15 * (best - least), error, 0.002);
  const [low, high] = [least - room, best + room];
  const gap = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2].find((step) => (high - low) / step < 7);
  const yOf = (accuracy) => TOP + (FLOOR - TOP) * ((high - accuracy) / (high - low));
  const times = scaleOf(points, "ms");

  const drawing = makeDrawing("plane", state, look);
  const limits = { kb: drawing.dial("kb", "size", 0, STEPS, "at most, size"),
    ms: drawing.dial("ms", "latency", 0, STEPS, "at most, latency") };
  const choice = makeSelect(Object.entries(SIZES), state.size, (size) => drawing.set({ size }));
  const { table, fill } = makeTable("compact", ["network", "size", "right", "latency"],
    "What remains, the most accurate first; * no other one beats it, ties aside");
  const element = make("div.explorer",
    make("div.options", labelled("size of", choice)),
    limits.kb.element, limits.ms.element, drawing.sentence, drawing.element,
    make("p.note", "Mark: ● all weights, ▲ pruned; the larger, the slower. ",
      ...KINDS.filter((kind) => points.some((point) => kindOf(point) === kind))
        .flatMap((kind) => [make(`b.word.${kind}`, kind), " "]),
      "Line: the front. Band: one standard error below the best. What differs by less than "
        + "the band in accuracy, or by less than 1 % in size, is a tie."),
    make("div.scroller", table), drawing.spoken);

  // The names of points that find room: beside their marks, those of the front first.
  function drawNames(left, front, xOf, edges) {
    const taken = []; // where names stand
    return [...front, ...left.filter((point) => !front.includes(point))].flatMap((point) => {
      const [x, y, long] = [xOf(point), yOf(point.accuracy), 13 + 7 * point.name.length];
      const before = x + long > edges.right;
      const [from, to] = before ? [x - long, x] : [x, x + long];
      if (from < edges.left || taken.some((other) =>
        Math.abs(other.y - y) < 14 && from < other.to && other.from < to)) return [];
      taken.push({ y, from, to });
      return [write(x + (before ? -13 : 13), y + 4, point.name, { ...(before ? ENDING : STARTING),
        class: front.includes(point) ? "label best" : "label" })];
    });
  }

  function look(width) {
    const { size } = state;
    const sizes = scaleOf(points, size);
    const [mostSize, mostTime] = [sizes.limit(state.kb), times.limit(state.ms)];
    const left = points.filter((one) => one[size] <= mostSize && one.ms <= mostTime);
    const front = frontOf(left, size, error);
    const order = [...left].sort((a, b) => b.accuracy - a.accuracy || a.ms - b.ms);
    const words = left.length ? `${left.length} of ${points.length} remain. Most accurate: `
      + `${order[0].name}, ${right(order[0].accuracy)}, ${kB(order[0][size])}, ${ms(order[0].ms)}.`
      : "Nothing remains: move a limit.";
    limits.kb.show(limitText(mostSize, kB));
    limits.ms.show(limitText(mostTime, ms));
    fill(order.map((point) => [[point.name + (front.includes(point) ? " *" : "")],
      kB(point[size]), right(point.accuracy), ms(point.ms)]));

    const edges = { left: width < SLIM ? 50 : 56, right: width - 14 };
    const placeOf = (kb) => edges.left + (edges.right - edges.left) * sizes.at(kb);
    const xOf = (point) => placeOf(point[size]);
    const stairs = front.filter((point, index) => // of points that tie, the smallest
      front.slice(0, index).every((one) => one.accuracy < point.accuracy - error))
      .map((point, index) => (index ? `H${xOf(point)}V${yOf(point.accuracy)}`
        : `M${xOf(point)},${yOf(point.accuracy)}`));
    const marks = points.map((point) => draw("path", {
      class: `mark ${kindOf(point)} ${left.includes(point) ? "" : "out"}`,
      d: shapeOf(point, 4 + 7 * times.at(point.ms)),
      transform: `translate(${xOf(point).toFixed(1)},${yOf(point.accuracy).toFixed(1)})` }));
    return { words, height: FLOOR + 40,
      label: `Accuracy over ${SIZES[size]}. ${words} On the front: `
        + `${front.map(({ name }) => name).join("; ") || "none"}.`,
      nodes: [
        draw("rect.error", { x: edges.left, y: yOf(best), width: edges.right - edges.left,
          height: yOf(best - error) - yOf(best) }),
        draw("g.axis",
          ...rules(edges.left, edges.right, multiples(gap, low, high).map((value) =>
            [yOf(value), right(value)])),
          ...ticks(FLOOR, [10, 20, 50, 100, 200, 500, 1000, 2000, 5000]
            .map((value) => [placeOf(value), value])
            .filter(([x]) => x >= edges.left && x <= edges.right)),
          write(edges.right, FLOOR + 33, "kB", ENDING)),
        ...(mostSize === Infinity ? [] : [trace("wall", `M${placeOf(mostSize)},${TOP}V${FLOOR}`)]),
        trace("front", stairs.join("")), ...marks,
        ...drawNames(left, front, xOf, edges)] };
  }
  return { element, fit: drawing.fit };
}

attach("tradeoff", CSS, buildTradeOff);
