// BitSplit: 16 bits, divided between exponent and fraction over the sizes of tensors. All that can
// be asked was counted in Python; here it is looked up. State lives in here, per host.

import { FEW, ROW, drawAxis, drawTitles, layTitles, makeStrip, octaveAt } from "./bands.mjs";
import { fieldsOf } from "./bits.mjs";
import { PAPER, draw, make, setChildren, setText } from "./dom.mjs";
import { explore, makeDial, makeSlider } from "./drawing.mjs";
import {
  ENDING, STARTING, boxBetween, fillPicture, makePicture, rules, scaleLinear, through, trace, write,
} from "./plot.mjs";
import { part, percent, plural, raised, spelled } from "./words.mjs";

const BITS = 16;
const STRIP_HEIGHT = 30;
const END = 160; // octaves from 1: float32 reaches less far
const [TOP, FLOOR, BELOW] = [24, 192, 50]; // pixels, of the errors
const LOW = -4.5; // the errors' axis, as a power of ten: from here to 1, with overflow above it
const MARKS = ["M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0z", "M-5,-5h10v10h-10z", "M-6,4.5h12l-6,-11z",
  "M-6,-4.5h12l-6,11z", "M-6,0l6,-6l6,6l-6,6z", "M-6,0h12M0,-6v12"];

const markOf = (index) => trace("mark", MARKS[index % MARKS.length]);
const keyOf = (index) => draw("svg.key", { width: 14, height: 14,
  viewBox: "-7 -7 14 14", "aria-hidden": "true" }, markOf(index));
const errorName = (error) => (error === null ? "overflow" : percent(error));
const powerAt = scaleLinear(LOW, 0, FLOOR, TOP);
const heightOf = (error) => (error === null ? 9 : powerAt(Math.max(LOW, Math.log10(error))));

// For each split [error or null, how many become zero, subnormal, overflow], at a loss scale.
const scaleOf = ({ kept }, scale) => (kept.length > 1 ? scale : 0);
const keptAt = (tensor, scale) => tensor.kept[scaleOf(tensor, scale)];

// The octaves to show, [low, high): all tensors at every scale, but for a few far to the left.
function octavesOf(tensors) {
  const lows = tensors.map((tensor) => octaveAt(FEW, tensor) - 2);
  const highs = tensors.map(({ first, counts, kept }) => first + counts.length + kept.length + 1);
  return { low: Math.max(-END, Math.min(-16, ...lows)),
    high: Math.min(END, Math.max(6, ...highs)) };
}

// The boxes, and the border between exponent and fraction as a slider over them.
// → {element, update(bits, text)}
function makeBorder([least, most], choose) {
  const cells = make("div.cells", { "aria-hidden": "true" });
  const slider = makeSlider("exponent bits", least, most, choose, "slider border-slider");
  function update(bits, text) {
    const fields = fieldsOf({ exponentBits: bits, fractionBits: BITS - 1 - bits });
    setChildren(cells, Object.entries(fields).flatMap(([name, [, count]]) =>
      Array.from({ length: count }, () => make(`span.box.${name}`, name[0].toUpperCase()))));
    slider.set(bits, text);
  }
  return { element: make("div.boxes", cells, slider.element), update };
}

// The error of each tensor over the place of the border: errors[tensor][split], null for overflow.
// → {nodes, width, height}; the names of the splits that were `visited` stand below.
function drawErrors({ splits, bound, here, visited, errors, width }) {
  const [unit, slim] = [width / BITS, width < PAPER];
  const [left, right] = [2.4 * unit, 9.6 * unit];
  const places = splits.map(({ bits }) => (bits + 1) * unit);
  const axis = draw("g.axis", write(right - 2, heightOf(1) + 15, "error, %", ENDING),
    ...rules(left, right, [null, 1, 0.1, 0.01, 0.001, 0.0001].map((error) =>
      [heightOf(error), error === null ? "∞" : 100 * error])),
    write(left - 5, FLOOR + 15, "E bits", ENDING),
    ...splits.map(({ bits }, index) => write(places[index], FLOOR + 15, bits)));
  const names = [...visited].map((index) => {
    const { bits, name } = splits[index];
    const last = index === splits.length - 1;
    const row = last && slim ? 2 : bits % 3 ? 0 : 1; // neighbors stand in different ones
    return write(last ? right : places[index], FLOOR + 31 + row * ROW, name.split("'")[0],
      { class: "found", ...(last && ENDING) });
  });
  const y = heightOf(bound);
  const points = errors.map((row) => row.map((error, at) => [places[at], heightOf(error)]));
  return { width: right, height: FLOOR + BELOW + (slim ? ROW : 0), nodes: [
    draw("rect.fine", boxBetween(left, right, y, FLOOR)), axis,
    trace("guide", `M${places[here]},0V${FLOOR}`),
    write(left + 5, FLOOR - 6, `within ${percent(bound)}`,
      { class: "bound halo small", ...STARTING }),
    ...points.map((row, index) => trace(`curve t${index}`, through(row))),
    ...points.map((row, index) =>
      draw(`g.t${index}`, { transform: `translate(${row[here]})` }, markOf(index))),
    ...names] };
}

