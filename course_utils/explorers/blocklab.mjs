// BlockLab: 32 values that share a scale, and the bits that it leaves to each of them.

import { bandsOf, drawBand } from "./bands.mjs";
import { octaveOf } from "./codec.mjs";
import { draw, labelled, make, makeChips, makeTable, setText } from "./dom.mjs";
import { explore, makeDial, makeMenu } from "./drawing.mjs";
import {
  ENDING, boxBetween, clamp, fillPicture, makePicture, multiples, rules, scaleLinear, trace,
  whilePressed, write,
} from "./plot.mjs";
import { bitsOf, errorOf, quantize } from "./scales.mjs";
import { counted, errorText, numberText, plural, raised, spelled } from "./words.mjs";

const COUNT = 32; // values in a block
const [LOW, HIGH] = [-24, 21]; // octaves around that of the block's largest value
const [TOP, FLOOR, LEFT, BOX] = [6, 204, 44, 6]; // pixels; the last for a bit
const MOST_BITS = 7;
const FIRST = "MXFP4";

// The blocks in a text of float32 numbers; behind each stands the largest size in all others.
function blocksOf(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const numbers = [...new Float32Array(bytes.buffer)];
  return multiples(COUNT + 1, 0, numbers.length - 1).map((start) =>
    ({ values: numbers.slice(start, start + COUNT), rest: numbers[start + COUNT] }));
}

const wrongText = (error) => (Number.isFinite(error) ? errorText(100 * error) : "NaN");

function scalesText({ scales, tensorScale }, { scale }, power) {
  const one = (value) =>
    (scale === "power" && value > 0 ? power(Math.log2(value)) : numberText(value));
  const times = tensorScale === 1 ? "" : `, both × ${numberText(tensorScale)}`;
  return scales.map(one).join(" and ") + times;
}

const heightOf = scaleLinear(LOW, HIGH, FLOOR, TOP);
const yOf = (octave) => heightOf(clamp(octave, LOW, HIGH));
const octaveAtHeight = scaleLinear(FLOOR, TOP, LOW, HIGH);

