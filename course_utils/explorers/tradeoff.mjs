// TradeOff: networks by size and accuracy, with their latency as the size of the mark.

import { SLIM, makeSlider, write } from "./bands.mjs";
import {
  attach, draw, labelled, make, makeSelect, makeSpeaker, makeTable, setAttributes, setOne,
  setText,
} from "./dom.mjs";
import { numberText } from "./words.mjs";

const [TOP, HIGH, BELOW] = [14, 230, 40]; // pixels
const STEPS = 100; // of a slider
const TIE = 0.01; // sizes that differ by a smaller share are the same
const SIZES = { file_kb: "the file", packed_kb: "the file, packed" };
const kB = (value) => `${numberText(value)} kB`;
const ms = (value) => `${numberText(value, 2)} ms`;
const right = (value) => `${(100 * value).toFixed(1)} %`;

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

// A slider's steps on a scale of equal ratios, a little beyond both ends.
function scaleOf(values) {
  const [low, high] = [Math.log(Math.min(...values) * 0.9), Math.log(Math.max(...values) * 1.1)];
  return { at: (value) => (Math.log(value) - low) / (high - low),
    value: (step) => Math.exp(low + (high - low) * (step / STEPS)) };
}

const KINDS = ["float32", "bfloat16", "float16", "dynamic", "int8"]; // of the weights, in the name
const kindOf = ({ name }) => KINDS.find((kind) => name.includes(kind)) ?? "";

// A circle, or for a pruned network a triangle, which is larger the slower the network is.
function shapeOf({ name }, radius) {
  const r = radius * (name.includes("pruned") ? 1.3 : 1);
  return name.includes("pruned") ? `M0,${-r}L${0.87 * r},${0.5 * r}H${-0.87 * r}z`
    : `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`;
}

