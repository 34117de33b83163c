// The controller tab: dynamic loss scaling played over the histogram, step by step.

import { hatching, makeSlider, whilePressed, write } from "./bands.mjs";
import { draw, labelled, make, setAttributes, setOne, setProperty, setText } from "./dom.mjs";
import { FIRST_SCALE, STEPS, overflowFrom, playLossScale } from "./survival.mjs";
import { describeStep, plural, raised, scaleText, spelled } from "./words.mjs";

const TRACE = { height: 200, left: 46, right: 12, top: 10, bottom: 34 };
const TICK_MS = 90; // per step while it plays
const IN_A_ROW = 10;
const LONGEST_GROWTH = 100;

// The exponents that a trace runs through, with some room.
function spanOf(trace) {
  const exponents = trace.flatMap(({ scale, next }) => [scale, next])
    .filter((scale) => scale > 0 && scale < Infinity).map((scale) => Math.round(Math.log2(scale)));
  const [least, most] = [Math.min(...exponents), Math.max(...exponents)];
  const room = Math.max(0, 8 - (most - least)) / 2;
  return { low: least - 1.5 - Math.floor(room), high: most + 1.5 + Math.floor(room) };
}

// The trace as a step line. pick(step) is called where it is pressed. → {element, build, point}
function makeTrace(pick) {
  const element = draw("svg", { class: "trace", role: "img" });
  whilePressed(element, (x) => pick(Math.round((x - inner.left) / inner.step + 0.5)));
  const cursor = draw("path", { class: "cursor" });
  const dot = draw("circle", { class: "dot", r: 5 });
  const bottom = TRACE.height - TRACE.bottom;
  let inner = { left: TRACE.left, step: 3 };

  const xOf = (step) => inner.left + (step - 0.5) * inner.step;
  function yOf(scale) {
    const { low, high } = inner;
    const share = (Math.max(low, Math.min(high, Math.log2(scale))) - low) / (high - low);
    return bottom - share * (bottom - TRACE.top);
  }

  // The scales from an exponent on, at which something overflows; [] where they do not show.
  function zone(from, name) {
    const { low, high, left, right } = inner;
    if (from >= high) return [];
    const { top } = TRACE;
    const box = { x: left, y: top, width: right - left,
      height: yOf(2 ** Math.max(low, from)) - top };
    return [draw("rect", { class: "band overflow", ...box }), ...hatching("overflow", box),
      write(left + 8, top + 15, `overflows ${name}`, { class: "zone", "text-anchor": "start" })];
  }

  function drawAxis(trace) {
    const { low, high, left, right } = inner;
    const { top } = TRACE;
    const axis = draw("g", { class: "axis" },
      draw("path", { d: `M${left},${top}V${bottom}H${right}` }));
    const mark = (y, text) => axis.append(write(left - 6, y, text, { "text-anchor": "end" }));
    const every = [1, 2, 4, 8, 16, 32].find((gap) => (high - low) / gap <= 9);
    const ends = new Set(trace.map(({ next }) => next));
    if (ends.has(0)) mark(bottom + 4, "0");
    if (ends.has(Infinity)) mark(top + 4, "∞");
    for (let exponent = Math.ceil(low / every) * every; exponent <= high; exponent += every) {
      const y = yOf(2 ** exponent);
      const free = (!ends.has(0) || y < bottom - 14) && (!ends.has(Infinity) || y > top + 14);
      if (free) mark(y + 4, raised(exponent));
    }
    const steps = [1, 50, 100, 150, 200].map((step) => write(xOf(step), bottom + 15, `${step}`));
    axis.append(...steps);
    axis.append(write(right, bottom + 29, "step", { class: "small", "text-anchor": "end" }));
    return axis;
  }

  function build(trace, injected, wall, limits, width, label) {
    const right = width - TRACE.right;
    inner = { ...spanOf(trace), right, left: TRACE.left,
      step: (right - TRACE.left) / trace.length };
    setAttributes(element, { width, height: TRACE.height, "aria-label": label,
      viewBox: `0 0 ${width} ${TRACE.height}` });
    const line = trace.map(({ step, scale }, index) => `${index ? "V" : `M${inner.left},`}`
      + `${yOf(scale).toFixed(1)}H${(inner.left + step * inner.step).toFixed(1)}`);
    const skipped = trace.filter(({ applied }) => !applied);
    const cross = ({ step, scale }) => `M${(xOf(step) - 3.5).toFixed(1)},`
      + `${(yOf(scale) - 3.5).toFixed(1)}l7,7m0,-7l-7,7`;
    const rings = [...injected].map((step) => draw("circle", { class: "ring", r: 7,
      cx: xOf(step), cy: yOf(trace[step - 1].scale) }));
    setOne(cursor, "d", `M0,${TRACE.top}V${bottom}`);
    element.replaceChildren(
      ...zone(wall - 0.5, limits.name),
      drawAxis(trace), draw("path", { class: "line", d: line.join("") }),
      draw("path", { class: "skips", d: skipped.map(cross).join("") }), ...rings, cursor, dot);
  }
  function point({ step, scale }) {
    setOne(cursor, "transform", `translate(${xOf(step).toFixed(1)},0)`);
    setOne(dot, "cx", xOf(step).toFixed(1));
    setOne(dot, "cy", yOf(scale).toFixed(1));
  }
  return { element, build, point };
}

