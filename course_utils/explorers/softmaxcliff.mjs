// SoftmaxCliff: the gradient of one wrong sample against the logit gap, in three dtypes,
// and on it the samples of a batch.

import { makeLink } from "./address.mjs";
import { PAPER, draw, labelled, make, makeChips, setText } from "./dom.mjs";
import { explore, makeDial, makeMenu } from "./drawing.mjs";
import {
  ENDING, STARTING, boxBetween, circle, clamp, fillPicture, makePicture, multiples,
  scaleLinear, through, ticks, trace, write,
} from "./plot.mjs";
import { counted, raised, spelled } from "./words.mjs";

const [LANE, TOP, FLOOR, BESIDE] = [50, 86, 256, 5]; // pixels, the last between equal lines
const BOTTOM = 246; // pixels: where a gradient is zero
const [DOT, PILE] = [10, 8]; // pixels from dot to dot, dots in a column
const BATCHES = [1, 32, 256];
const CHANCES = [[0.5, "50 %"], [0.01, "1 %"], [1e-4, "0.01 %"], [1e-6, "10⁻⁶"], [1e-8, "10⁻⁸"]];
const yOf = scaleLinear(0, 1, BOTTOM, TOP);

// A gap, and what it means as the probability of the right class.
function describeGap(gap) {
  const chance = Number((100 / (1 + Math.exp(gap))).toPrecision(2));
  return gap.toFixed(1) + (chance < 0.01 ? "" : ` (the right class gets ${chance} %)`);
}

function buildCliff({ step, first, curves, samples }, set) {
  const state = { scale: 0, batch: BATCHES[1] };
  const names = Object.keys(curves);
  const end = (curves.float32.values.length - 1) * step;
  const zeroOf = (name) => curves[name].values.indexOf(0) * step;
  const places = samples.map((gap) => Math.round(clamp(gap, 0, end) / step));
  const lost = (name) => places.filter((place) => curves[name].values[place] === 0).length;

  const [picture, sentence] = [makePicture(), make("p.sentence")];
  const dial = makeDial("loss scale", 0, 24, (scale) => set({ scale }));
  const chips = makeChips("fixed scales", [0, 5, 10, 15].map((scale) => [
    [raised(scale) + (scale === 15 ? ", Keras's first" : "")], () => set({ scale })]));
  const batch = makeMenu(BATCHES, (index) => set({ batch: BATCHES[index] }), 1);
  const parts = [
    make("div.scale-head", dial.name, dial.output, chips.element,
      labelled("samples in the batch", batch)),
    dial.slider, make("div.keys", { "aria-hidden": "true" },
      "Size of the gradient of one wrong sample (equal lines stand side by side):",
      ...names.map((name) => make(`span.key.${name}`, name)),
      "Dot: a sample of the batch, empty if it teaches nothing in bfloat16"),
    picture, sentence, makeLink("cliff.html", () => state)];

  // The samples as dots on bfloat16's line, near ones in a pile; at the left edge those
  // that are right, at the right edge those beyond the axis.
  function drawSamples(xOf, isSkipped) {
    const piles = new Map();
    return samples.map((gap, number) => {
      const index = places[number];
      const [x, value] = [xOf(index * step), curves.bfloat16.values[index]];
      const key = gap > end ? "far" : Math.round(x / DOT);
      const below = piles.get(key) ?? 0; // dots in its pile
      piles.set(key, below + 1);
      const aside = DOT * (0.6 + Math.floor(below / PILE));
      return circle(`dot ${value ? "" : "lost"} ${isSkipped(index) ? "skipped float16" : ""}`, 4,
        x + (gap < 0 ? aside : gap > end ? -aside : 0),
        yOf(gap < 0 ? 0 : value) - DOT * (below % PILE));
    });
  }

  function drawAxes(xOf, slim) {
    const left = xOf(0) - 8;
    return draw("g.axis",
      ...[0, 0.5, 1].map((value) => write(left, yOf(value) + 4, value, ENDING)),
      ...ticks(FLOOR, multiples(slim ? 5 : 2, 0, end).map((gap) => [xOf(gap), gap])),
      ...ticks(FLOOR + 40, CHANCES.map(([chance, text]) => [xOf(Math.log(1 / chance - 1)), text])),
      trace("", `M${xOf(0)},${FLOOR}H${xOf(end)}m0,40H${xOf(0)}`),
      write(xOf(end), FLOOR + 33, "logit gap of the wrong class", ENDING),
      write(xOf(end), FLOOR + 73, "probability of the right class", ENDING),
      write(0, LANE + 4, slim ? "∞" : "not finite", STARTING));
  }

  function look(width) {
    const { scale, batch: size } = state;
    const slim = width < PAPER;
    const left = slim ? 30 : 64;
    const xOf = scaleLinear(0, end, left, width - 10);
    const share = scale - Math.log2(size) - first;
    const [from, to] = curves.float16.broken[share] ?? [0, 0]; // of none
    const isSkipped = (index) => index >= from && index < to;

    // A zone, and above the plot what is from its left edge on.
    const zone = (y, name, start, stop, title) => [
      draw(`rect.zone.${name}`, boxBetween(xOf(start), xOf(stop), LANE - 12, FLOOR)),
      write(xOf(end), y, stop > start ? `${title} from ${start.toFixed(1)} on` : "", ENDING)];
    // A curve, a little aside; where it is not finite it runs in the lane above.
    const lines = names.map((name, number) => trace(`curve ${name}`, through(
      curves[name].values.map((value, index) => {
        const [start, stop] = curves[name].broken[share] ?? [];
        return [xOf(index * step), index >= start && index < stop ? LANE
          : yOf(value) + (number - 1) * BESIDE];
      }))));
    const far = samples.filter((gap) => gap > end).length;
    const isRight = samples.filter((gap) => gap < 0).length;
    const nodes = [...zone(32, "none", zeroOf("bfloat16"), end, "bfloat16: zero"),
      ...zone(16, "float16", from * step, to * step,
        slim ? "float16: step skipped" : "float16: not finite, step skipped,"),
      drawAxes(xOf, slim), ...lines, ...drawSamples(xOf, isSkipped),
      write(xOf(end), yOf(0) - DOT * PILE - 14, far ? `${far} beyond ${end}` : "", ENDING),
      write(left + 2, yOf(0) - DOT * Math.min(isRight, PILE) - 4,
        isRight ? `${isRight} right` : "", STARTING)];

    const beyond = places.filter(isSkipped).length;
    const until = to ? `not finite from a gap of ${describeGap(from * step)} on. Below it`
      : "finite at every gap. It";
    const [zero, last] = ["bfloat16", "float16"].map((name) => zeroOf(name).toFixed(1));
    const words = `float16's gradient is ${until} is right; from ${zero} on bfloat16's is zero, `
      + `and from ${last} on float16's too. Of ${samples.length} samples ${lost("bfloat16")} teach `
      + `nothing in bfloat16. In float16 ${lost("float16")} teach nothing, and the gradient of `
      + `${beyond} is not finite${beyond ? ", so the step is skipped" : ""}.`;
    dial.set(scale, `${raised(scale)} = ${counted(2 ** scale)}`,
      `${spelled(scale)} = ${2 ** scale}`);
    setText(sentence, words);
    const label = `Scale ${spelled(scale)}, batch of ${size}: ${words}`;
    fillPicture(picture, { width, height: FLOOR + 80, label, nodes });
    return label;
  }
  return { state, parts, look };
}

explore("softmaxcliff", CSS, buildCliff);
