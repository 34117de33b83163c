// GradientLife: one gradient on its way from the loss to its weight, and mistakes that move it.

import { SLIM, bandsOf, hatching, makeSlider, write } from "./bands.mjs";
import {
  attach, draw, labelled, make, makeChips, makeSelect, makeSpeaker, setAttributes, setOne, setText,
} from "./dom.mjs";
import { RULES, travel } from "./travel.mjs";
import { numberText, raised, spelled } from "./words.mjs";

const [TOP, ROW, RANGE] = [8, 34, { low: -64, high: 32 }]; // pixels, pixels, octaves

// What a step is beside that of float32.
function told(step, right) {
  if (step === null) return "The step is skipped, and the loss scale halves.";
  if (!Number.isFinite(step)) return "The weight becomes NaN.";
  if (step === 0) return "No step: the gradient has become 0.";
  const share = step / right;
  const many = (n) => Number(n.toPrecision(3)).toLocaleString("en-US");
  const much = Math.abs(share - 1) < 0.02 ? ""
    : share < 1 ? `1/${many(1 / share)} ` : `${many(share)} times `;
  return `The step is ${much}as long as in float32.`;
}

function buildLife({ limits, size, mistakes }) {
  const state = { size, scale: 15, rule: "SGD", made: [] };
  const [speaker, names] = [makeSpeaker(), Object.keys(mistakes)];
  let [plot, update] = [{}, () => {}];
  const set = (change) => refresh(Object.assign(state, change));
  const makeDrag = (name, key, min, max) => {
    const shown = make("output", { class: "power" });
    const slider = makeSlider(name, min, max, (value) => set({ [key]: value }));
    const show = (to = state[key]) => {
      slider.set(to, spelled(to));
      setText(shown, raised(to));
    };
    return { element: make("div", { class: "drag" }, name, shown, slider.element), show };
  };
  const sliders = [makeDrag("gradient", "size", -40, 4), makeDrag("loss scale", "scale", 0, 24)];
  const row = makeChips("mistakes", names.map((name) => [[mistakes[name]], () => set({
    made: names.filter((one) => state.made.includes(one) !== (one === name)) }), {}]));
  const rule = makeSelect(Object.keys(RULES).map((name) => [name, name]), state.rule,
    (name) => set({ rule: name }));
  const sentence = make("p", { class: "sentence" });
  const svg = draw("svg", { class: "life", role: "img" });
  const element = make("div", { class: "explorer" }, ...sliders.map((one) => one.element),
    make("div", { class: "options" }, labelled("update rule", rule),
      make("span", { class: "note" }, "mistakes"), row.element), svg,
    make("p", { class: "note" }, "● float32 · ▲ float16 · broad line: the way without mistakes"),
    sentence, speaker.element);

  const yOf = (index) => TOP + (index + 0.5) * ROW;
  const place = (octave) => plot.left + 16 + (octave - RANGE.low) * plot.step;
  // Zero has a place of its own at the left end, infinity and NaN at the right one.
  const xOf = (v) => (v === 0 ? plot.left + 6 : v === null || !Number.isFinite(v) ? plot.right - 6
    : place(Math.max(RANGE.low, Math.min(RANGE.high, Math.log2(v)))));
  const line = (way) => way.filter(([, v]) => v !== null).map(([, v], index) =>
    `${index ? "L" : "M"}${xOf(v).toFixed(1)},${yOf(index).toFixed(1)}`).join("");

  function drawRows(count) {
    const [floor, rows] = [TOP + count * ROW, draw("g", { class: "axis" })];
    for (const { name, from, to } of bandsOf(limits, RANGE)) {
      const box = { x: place(from), y: yOf(2) - 13, width: place(to) - place(from), height: 26 };
      rows.append(draw("rect", { class: `band ${name}`, ...box }), ...hatching(name, box));
    }
    for (let index = 0; index < count; index += 1) {
      rows.append(draw("path", { class: "track", d: `M${plot.left},${yOf(index)}H${plot.right}` }));
    }
    for (let octave = -60; octave <= RANGE.high; octave += plot.step < 4 ? 30 : 10) {
      rows.append(draw("path", { d: `M${place(octave)},${floor}v4` }),
        write(place(octave), floor + 17, raised(octave)));
    }
    rows.append(draw("path", { d: `M${plot.left},${floor}H${plot.right}` }),
      write(plot.left + 6, floor + 17, "0"), write(plot.right - 3, floor + 17, "∞"));
    return rows;
  }

  function refresh({ rule: chosen, made } = state) {
    const [g, S] = [1.3 * 2 ** state.size, 2 ** state.scale];
    const way = travel(g, S, made, chosen, limits);
    const words = told(way.at(-1)[1], RULES[chosen](Math.min(Math.fround(g), 1)));
    for (const one of sliders) one.show();
    row.chips.forEach((chip, at) =>
      setOne(chip, "aria-pressed", String(made.includes(names[at]))));
    setText(sentence, words);
    const heard = way.map(([station, v]) => `${station} ${v === null ? "none" : numberText(v)}`);
    setOne(svg, "aria-label", `${heard.join(", ")}. ${words}`);
    speaker.say(words);
    update(way, travel(g, S, [], chosen, limits));
  }

  function fit(given) {
    const [width, slim] = [Math.floor(given), given < SLIM];
    if (width === plot.whole) return;
    const left = slim ? 74 : 156;
    plot = { whole: width, left, right: width - 8,
      step: (width - left - 40) / (RANGE.high - RANGE.low) };
    const long = slim ? {} : { backward: "backward pass, float16", weight: "at the weight" };
    const marks = travel(1, 1, [], "SGD", limits).map(([station], index) => {
      const narrow = station === "backward";
      return { name: write(left - 10, yOf(index) + 4, "", { "text-anchor": "end" }),
        shape: draw("path", { class: `mark ${narrow ? "float16" : "float32"}`,
          d: narrow ? "M-7,6L0,-7L7,6z" : "M-6,0a6,6 0 1,0 12,0a6,6 0 1,0 -12,0" }),
        value: write(null, yOf(index) - 8, "", { class: "value" }) };
    });
    const height = TOP + marks.length * ROW + 26;
    const [should, does] = ["should", "does"].map((kind) => draw("path", { class: kind }));
    setAttributes(svg, { width, height, viewBox: `0 0 ${width} ${height}` }).replaceChildren(
      drawRows(marks.length), should, does, ...marks.flatMap(Object.values));
    update = (way, ideal) => {
      setOne(should, "d", line(ideal));
      setOne(does, "d", line(way));
      marks.forEach(({ name, shape, value }, index) => {
        const [[station, v], x] = [way[index], xOf(way[index][1])];
        const end = x > plot.right - 60;
        setText(name, long[station] ?? station);
        setOne(shape, "visibility", v === null ? "hidden" : null);
        setOne(shape, "transform", `translate(${x.toFixed(1)},${yOf(index)})`);
        setAttributes(value, { x: x + (end ? -9 : 9), "text-anchor": end ? "end" : "start" });
        setText(value, v === null ? "skipped" : numberText(v));
      });
    };
    refresh();
  }
  refresh();
  return { element, fit };
}

attach("gradientlife", CSS, buildLife);
