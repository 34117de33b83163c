// DoesItPay: what a training step keeps in float32 and in 16 bits, and from which batch on 16 bits
// save memory.

import {
  PAPER, draw, labelled, make, makeTable, setAttributes, setChildren, setOne, setText,
} from "./dom.mjs";
import { explore, makeDial, makeMenu } from "./drawing.mjs";
import {
  bytesText, equalAt, partsOf, placesText, reasonOf, savingOf, sumOf, verdictOf,
} from "./memory.mjs";
import {
  ENDING, STARTING, boxBetween, circle, clamp, fillPicture, makePicture, multiples, rules,
  scaleLinear, through, ticks, trace, write,
} from "./plot.mjs";
import { counted, numberText } from "./words.mjs";

const [TOP, FLOOR, LEFT, RIGHT] = [20, 210, 48, 20]; // pixels, the last from the right
const [LOW, HIGH] = [-0.15, 0.5]; // of what may be saved
const LETTER = 7; // pixels
const NEAR = 24; // curve's points for each doubling
const PARTS = { weights: "weights", gradients: "gradients", optimizer: "optimizer",
  copies: "16-bit copies", activations: "activations" };
const inPercent = (share) => `${numberText(100 * share, 2)} %`;
const inBytes = (bytes) => (bytes ? bytesText(bytes) : "none");

// What becomes of a part in 16 bits.
function changeOf(before, after) {
  if (before === after) return "the same";
  return before ? `${inPercent(1 - after / before)} less` : "added";
}

// A bar of parts, each as long as its bytes, where `most` bytes are as long as `width` pixels.
function makeBar(name, parts, most, width) {
  const pieces = Object.entries(PARTS).map(([part, text]) => {
    const share = parts[part] / most;
    const fits = share * width > (text.length + 1) * LETTER;
    return make(`span.part.${part}`, { style: `width: ${100 * share}%` }, fits ? text : "");
  });
  return make("div.lane", make("span", name), make("div.bar", ...pieces),
    make("span.sum", bytesText(sumOf(parts))));
}

// What is saved over the batch, up to 2^last, with a mark at the batch that is chosen and one for
// each share that was measured.
function drawSaving(counts, batch, measured, last, width) {
  const right = width - RIGHT;
  const placeOf = scaleLinear(0, last, LEFT, right);
  const xOf = (size) => placeOf(Math.log2(size));
  const heightOf = scaleLinear(LOW, HIGH, FLOOR, TOP);
  const yOf = (share) => heightOf(clamp(share, LOW, HIGH));
  const shareAt = (size) => {
    const { whole, saved } = savingOf(counts, size);
    return saved / whole;
  };
  const zone = (name, from, to) =>
    draw(`rect.${name}`, boxBetween(LEFT, right, yOf(to), yOf(from)));
  const [equal, wall] = [equalAt(counts), []];
  if (equal >= 1 && equal <= 2 ** last) {
    const text = `equal at batch ${numberText(equal)}`;
    const half = (text.length * LETTER) / 2;
    wall.push(write(clamp(xOf(equal), half, right - half), 13, text),
      trace("wall", `M${xOf(equal)},${TOP}V${FLOOR}`));
  }
  const axis = draw("g.axis", write(right, FLOOR + 33, "batch", ENDING),
    ...rules(LEFT, right, [-10, 0, 10, 20, 30, 40, 50].map((percent) =>
      [yOf(percent / 100), `${percent} %`.replace("-", "−")])),
    trace("", `M${LEFT},${yOf(0)}H${right}`),
    ...ticks(FLOOR, multiples(width < PAPER ? 4 : 2, 0, last).map((power) =>
      [placeOf(power), counted(2 ** power)])));
  return [zone("less", 0, HIGH), zone("more", LOW, 0), axis,
    write(LEFT + 6, TOP + 15, "16 bits save", STARTING),
    write(right - 6, FLOOR - 8, "16 bits cost", ENDING), ...wall,
    trace("curve", through(multiples(1 / NEAR, 0, last).map((power) =>
      [placeOf(power), yOf(shareAt(2 ** power))]))),
    ...measured.map(([size, dtype, share]) =>
      trace(`point ${dtype}`, `M${xOf(size)},${yOf(share)}m-6,0l6,-6l6,6l-6,6z`)),
    circle("here", 6, xOf(batch), yOf(shareAt(batch)))];
}

