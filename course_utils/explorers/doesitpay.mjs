// DoesItPay: what a training step keeps in float32 and in 16 bits, and from which batch on 16 bits
// save memory.

import { SLIM, makeSlider, whilePressed, write } from "./bands.mjs";
import {
  attach, draw, labelled, make, makeSelect, makeSpeaker, makeTable, setAttributes, setOne, setText,
} from "./dom.mjs";
import {
  bytesText, partsOf, placesText, reasonOf, savingOf, sumOf, verdictOf,
} from "./memory.mjs";
import { counted, numberText } from "./words.mjs";

const [TOP, TALL, BELOW] = [20, 190, 38]; // pixels
const [LOW, HIGH] = [-0.15, 0.5]; // of what may be saved
const LETTER = 7; // pixels
const NEAR = 24; // curve's points for each doubling
const PARTS = { weights: "weights", gradients: "gradients", optimizer: "optimizer",
  copies: "16-bit copies", activations: "activations" };
const inPercent = (share) => `${numberText(100 * share, 2)} %`;

// What becomes of a part in 16 bits.
function changeOf(before, after) {
  if (before === after) return "the same";
  return before ? `${inPercent(1 - after / before)} less` : "added";
}

// A bar of parts, each as long as its bytes. → {element, update({parts, most, width})}
function makeBar(name) {
  const pieces = Object.keys(PARTS).map((part) => make("span", { class: `part ${part}` }));
  const sum = make("span", { class: "sum" });
  const element = make("div", { class: "lane" }, make("span", {}, name),
    make("div", { class: "bar" }, ...pieces), sum);
  function update({ parts, most, width }) {
    Object.keys(PARTS).forEach((part, index) => {
      const share = parts[part] / most;
      const text = PARTS[part];
      pieces[index].style.width = `${100 * share}%`;
      setText(pieces[index], share * width > (text.length + 1) * LETTER ? text : "");
    });
    setText(sum, bytesText(sumOf(parts)));
  }
  return { element, update };
}

// What is saved over the batch. → {element, update(view), fit(width)}
function makeChart(batches, pick) {
  const element = draw("svg", { class: "saving", role: "img" });
  const [line, wall, here] = ["curve", "wall", "here"].map((name) => draw("path", { class: name }));
  const [equal, dots] = [write(0, 13, ""), draw("g", {})];
  const last = Math.log2(batches.at(-1));
  let plot = { left: 0, width: 1 };
  const xOf = (batch) => plot.left + (plot.width * Math.log2(batch)) / last;
  const yOf = (share) =>
    TOP + (TALL * (HIGH - Math.max(LOW, Math.min(HIGH, share)))) / (HIGH - LOW);
  whilePressed(element, (x) => {
    const distances = batches.map((batch) => Math.abs(xOf(batch) - x));
    pick(distances.indexOf(Math.min(...distances)));
  });

  function update({ counts, batch, shown, label }) {
    const shareAt = (size) => {
      const { whole, saved } = savingOf(counts, size);
      return saved / whole;
    };
    const path = Array.from({ length: Math.floor(last * NEAR) + 1 }, (_, step) => {
      const size = 2 ** (step / NEAR);
      return `${xOf(size).toFixed(1)},${yOf(shareAt(size)).toFixed(1)}`;
    });
    setOne(line, "d", `M${path.join("L")}`);
    const cross = counts[0] / counts[3];
    const inside = cross >= 1 && cross <= 2 ** last;
    const text = inside ? `equal at batch ${numberText(cross)}` : "";
    const half = (text.length * LETTER) / 2;
    setText(equal, text);
    setOne(equal, "x", Math.max(half, Math.min(plot.left + plot.width - half, xOf(cross))));
    setOne(wall, "d", inside ? `M${xOf(cross)},${TOP}v${TALL}` : "");
    setOne(here, "d", `M${xOf(batch)},${yOf(shareAt(batch))}m-6,0a6,6 0 1,0 12,0a6,6 0 1,0 -12,0z`);
    dots.replaceChildren(...shown.map(([size, dtype, share]) => draw("path", {
      class: `point ${dtype}`, d: `M${xOf(size)},${yOf(share)}m-6,0l6,-6l6,6l-6,6z` })));
    const measures = shown.map(([size, dtype, share]) =>
      ` Measured in ${dtype} at batch ${size}: ${inPercent(share)}.`);
    setOne(element, "aria-label", label + measures.join(""));
  }
  function fit(width) {
    plot = { left: 48, width: width - 68 };
    const [right, floor] = [plot.left + plot.width, TOP + TALL];
    const axis = draw("g", { class: "axis" },
      write(right, floor + 33, "batch", { "text-anchor": "end" }));
    for (const percent of [-10, 0, 10, 20, 30, 40, 50]) {
      const y = yOf(percent / 100);
      axis.append(draw("path", { class: percent ? "rule" : "", d: `M${plot.left},${y}H${right}` }),
        write(plot.left - 6, y + 4, `${percent} %`.replace("-", "−"), { "text-anchor": "end" }));
    }
    for (let power = 0; power <= last; power += width < SLIM ? 4 : 2) {
      axis.append(draw("path", { d: `M${xOf(2 ** power)},${floor}v4` }),
        write(xOf(2 ** power), floor + 17, counted(2 ** power)));
    }
    const zone = (name, from, to) => draw("rect", { class: `zone ${name}`, x: plot.left,
      y: yOf(to), width: plot.width, height: yOf(from) - yOf(to) });
    const tall = floor + BELOW;
    setAttributes(element, { width, height: tall, viewBox: `0 0 ${width} ${tall}` });
    element.replaceChildren(zone("less", 0, HIGH), zone("more", LOW, 0), axis,
      write(plot.left + 6, TOP + 15, "16 bits save", { "text-anchor": "start" }),
      write(right - 6, floor - 8, "16 bits cost", { "text-anchor": "end" }),
      equal, wall, line, dots, here);
  }
  return { element, update, fit };
}

