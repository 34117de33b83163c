// The controller tab: dynamic loss scaling played over the histogram, step by step.

import { clamp, hatching, makeSlider, whilePressed, write } from "./bands.mjs";
import {
  draw, labelled, make, setAttributes, setChildren, setOne, setProperty, setText,
} from "./dom.mjs";
import { multiples, trace } from "./plot.mjs";
import { FIRST_SCALE, STEPS, overflowFrom, playLossScale } from "./survival.mjs";
import { describeStep, plural, raised, scaleText, spelled } from "./words.mjs";

const TRACE = { height: 200, left: 46, right: 12, top: 10, bottom: 166 }; // pixels
const TICK_MS = 90; // per step while it plays
const IN_A_ROW = 10;
const LONGEST_GROWTH = 100;

// The exponents that a run goes through, with some room.
function spanOf(run) {
  const exponents = run.flatMap(({ scale, next }) => [scale, next])
    .filter((scale) => scale > 0 && scale < Infinity).map((scale) => Math.round(Math.log2(scale)));
  const [least, most] = [Math.min(...exponents), Math.max(...exponents)];
  const room = 1.5 + Math.floor(Math.max(0, 8 - (most - least)) / 2);
  return { low: least - room, high: most + room };
}

// The scale over the steps of a run as a line, with a cross where one is skipped, a ring where an
// overflow was injected, and a cursor at one of them.
function drawRun(run, { injected, wall, limits, width, step: chosen }) {
  const { left, top, bottom } = TRACE;
  const right = width - TRACE.right;
  const stride = (right - left) / run.length;
  const { low, high } = spanOf(run);
  const xOf = (step) => left + (step - 0.5) * stride;
  const yOf = (scale) =>
    bottom - ((clamp(Math.log2(scale), low, high) - low) / (high - low)) * (bottom - top);

  const zone = []; // the scales at which something overflows, if they show
  if (wall < high) {
    const height = yOf(2 ** Math.max(low, wall)) - top;
    const box = { x: left, y: top, width: right - left, height };
    zone.push(draw("rect.band.overflow", { ...box }), ...hatching("overflow", box),
      write(left + 8, top + 15, `overflows ${limits.name}`,
        { class: "zone", "text-anchor": "start" }));
  }
  const every = [1, 2, 4, 8, 16, 32].find((gap) => (high - low) / gap <= 9);
  const ends = new Set(run.map(({ next }) => next));
  const marks = multiples(every, low, high).map((power) => [yOf(2 ** power) + 4, raised(power)])
    .filter(([y]) => (!ends.has(0) || y < bottom - 10) && (!ends.has(Infinity) || y > top + 18));
  if (ends.has(0)) marks.unshift([bottom + 4, "0"]);
  if (ends.has(Infinity)) marks.unshift([top + 4, "∞"]);
  const axis = draw("g.axis", trace("", `M${left},${top}V${bottom}H${right}`),
    ...marks.map(([y, text]) => write(left - 6, y, text, { "text-anchor": "end" })),
    ...[1, 50, 100, 150, 200].map((step) => write(xOf(step), bottom + 15, `${step}`)),
    write(right, bottom + 29, "step", { class: "small", "text-anchor": "end" }));

  const line = run.map(({ step, scale }) =>
    `V${yOf(scale).toFixed(1)}H${(left + step * stride).toFixed(1)}`);
  const crosses = run.filter(({ applied }) => !applied).map(({ step, scale }) =>
    `M${(xOf(step) - 3.5).toFixed(1)},${(yOf(scale) - 3.5).toFixed(1)}l7,7m0,-7l-7,7`);
  const circle = (name, r, { step, scale }) => draw("circle", { class: name, r,
    cx: xOf(step).toFixed(1), cy: yOf(scale).toFixed(1) });
  return [...zone, axis,
    trace("line", `M${left},${yOf(run[0].scale).toFixed(1)}${line.join("")}`),
    trace("skips", crosses.join("")),
    ...[...injected].map((step) => circle("ring", 7, run[step - 1])),
    trace("cursor", `M${xOf(chosen).toFixed(1)},${top}V${bottom}`),
    circle("dot", 5, run[chosen - 1])];
}