function buildLab({ formats, tensors }, set) {
  const blocks = tensors.map((tensor) => blocksOf(tensor.blocks));
  const last = tensors.length - 1; // the examples
  const state = { format: formats.findIndex(({ title }) => title === FIRST), ...load(0, 0) };
  let unit = 1; // pixels from bar to bar, once they are drawn

  // A block as it was given, with its largest value chosen.
  function load(tensor, block) {
    const { values } = blocks[tensor][block];
    const sizes = values.map(Math.abs);
    const most = Math.max(...sizes.filter(Number.isFinite), 0);
    const base = most ? clamp(octaveOf(most), -149 - LOW, 128 - HIGH) : 0;
    return { tensor, block, values, base, at: Math.max(0, sizes.indexOf(most)) };
  }

  // Move the chosen value to another octave, beside `base`; below the lowest one it becomes 0.
  function resize(octave) {
    const { tensor, block, base, at, values } = state;
    const start = blocks[tensor][block].values[at];
    const size = Math.abs(start);
    const significand = size > 0 && size < Infinity ? size / 2 ** octaveOf(size) : 1;
    const next = octave < LOW ? 0 : Math.fround(significand * 2 ** (base + octave));
    set({ values: values.with(at, start < 0 ? -next : next) });
  }

  function step(way) {
    const { length } = blocks[state.tensor];
    set(load(state.tensor, (state.block + way + length) % length));
  }

  const [picture, sentence] = [makePicture(), make("p.sentence")];
  const number = makeDial("value", 0, COUNT - 1, (at) => set({ at }), "which value");
  const sizeDial = makeDial("size", LOW - 1, HIGH - 1, resize, "its size");
  const choice = makeMenu(formats.map(({ title }) => title), (format) => set({ format }),
    state.format);
  const chips = makeChips("blocks", [
    ...(last ? [[["your values"], () => set(load(0, 0))]] : []),
    [["previous block"], () => step(-1)], [["next block"], () => step(1)],
    ...tensors[last].names.map((name, block) => [[name], () => set(load(last, block))])]);
  const place = make("b");
  const { table, caption, fill } = makeTable("compact",
    ["format", "bits a value", "scale", "become 0", "wrong by", "whole tensor"]);
  const parts = [make("div.options", labelled("format", choice), place), chips.element, picture,
    make("div.drag", ...number.parts), make("div.drag", ...sizeDial.parts), sentence,
    make("p.note", "Drag a bar, or choose a value and its size. Outline: the value, with − below "
      + "if it is negative. Filled: what it becomes. Boxes: the bits that it keeps. Behind the "
      + "bars: where a value keeps all bits (blue), some (orange), none (hatched)."),
    make("div.scroller", table)];

  whilePressed(picture, (x, y, begins) => {
    if (begins) state.at = clamp(Math.floor((x - LEFT) / unit), 0, COUNT - 1);
    resize(clamp(Math.floor(octaveAtHeight(y)), LOW - 1, HIGH - 1));
  });
  picture.addEventListener("pointerup", () => sizeDial.slider.focus({ preventScroll: true }));

  // Behind the bars, for each scale: what a value becomes there.
  function drawBands({ steps }, format, full) {
    const { size, most, lowest, fraction } = format;
    const length = size || COUNT;
    return multiples(length, 0, COUNT - 1).flatMap((start) => {
      const zero = Math.log2(steps[start]) - state.base; // the octave of one in an element
      const least = zero + lowest - fraction; // that of the smallest element
      const limits = { zero_octave: least - 1, normal_octave: least + full - 1,
        top_octave: zero + Math.log2(most) - 1 };
      return bandsOf(limits, { low: LOW, high: HIGH }).filter(({ name }) => name !== "overflow")
        .flatMap(({ name, from, to }) => drawBand(name, boxBetween(LEFT + start * unit + 0.5,
          LEFT + (start + length) * unit - 0.5, yOf(to), yOf(from))));
    });
  }

  function look(width) {
    const { format: index, tensor, block, base, at, values } = state;
    const format = formats[index];
    const results = formats.map((one) => {
      const result = quantize(values, one, blocks[tensor][block].rest);
      const isLost = (value, each) => value !== 0 && result.values[each] === 0;
      return { ...result, lost: values.filter(isLost).length,
        error: errorOf(result.values, values) };
    });
    const result = results[index];
    const { values: kept, lost, error } = result;
    const full = bitsOf(format, format.most);
    const bits = kept.map((value, each) =>
      Math.min(full, bitsOf(format, value / result.steps[each])));
    const nonzero = values.filter((value) => value !== 0).length;

    unit = (width - LEFT - 2) / COUNT;
    const xOf = (each) => (LEFT + (each + 0.18) * unit).toFixed(1);
    const thick = (0.64 * unit).toFixed(1);
    // The bars of those numbers, of values or of what they become, for which `wanted` holds.
    const bars = (name, numbers, wanted) => trace(name, numbers.map((one, each) => {
      if (one === 0 || !wanted(each)) return "";
      const y = Number.isFinite(one) ? yOf(Math.log2(Math.abs(one)) - base) : TOP;
      return `M${xOf(each)},${FLOOR}V${Math.min(y, FLOOR - 2).toFixed(1)}h${thick}V${FLOOR}`;
    }).join(""));
    const boxes = (name, countOf) => trace(name, values.flatMap((_, each) =>
      multiples(BOX, 0, BOX * (countOf(each) - 1)).map((y) =>
        `M${xOf(each)},${FLOOR + 14 + y}h${thick}v${BOX - 2}h-${thick}z`)).join(""));
    const isGone = (each) => kept[each] === 0;
    const isKept = (each) => Number.isFinite(kept[each]);
    const nodes = [...drawBands(result, format, full),
      draw("g.axis", ...rules(LEFT, width - 2, multiples(8, base + LOW, base + HIGH).map((octave) =>
        [yOf(octave - base), raised(octave)])), write(LEFT - 6, FLOOR + 22, "bits", ENDING)),
      bars("bar normal", kept, (each) => isKept(each) && bits[each] === full),
      bars("bar subnormal", kept, (each) => isKept(each) && bits[each] < full),
      bars("given", values, (each) => !isGone(each)), bars("given gone", values, isGone),
      trace("minus", values.map((value, each) =>
        (value < 0 ? `M${xOf(each)},${FLOOR + 7}h${thick}` : "")).join("")),
      boxes("slot", () => full), boxes("kept", (each) => bits[each]),
      draw("rect.chosen", { x: LEFT + at * unit, y: 1, width: unit,
        height: FLOOR + 14 + full * BOX })];

    const [value, becomes] = [numberText(values[at]), numberText(kept[at])];
    const outcome = !nonzero ? "and all values are 0"
      : !Number.isFinite(error) ? "and not every value is finite"
        : `${lost} of ${plural(nonzero, "nonzero value")} `
          + `${lost === 1 ? "becomes" : "become"} 0, and the block is wrong by `
          + wrongText(error);
    const verb = result.scales.length > 1 ? "scales are" : "scale is";
    const words = (power) => `In ${format.title} the ${verb} ${scalesText(result, format, power)}, `
      + `${outcome}. Value ${at + 1} is ${value}, becomes ${becomes} and keeps `
      + `${plural(bits[at], "bit")}.`;
    const { names, total, errors: whole } = tensors[tensor];
    setText(place, names[block]);
    number.set(at, at + 1, `value ${at + 1}, ${value}`);
    const size = Math.abs(values[at]);
    sizeDial.set(size === 0 ? LOW - 1 : clamp(octaveOf(size) - base, LOW, HIGH - 1),
      numberText(size), `${value}, becomes ${becomes}`);
    setText(caption, `This block in every format; * is drawn. Whole tensor: what all `
      + `${counted(total)} values are wrong by, as they were.`);
    fill(formats.map((one, each) => [[one.title + (each === index ? " *" : "")], one.bits,
      scalesText(results[each], one, raised), `${results[each].lost} of ${nonzero}`,
      wrongText(results[each].error), wrongText(whole[each])]));
    setText(sentence, words(raised));
    fillPicture(picture, { width, height: FLOOR + 16 + MOST_BITS * BOX, label: words(spelled),
      nodes });
    return words(spelled);
  }
  return { state, parts, look };
}

explore("blocklab", CSS, buildLab);