function buildDoesItPay({ networks, batches, points, note }) {
  const state = { network: 0, batch: 0, place: networks[0].start[0], width: networks[0].start[1] };
  let room = 0; // pixels
  const speaker = makeSpeaker();
  const set = (change) => refresh(Object.assign(state, change));

  function makeDial(key) {
    const [name, value] = [make("span", { "aria-hidden": "true" }), make("output", {})];
    const slider = makeSlider(key, 0, 1, (step) => set({ [key]: step }));
    const show = (text, most, face) => {
      setText(name, text);
      setText(value, face);
      setAttributes(slider.element, { max: most, "aria-label": text });
      slider.set(state[key], face);
    };
    return { element: make("div", { class: "drag" }, name, value, slider.element), show };
  }
  const dials = { batch: makeDial("batch"), place: makeDial("place"), width: makeDial("width") };
  const choice = makeSelect(networks.map(({ name }, index) => [index, name]), 0, (index) => {
    const [place, width] = networks[index].start;
    set({ network: Number(index), place, width });
  });
  const verdict = make("p", { class: "verdict" });
  const [reason, key, about] = ["reason", "note", "note"].map((name) => make("p", { class: name }));
  const bars = { float32: makeBar("float32"), "16 bits": makeBar("16 bits") };
  const stage = make("div", { role: "img" }, ...Object.values(bars).map((bar) => bar.element));
  const chart = makeChart(batches, (batch) => set({ batch }));
  const { table, body, caption } = makeTable("left", ["part", "float32", "16 bits", "change"]);
  setText(caption, "The bars' parts, from left to right");
  const cells = Object.entries(PARTS).map(([part, text]) => {
    const values = [make("td"), make("td"), make("td")];
    body.append(make("tr", {}, make("th", { scope: "row" },
      make("span", { class: `swatch ${part}` }), text), ...values));
    return { part, values };
  });
  const dtypes = [...new Set(points.map(([, dtype]) => dtype))].join(" and ");
  const legend = `A diamond is the share that you measured in ${dtypes}. The line is counted, and `
    + "the count leaves some things out.";
  const element = make("div", { class: "explorer" },
    make("div", { class: "options" }, labelled("network", choice)),
    ...Object.values(dials).map((dial) => dial.element), verdict, stage, reason,
    make("p", { class: "head" }, "Share of the sum of all parts that 16 bits save"), chart.element,
    key, make("div", { class: "scroller" }, table),
    make("details", {}, make("summary", {}, "What is counted, and what is left out"), about,
      make("p", { class: "note" }, note)),
    speaker.element);

  function refresh() {
    const network = networks[state.network];
    const { unit, places, widths, counts: grid, start } = network;
    const [batch, place, width] = [batches[state.batch], places[state.place], widths[state.width]];
    const counts = grid[state.place][state.width];
    const own = state.network === 0 && state.place === start[0] && state.width === start[1];
    const shown = own ? points : [];
    const parts = { float32: partsOf(counts, batch, 32), "16 bits": partsOf(counts, batch, 16) };
    const most = Math.max(...Object.values(parts).map(sumOf));
    dials.batch.show("batch", batches.length - 1, counted(batch));
    dials.place.show(unit, places.length - 1, placesText(place, unit).replace(` ${unit}`, ""));
    dials.width.show("width", widths.length - 1, counted(width));
    const said = verdictOf(counts, batch, place, unit);
    const why = reasonOf(counts, width, place, unit);
    setText(verdict, said);
    verdict.classList.toggle("fine", savingOf(counts, batch).saved > 0);
    setText(reason, why);
    setText(about, `${network.name}: ${network.note}`);
    setText(key, shown.length ? legend : "");
    for (const [name, bar] of Object.entries(bars)) {
      bar.update({ parts: parts[name], most, width: room - 140 });
    }
    for (const { part, values } of cells) {
      const both = Object.values(parts).map((one) => one[part]);
      const texts = both.map((bytes) => (bytes ? bytesText(bytes) : "none"));
      [...texts, changeOf(...both)].forEach((text, index) => setText(values[index], text));
    }
    const list = Object.entries(parts).map(([name, one]) => `${name} ${bytesText(sumOf(one))}`);
    setOne(stage, "aria-label", `Memory of a step: ${list.join(", ")}. The table has the parts.`);
    const label = `What 16 bits save, over the batch. ${said} ${why}`;
    chart.update({ counts, batch, shown, label });
    speaker.say(`${network.name}, width ${counted(width)}. ${said}`);
  }
  function fit(given) {
    if (Math.floor(given) === room) return;
    room = Math.floor(given);
    element.classList.toggle("slim", room < SLIM);
    chart.fit(room);
    refresh();
  }
  refresh();
  return { element, measured: stage, fit };
}

attach("doesitpay", CSS, buildDoesItPay);