// The tab. on: {growth(steps), scale(exponent, text)}, called with the scale of the step to show.
// → {element, update({layer, limits, growth, width}), stop()}
export function makePlayer(on) {
  let step = 1;
  let timer = 0;
  let view = null;
  const injected = new Set();
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const picture = draw("svg.trace", { role: "img" });
  whilePressed(picture, (x) => {
    const share = (x - TRACE.left) / (view.width - TRACE.left - TRACE.right);
    go(Math.round(share * STEPS + 0.5));
  });
  const button = (text, onclick) => make("button.button", { type: "button", onclick },
    text);
  const slider = makeSlider("step", 1, STEPS, (to) => go(to));
  const growth = make("input.growth", { type: "number", min: 1, max: LONGEST_GROWTH,
    step: 1, required: "", oninput: () => {
      const { valid } = growth.validity;
      setOne(growth, "aria-invalid", valid ? null : "true");
      if (valid) on.growth(Number(growth.value));
    } });
  const play = button("", () => toggle());
  const inject = button("Inject overflow", () => add(1));
  const row = button(`${IN_A_ROW} in a row`, () => add(IN_A_ROW));
  const clear = button("Clear", () => {
    injected.clear();
    render();
    inject.focus(); // a disabled button would lose it
  });
  const sentence = make("p.sentence");
  const summary = make("p.note");
  const element = make("div.player",
    make("div.options", play, inject, row, clear,
      labelled("doubles after", growth, "finite steps")),
    make("div.trace-box", picture, slider.element),
    sentence, summary);

  function add(count) {
    for (let at = step; at < step + count && at <= STEPS; at += 1) injected.add(at);
    render();
  }
  function stop() {
    clearInterval(timer);
    timer = 0;
    setText(play, still.matches ? "Next step" : "Play");
  }
  function go(to) {
    stop();
    step = clamp(to, 1, STEPS);
    render();
  }
  // Run by itself; or, where motion is not wanted, one step per click.
  function toggle() {
    if (timer) {
      stop();
      return;
    }
    go(step >= STEPS ? 1 : step + 1);
    if (still.matches) return;
    setText(play, "Pause");
    timer = setInterval(() => {
      step += 1;
      if (step >= STEPS || !element.isConnected) stop();
      render();
    }, TICK_MS);
  }

  function render() {
    const { layer, limits, growth: steps, width } = view;
    const run = playLossScale(layer, limits, steps, injected);
    const skipped = run.filter(({ applied }) => !applied).length;
    const { next } = run.at(-1);
    const words = (power) => `${plural(skipped, "step")} of ${STEPS} skipped; after them the `
      + `scale is ${scaleText(next, power)}.`;
    setText(summary, words(raised) + (next === 0
      ? " Nothing stops its fall: at scale 0 the next finite gradient is divided by zero, and "
        + "the weights are NaN."
      : next === Infinity ? " Nothing stops its rise: at infinity every step is skipped." : ""));
    setAttributes(picture, { width, height: TRACE.height,
      viewBox: `0 0 ${width} ${TRACE.height}`,
      "aria-label": `The loss scale over ${STEPS} steps in ${limits.name}: it starts at `
        + `${scaleText(FIRST_SCALE, spelled)}. ${words(spelled)}` });
    const wall = overflowFrom(layer, limits) - 0.5;
    setChildren(picture, drawRun(run, { injected, wall, limits, width, step }));
    setProperty(clear, "disabled", injected.size === 0);
    const now = run[step - 1];
    slider.set(step, `step ${step}, scale ${scaleText(now.scale, spelled)}`);
    setText(sentence, describeStep(now, limits.name, steps));
    sentence.classList.toggle("skipped", !now.applied);
    on.scale(Math.log2(now.scale), describeStep(now, limits.name, steps, spelled));
  }
  stop();
  function update(next) {
    if (!view) growth.value = String(next.growth);
    view = next;
    render();
  }
  return { element, update, stop };
}