function buildDoesItPay({ networks, batches, points, note }, set) {
  const [{ start, counts: grid }] = networks;
  const own = grid[start.place][start.width]; // of the network that was measured
  const state = { network: networks[0], batch: 0, ...start };
  const last = Math.log2(batches.at(-1));
  const [story, picture] = [make("div"), makePicture()];
  const batchDial = makeDial("batch", 0, batches.length - 1, (batch) => set({ batch }));
  const placeDial = makeDial("", 0, 0, (place) => set({ place }));
  const widthDial = makeDial("width", 0, 0, (width) => set({ width }));
  const choice = makeMenu(networks.map(({ name }) => name), (index) =>
    set({ network: networks[index], ...networks[index].start }));
  const key = make("p.note");
  const about = make("p.note");
  const { table, fill } = makeTable("compact", ["part", "float32", "16 bits", "change"],
    "The bars' parts, from left to right");
  const parts = [make("div.options", labelled("network", choice)),
    ...[batchDial, placeDial, widthDial].map((dial) => make("div.drag", ...dial.parts)), story,
    make("p.head", "Share of the sum of all parts that 16 bits save"),
    picture, key, make("div.scroller", table),
    make("details", make("summary", "What is counted, and what is left out"), about,
      make("p.note", note))];

  function look(room) {
    const { network } = state;
    const { unit, places, widths } = network;
    const [batch, place, width] = [batches[state.batch], places[state.place], widths[state.width]];
    const counts = network.counts[state.place][state.width];
    const measured = counts === own ? points : [];
    setText(placeDial.name, unit);
    setAttributes(placeDial.slider, { max: places.length - 1, "aria-label": unit });
    setOne(widthDial.slider, "max", widths.length - 1);
    batchDial.set(state.batch, counted(batch));
    placeDial.set(state.place, placesText(place, unit).replace(` ${unit}`, ""));
    widthDial.set(state.width, counted(width));

    const memory = { float32: partsOf(counts, batch, 32), "16 bits": partsOf(counts, batch, 16) };
    const most = Math.max(...Object.values(memory).map(sumOf));
    const list = Object.entries(memory).map(([name, one]) => `${name} ${bytesText(sumOf(one))}`);
    const why = reasonOf(counts, width, place, unit);
    const words = verdictOf(counts, batch, place, unit);
    const isFine = savingOf(counts, batch).saved > 0;
    setChildren(story, [make(isFine ? "p.sentence.fine" : "p.sentence", words),
      make("div", { role: "img",
        "aria-label": `Memory of a step: ${list.join(", ")}. The table has the parts.` },
      ...Object.entries(memory).map(([name, one]) => makeBar(name, one, most, room - 140))),
      make("p.reason", why)]);
    fill(Object.entries(PARTS).map(([part, text]) => {
      const [before, after] = Object.values(memory).map((one) => one[part]);
      return [[make(`span.swatch.${part}`), text], inBytes(before), inBytes(after),
        changeOf(before, after)];
    }));

    setText(about, `${network.name}: ${network.note}`);
    const dtypes = [...new Set(measured.map(([, dtype]) => dtype))].join(" and ");
    setText(key, dtypes && `A diamond is the share that you measured in ${dtypes}. The line is `
      + "counted, and the count leaves some things out.");
    const measures = measured.map(([size, dtype, share]) =>
      ` Measured in ${dtype} at batch ${size}: ${inPercent(share)}.`);
    fillPicture(picture, { width: room, height: FLOOR + 38,
      label: `What 16 bits save, over the batch. ${words} ${why}${measures.join("")}`,
      nodes: drawSaving(counts, batch, measured, last, room) });
    return `${network.name}, width ${counted(width)}. ${words}`;
  }
  return { state, parts, look };
}

explore("doesitpay", CSS, buildDoesItPay);