function buildTradeOff({ points, error }) {
  const state = { size: "file_kb", kb: STEPS, ms: STEPS };
  const times = scaleOf(points.map((point) => point.ms));
  const scales = Object.fromEntries(Object.keys(SIZES).map((size) =>
    [size, scaleOf(points.map((point) => point[size]))]));
  const [least, best] = ["min", "max"].map((end) =>
    Math[end](...points.map(({ accuracy }) => accuracy)));
  const room = Math.max(0.15 * (best - least), error, 0.002);
  const [low, high] = [least - room, best + room];
  const speaker = makeSpeaker();
  let [plot, drawn] = [{}, []];
  const set = (change) => refresh(Object.assign(state, change));
  const limitOf = (key) => (state[key] === STEPS ? Infinity
    : (key === "ms" ? times : scales[state.size]).value(state[key]));

  function makeLimit(name, key, unit) {
    const shown = make("output", { class: "limit" });
    const slider = makeSlider(`at most, ${name}`, 0, STEPS, (step) => set({ [key]: step }));
    const show = () => {
      const text = limitOf(key) === Infinity ? "no limit" : `≤ ${unit(limitOf(key))}`;
      slider.set(state[key], text);
      setText(shown, text);
    };
    return { element: make("div", { class: "drag" }, name, shown, slider.element), show };
  }
  const limits = [makeLimit("size", "kb", kB), makeLimit("latency", "ms", ms)];
  const choice = makeSelect(Object.entries(SIZES), state.size, (size) => set({ size }));
  const sentence = make("p", { class: "sentence" });
  const svg = draw("svg", { class: "plane", role: "img" });
  const { table, body, caption } = makeTable("left", ["network", "size", "right", "latency"]);
  setText(caption, "What remains, the most accurate first; * no other one beats it, ties aside");
  const element = make("div", { class: "explorer tradeoff" },
    make("div", { class: "options" }, labelled("size of", choice)),
    ...limits.map((one) => one.element), sentence, svg,
    make("p", { class: "note" }, "Mark: ● all weights, ▲ pruned; the larger, the slower. ",
      ...KINDS.filter((kind) => points.some((point) => kindOf(point) === kind))
        .flatMap((kind) => [make("b", { class: `word ${kind}` }, kind), " "]),
      "Line: the front. Band: one standard error below the best. What differs by less than "
        + "the band in accuracy, or by less than 1 % in size, is a tie."),
    make("div", { class: "scroller" }, table), speaker.element);

  const yOf = (accuracy) => TOP + HIGH * ((high - accuracy) / (high - low));
  const placeOf = (kb) => plot.left + (plot.right - plot.left) * scales[state.size].at(kb);
  const xOf = (point) => placeOf(point[state.size]);

  function refresh() {
    const { size } = state;
    const left = points.filter((one) => one[size] <= limitOf("kb") && one.ms <= limitOf("ms"));
    const front = frontOf(left, size, error);
    const order = [...left].sort((a, b) => b.accuracy - a.accuracy || a.ms - b.ms);
    const words = left.length ? `${left.length} of ${points.length} remain. Most accurate: `
      + `${order[0].name}, ${right(order[0].accuracy)}, ${kB(order[0][size])}, ${ms(order[0].ms)}.`
      : "Nothing remains: move a limit.";
    for (const one of limits) one.show();
    setText(sentence, words);
    speaker.say(words);
    setOne(svg, "aria-label", `Accuracy over ${SIZES[size]}. ${words} On the front: `
      + `${front.map(({ name }) => name).join("; ") || "none"}.`);
    body.replaceChildren(...order.map((point) => make("tr", {},
      make("th", { scope: "row" }, point.name + (front.includes(point) ? " *" : "")),
      ...[kB(point[size]), right(point.accuracy), ms(point.ms)].map((text) =>
        make("td", {}, text)))));
    if (plot.width) place(left, front);
  }

  function place(left, front) {
    const stairs = front.filter((point, index) => // of points that tie, the smallest
      front.slice(0, index).every((one) => one.accuracy < point.accuracy - error));
    const path = stairs.map((point, index) => (index ? `H${xOf(point)}V${yOf(point.accuracy)}`
      : `M${xOf(point)},${yOf(point.accuracy)}`)).join("");
    setOne(plot.front, "d", path);
    const taken = []; // where names stand; those on the front come first
    const first = (point) => (front.includes(point) ? 0 : 1);
    const ordered = [...drawn].sort((a, b) => first(a.point) - first(b.point));
    for (const { point, mark, name } of ordered) {
      const [x, y, out] = [xOf(point), yOf(point.accuracy), !left.includes(point)];
      setOne(mark, "transform", `translate(${x.toFixed(1)},${y.toFixed(1)})`);
      setOne(mark, "class", `mark ${kindOf(point)}${out ? " out" : ""}`);
      const long = 13 + 7 * point.name.length;
      const end = x + long > plot.right;
      const [from, to] = end ? [x - long, x] : [x, x + long];
      const hidden = out || from < plot.left || taken.some((other) =>
        Math.abs(other.y - y) < 14 && from < other.to && other.from < to);
      if (!hidden) taken.push({ y, from, to });
      setAttributes(name, { x: x + (end ? -13 : 13), y: y + 4,
        "text-anchor": end ? "end" : "start", class: first(point) ? "label" : "label best" });
      setOne(name, "visibility", hidden ? "hidden" : null);
    }
    setOne(plot.wall, "d", state.kb === STEPS ? "" : `M${placeOf(limitOf("kb"))},${TOP}v${HIGH}`);
    plot.ticks.replaceChildren(...[10, 20, 50, 100, 200, 500, 1000, 2000, 5000].flatMap((value) => {
      const x = placeOf(value);
      return x < plot.left || x > plot.right ? []
        : [draw("path", { d: `M${x},${TOP + HIGH}v4` }), write(x, TOP + HIGH + 17, value)];
    }), write(plot.right, TOP + HIGH + 33, "kB", { "text-anchor": "end" }));
  }

  function fit(given) {
    const width = Math.floor(given);
    if (width === plot.width) return;
    plot = { width, left: width < SLIM ? 50 : 56, right: width - 14,
      front: draw("path", { class: "front" }), wall: draw("path", { class: "wall" }),
      ticks: draw("g", { class: "axis" }) };
    const grid = draw("g", { class: "axis" });
    const step = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2].find((gap) => (high - low) / gap < 7);
    for (let value = Math.ceil(low / step) * step; value <= high; value += step) {
      grid.append(draw("path", { class: "rule", d: `M${plot.left},${yOf(value)}H${plot.right}` }),
        write(plot.left - 6, yOf(value) + 4, right(value), { "text-anchor": "end" }));
    }
    drawn = points.map((point) => ({ point,
      mark: draw("path", { d: shapeOf(point, 4 + 7 * times.at(point.ms)) }),
      name: write(0, 0, point.name, { class: "label" }) }));
    const tall = TOP + HIGH + BELOW;
    setAttributes(svg, { width, height: tall, viewBox: `0 0 ${width} ${tall}` }).replaceChildren(
      draw("rect", { class: "error", x: plot.left, y: yOf(best), width: plot.right - plot.left,
        height: yOf(best - error) - yOf(best) }),
      grid, plot.ticks, plot.wall, plot.front, ...drawn.map(({ mark }) => mark),
      ...drawn.map(({ name }) => name));
    refresh();
  }
  refresh();
  return { element, measured: svg.parentNode, fit };
}

attach("tradeoff", CSS, buildTradeOff);