// Each tensor's sizes against the bands of the split that is `here`. → {element, update(view)}
function makeTensors(tensors, splits) {
  const range = octavesOf(tensors);
  const hidden = { "aria-hidden": "true" };
  const rows = tensors.map((tensor, index) => {
    const [strip, lost] = [makeStrip(tensor, STRIP_HEIGHT), make("span.lost")];
    return { tensor, strip, lost, element: make(`div.tensor.t${index}`,
      make("p", keyOf(index), make("b", tensor.name), lost), strip.element) };
  });
  const element = make("div.tensors");
  let frame = {}; // what only the width changes

  function makeFrame(width) {
    const plot = { left: 0, width, bottom: 0, step: width / (range.high - range.low) };
    const inner = { ...plot, left: 6, width: width - 12 }; // the titles' letters are no box
    return { width, layouts: splits.map((each) => layTitles(each, range, inner)),
      axis: draw("svg", { height: 36, ...hidden }, drawAxis(range, plot, "size of a value")) };
  }
  function update({ here, scale, width }) {
    if (frame.width !== width) frame = makeFrame(width);
    const limits = splits[here];
    // What stands below does not move: there is room for the titles of every split.
    const most = Math.max(...frame.layouts.map((layout) => layout.rows));
    for (const { tensor, strip, lost } of rows) {
      const own = scaleOf(tensor, scale);
      strip.update({ limits, range, scale: own, width });
      const [, ...counts] = keptAt(tensor, scale)[here];
      const words = ["zero", "subnormal", "overflow"].map((word, index) => counts[index]
        && `${word} ${part(counts[index], tensor.total - tensor.zeros - tensor.bad)}`);
      setText(lost, [own && `× ${raised(own)}`, ...words].filter(Boolean).join(" · ") || "normal");
    }
    const titles = drawTitles(frame.layouts[here].titles, most);
    setChildren(element, [draw("svg", { height: most * ROW + 6, ...hidden }, titles),
      ...rows.map((row) => row.element), frame.axis]);
  }
  return { element, update };
}

// Build one BitSplit from the host's data.
function buildSplit({ splits, bound, note, tensors }, set) {
  const state = { here: 3, scale: 0 }; // the split, by its place among them, and a power of two
  const visited = new Set(); // splits, whose names stay
  const border = makeBorder([splits[0].bits, splits.at(-1).bits], (bits) =>
    set({ here: bits - splits[0].bits }));
  const most = Math.max(...tensors.map(({ kept }) => kept.length)) - 1;
  const dial = makeDial("loss scale", 0, most, (scale) => set({ scale }));
  const scaling = make("div.scaling", ...dial.parts);
  scaling.hidden = most === 0;
  const chart = makePicture("chart");
  const [head, readouts, sizes] = [make("div"), make("dl.readouts"), makeTensors(tensors, splits)];
  const bad = tensors.filter((tensor) => tensor.bad).map((tensor) => "NaN or infinite, so left "
    + `out: ${plural(tensor.bad, "value")} of ${tensor.name}. `);

  function look(width) {
    const { here, scale } = state;
    const view = { splits, bound, visited: visited.add(here), here, scale, width,
      errors: tensors.map((tensor) => keptAt(tensor, scale).map(([error]) => error)) };
    const { bits, name } = splits[here];
    const now = view.errors.map((row) => row[here]);
    const fits = (error) => error !== null && error <= bound;
    const worst = now.indexOf(now.includes(null) ? null : Math.max(...now));
    const sum = `${bits} exponent + ${BITS - 1 - bits} fraction bits${name && ": "}`;
    const off = now[worst] === null ? "Overflow" : `Off by ${percent(now[worst])}`;
    const verdict = fits(now[worst])
      ? `All within ${percent(bound)}, the worst ${percent(now[worst])}.`
      : `${off}: ${tensors[worst].name}.`;
    setChildren(head, [make("p.split", make("span", sum), make("b", name)),
      make(fits(now[worst]) ? "p.verdict.fine" : "p.verdict", verdict)]);
    border.update(bits, sum + name);
    dial.set(scale, `${raised(scale)} = ${2 ** scale}`, `${spelled(scale)} = ${2 ** scale}`);
    setChildren(readouts, tensors.map((tensor, index) => make(`div.t${index}`,
      make("dt", keyOf(index), tensor.name),
      make("dd", errorName(now[index]) + (fits(now[index]) ? " ✓" : "")))));
    const list = tensors.map((tensor, index) => `${tensor.name} ${errorName(now[index])}`);
    fillPicture(chart, { ...drawErrors(view), label:
      `Relative error with ${sum}${name}, loss scale ${spelled(scale)}: ${list.join(", ")}.` });
    sizes.update(view);
    return `${sum}${name}. ${verdict}`;
  }
  return { state, look, parts: [head, border.element,
    make("div.errors", chart, readouts), scaling, sizes.element, make("p.note", ...bad, note)] };
}

explore("bitsplit", CSS, buildSplit);
