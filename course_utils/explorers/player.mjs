// The controller tab: dynamic loss scaling played over the histogram, step by step.

import { drawBand } from "./bands.mjs";
import { draw, labelled, make, setChildren, setOne, setProperty, setText } from "./dom.mjs";
import { makeSlider } from "./drawing.mjs";
import {
  ENDING, STARTING, boxBetween, circle, clamp, fillPicture, makePicture, multiples, scaleLinear,
  trace, whilePressed, write,
} from "./plot.mjs";
import { FIRST_SCALE, STEPS, overflowFrom, playLossScale } from "./survival.mjs";
import { describeStep, plural, raised, scaleText, spelled } from "./words.mjs";

const [RUN_LEFT, RUN_RIGHT, RUN_TOP, RUN_FLOOR, RUN_HEIGHT] = [46, 12, 10, 166, 200]; // pixels
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
  const right = width - RUN_RIGHT;
  const { low, high } = spanOf(run);
  const xOf = scaleLinear(0.5, STEPS + 0.5, RUN_LEFT, right);
  const heightOf = scaleLinear(low, high, RUN_FLOOR, RUN_TOP);
  const yOf = (scale) => heightOf(clamp(Math.log2(scale), low, high));

  const zone = []; // the scales at which something overflows, if they show
  if (wall < high) {
    const bottom = heightOf(Math.max(low, wall));
    zone.push(...drawBand("overflow", boxBetween(RUN_LEFT, right, RUN_TOP, bottom)),
      write(RUN_LEFT + 8, RUN_TOP + 15, `overflows ${limits.name}`,
        { class: "zone halo", ...STARTING }));
  }
  const every = [1, 2, 4, 8, 16, 32].find((gap) => (high - low) / gap <= 9);
  const ends = new Set(run.map(({ next }) => next));
  const marks = multiples(every, low, high).map((power) => [heightOf(power), raised(power)])
    .filter(([y]) => (!ends.has(0) || y < RUN_FLOOR - 14)
      && (!ends.has(Infinity) || y > RUN_TOP + 14));
  if (ends.has(0)) marks.unshift([RUN_FLOOR, "0"]);
  if (ends.has(Infinity)) marks.unshift([RUN_TOP, "∞"]);
  const axis = draw("g.axis", trace("", `M${RUN_LEFT},${RUN_TOP}V${RUN_FLOOR}H${right}`),
    ...marks.map(([y, text]) => write(RUN_LEFT - 6, y + 4, text, ENDING)),
    ...[1, 50, 100, 150, 200].map((step) => write(xOf(step), RUN_FLOOR + 15, `${step}`)),
    write(right, RUN_FLOOR + 29, "step", { class: "small", ...ENDING }));

  const line = run.map(({ step, scale }) => `V${yOf(scale)}H${xOf(step + 0.5)}`);
  const crosses = run.filter(({ applied }) => !applied).map(({ step, scale }) =>
    `M${xOf(step) - 3.5},${yOf(scale) - 3.5}l7,7m0,-7l-7,7`);
  const mark = (name, size, step) => circle(name, size, xOf(step), yOf(run[step - 1].scale));
  return [...zone, axis,
    trace("line", `M${RUN_LEFT},${yOf(run[0].scale)}${line.join("")}`),
    trace("skips overflow", crosses.join("")),
    ...[...injected].map((step) => mark("ring overflow", 7, step)),
    trace("cursor", `M${xOf(chosen)},${RUN_TOP}V${RUN_FLOOR}`), mark("dot", 5, chosen)];
}

// The tab; set(change) of the explorer's state shows everything anew, this too.
// → {element, stop(), update({layer, limits, growth, width})}, which gives what the step that is
// shown has: {scale, words}, as an exponent and to be said.
export function makePlayer(set, firstGrowth) {
  let step = 1;
  let timer = 0;
  let stepAtPlace;
  const injected = new Set();
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const picture = makePicture("trace");
  whilePressed(picture, (x) => go(Math.round(stepAtPlace(x))));
  const button = (text, onclick) => make("button.button", { type: "button", onclick }, text);
  const slider = makeSlider("step", 1, STEPS, go);
  const growthField = make("input.growth", { type: "number", min: 1, max: LONGEST_GROWTH,
    value: firstGrowth, step: 1, required: "", oninput: () => {
      const { valid } = growthField.validity;
      setOne(growthField, "aria-invalid", valid ? null : "true");
      if (valid) set({ growth: Number(growthField.value) });
    } });
  const play = button("", toggle);
  const inject = button("Inject overflow", () => add(1));
  const row = button(`${IN_A_ROW} in a row`, () => add(IN_A_ROW));
  const clear = button("Clear", () => {
    injected.clear();
    set({});
    inject.focus(); // a disabled button would lose it
  });
  const story = make("div");
  const element = make("div.player",
    make("div.options", play, inject, row, clear,
      labelled("doubles after", growthField, "finite steps")),
    make("div.trace-box", picture, slider.element), story);

  function add(count) {
    for (let at = step; at < step + count && at <= STEPS; at += 1) injected.add(at);
    set({});
  }
  function stop() {
    clearInterval(timer);
    timer = 0;
    setText(play, still.matches ? "Next step" : "Play");
  }
  function go(to) {
    stop();
    step = clamp(to, 1, STEPS);
    set({});
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
      set({});
    }, TICK_MS);
  }

  function update({ layer, limits, growth, width }) {
    const run = playLossScale(layer, limits, growth, injected);
    const skipped = run.filter(({ applied }) => !applied).length;
    const { next } = run.at(-1);
    const words = (power) => `${plural(skipped, "step")} of ${STEPS} skipped; after them the `
      + `scale is ${scaleText(next, power)}.`;
    const end = next === 0 ? " Nothing stops its fall: at scale 0 the next finite gradient is "
      + "divided by zero, and the weights are NaN."
      : next === Infinity ? " Nothing stops its rise: at infinity every step is skipped." : "";
    stepAtPlace = scaleLinear(RUN_LEFT, width - RUN_RIGHT, 0.5, STEPS + 0.5);
    const wall = overflowFrom(layer, limits) - 0.5;
    fillPicture(picture, { width, height: RUN_HEIGHT,
      label: `The loss scale over ${STEPS} steps in ${limits.name}: it starts at `
        + `${scaleText(FIRST_SCALE, spelled)}. ${words(spelled)}`,
      nodes: drawRun(run, { injected, wall, limits, width, step }) });
    setProperty(clear, "disabled", injected.size === 0);
    const now = run[step - 1];
    slider.set(step, `step ${step}, scale ${scaleText(now.scale, spelled)}`);
    setChildren(story, [make(now.applied ? "p.sentence" : "p.sentence.skipped",
      describeStep(now, limits.name, growth)), make("p.note", words(raised) + end)]);
    return { scale: Math.log2(now.scale),
      words: describeStep(now, limits.name, growth, spelled) };
  }
  stop();
  return { element, update, stop };
}