// The tab. on: {growth(steps), scale(exponent, text)}, called with the scale of the step to show.
// → {element, update({layer, limits, growth, width}), stop()}
export function makePlayer(on) {
  let step = 1;
  let timer = 0;
  let view = null;
  let trace = [];
  const injected = new Set();
  const picture = makeTrace((to) => go(to));
  const button = (text, onclick) => make("button", { type: "button", class: "button", onclick },
    text);
  const slider = makeSlider("step", 1, STEPS, (to) => go(to));
  const growth = make("input", { type: "number", class: "growth", min: 1, max: LONGEST_GROWTH,
    step: 1, required: "", oninput: () => {
      const { valid } = growth.validity;
      setOne(growth, "aria-invalid", valid ? null : "true");
      if (valid) on.growth(Number(growth.value));
    } });
  const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  const play = button(calm() ? "Next step" : "Play", () => toggle());
  const inject = button("Inject overflow", () => add(1));
  const row = button(`${IN_A_ROW} in a row`, () => add(IN_A_ROW));
  const clear = button("Clear", () => {
    injected.clear();
    refresh();
    inject.focus(); // a disabled button would lose it
  });
  const sentence = make("p", { class: "sentence" });
  const summary = make("p", { class: "note" });
  const element = make("div", { class: "player" },
    make("div", { class: "options" }, play, inject, row, clear,
      labelled("doubles after", growth, "finite steps")),
    make("div", { class: "trace-box" }, picture.element, slider.element),
    sentence, summary);

  function add(count) {
    for (let at = step; at < step + count && at <= STEPS; at += 1) injected.add(at);
    refresh();
  }
  function go(to) {
    stop();
    step = Math.max(1, Math.min(STEPS, to));
    point();
  }
  function stop() {
    clearInterval(timer);
    timer = 0;
    setText(play, calm() ? "Next step" : "Play");
  }
  // Run by itself; or, where motion is not wanted, one step per click.
  function toggle() {
    if (timer) {
      go(step);
      return;
    }
    if (step >= STEPS) go(1);
    else if (calm()) go(step + 1);
    if (calm()) return;
    setText(play, "Pause");
    timer = setInterval(() => {
      step += 1;
      if (step >= STEPS || !element.isConnected) stop();
      point();
    }, TICK_MS);
  }

  // Show the step at the scrubber.
  function point() {
    const at = trace[step - 1];
    if (!at) return;
    const { limits, growth: steps } = view;
    picture.point(at);
    slider.set(step, `step ${step}, scale ${scaleText(at.scale, spelled)}`);
    setText(sentence, describeStep(at, limits.name, steps));
    sentence.classList.toggle("skipped", !at.applied);
    on.scale(Math.log2(at.scale), describeStep(at, limits.name, steps, spelled));
  }

  function refresh() {
    const { layer, limits, growth: steps, width } = view;
    trace = playLossScale(layer, limits, steps, injected);
    const skipped = trace.filter(({ applied }) => !applied).length;
    const { next } = trace.at(-1);
    const words = (power) => `${plural(skipped, "step")} of ${STEPS} skipped; after them the `
      + `scale is ${scaleText(next, power)}.`;
    setText(summary, words(raised) + (next === 0
      ? " Nothing stops its fall: at scale 0 the next finite gradient is divided by zero, and "
        + "the weights are NaN."
      : next === Infinity ? " Nothing stops its rise: at infinity every step is skipped." : ""));
    picture.build(trace, injected, overflowFrom(layer, limits), limits, width,
      `The loss scale over ${STEPS} steps in ${limits.name}: it starts at `
      + `${scaleText(FIRST_SCALE, spelled)}. ${words(spelled)}`);
    setProperty(clear, "disabled", injected.size === 0);
    point();
  }
  function update(next) {
    if (!view) growth.value = String(next.growth);
    const same = view && Object.keys(next).every((name) => view[name] === next[name]);
    view = next;
    if (same) point();
    else refresh();
  }
  return { element, update, stop };
}
