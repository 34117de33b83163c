// SoftmaxCliff: the gradient of one wrong sample against the logit gap, in three dtypes,
// and on it the samples of a batch.

import { SLIM, makeSlider, write } from "./bands.mjs";
import {
  attach, draw, labelled, make, makeChips, makeSelect, makeSpeaker, setAttributes, setOne, setText,
} from "./dom.mjs";
import { raised, spelled } from "./words.mjs";

const [LANE, TOP, TALL, BESIDE] = [50, 86, 160, 5]; // pixels, the last between equal lines
const [DOT, PILE] = [10, 8]; // pixels from dot to dot, dots in a column
const CHANCES = [[0.5, "50 %"], [0.01, "1 %"], [1e-4, "0.01 %"], [1e-6, "10⁻⁶"], [1e-8, "10⁻⁸"]];

// A gap, and what it means as the probability of the right class.
function told(gap) {
  const chance = Number((100 / (1 + Math.exp(gap))).toPrecision(2));
  return gap.toFixed(1) + (chance < 0.01 ? "" : ` (the right class gets ${chance} %)`);
}

function buildCliff({ step, first, curves, samples }) {
  const state = { scale: 0, batch: 32 };
  const names = Object.keys(curves);
  const end = (curves.float32.values.length - 1) * step;
  const zeroOf = (name) => curves[name].values.indexOf(0) * step;
  const [zero, later] = [zeroOf("bfloat16"), zeroOf("float16")];
  let [plot, update] = [{}, () => {}];
  const indices = samples.map((gap) => Math.round(Math.min(end, Math.max(0, gap)) / step));
  const count = (test) => indices.filter(test).length;
  const lost = (name) => count((index) => curves[name].values[index] === 0);
  const inside = (range, index) => index >= range[0] && index < range[1];

  const speaker = makeSpeaker();
  const set = (change) => refresh(Object.assign(state, change));
  const shown = make("output", { class: "scale-text" });
  const slider = makeSlider("loss scale", 0, 24, (scale) => set({ scale }));
  const chips = makeChips("fixed scales", [0, 5, 10, 15].map((scale) => [
    [raised(scale) + (scale === 15 ? ", Keras's first" : "")], () => set({ scale }), {}]));
  const batch = makeSelect([1, 32, 256].map((size) => [size, size]), state.batch,
    (size) => set({ batch: Number(size) }));
  const sentence = make("p", { class: "sentence" });
  const svg = draw("svg", { class: "cliff", role: "img" });
  const element = make("div", { class: "explorer" },
    make("div", { class: "scale-head" }, make("span", { "aria-hidden": "true" }, "loss scale"),
      shown, chips.element, labelled("samples in the batch", batch)),
    slider.element, make("div", { class: "keys", "aria-hidden": "true" },
      "Size of the gradient of one wrong sample (equal lines stand side by side):",
      ...names.map((name) => make("span", { class: `key ${name}` }, name)),
      samples.length ? "Dot: a sample of the batch, empty if it teaches nothing in bfloat16" : ""),
    svg, sentence, speaker.element);

  const xOf = (gap) => plot.left + (gap / end) * plot.width;
  const yOf = (value) => TOP + (1 - value) * TALL;

  // A curve as a path, a little aside; where it is not finite it runs in the lane above.
  const pathOf = ({ values, broken }, share, aside) => values.map((value, index) => {
    const [from, to] = broken[share] ?? [];
    const y = index >= from && index < to ? LANE : yOf(value) + aside;
    return `${index ? "L" : "M"}${xOf(index * step).toFixed(1)},${y.toFixed(1)}`;
  }).join("");

  // The samples as dots on bfloat16's line, those of one place in a pile; at the left edge those
  // that are right, at the right edge those beyond the axis.
  function drawSamples() {
    const piles = new Map();
    return samples.map((gap, number) => {
      const value = curves.bfloat16.values[indices[number]];
      const key = gap > end ? "far" : Math.round(xOf(indices[number] * step) / DOT);
      const place = piles.get(key) ?? 0;
      piles.set(key, place + 1);
      const aside = (gap > end ? -1 : 1) * DOT * (0.6 + Math.floor(place / PILE));
      const low = gap < 0 ? 0 : value;
      return draw("circle", { class: value ? "dot" : "dot lost", r: 4,
        cx: xOf(indices[number] * step) + (gap < 0 || gap > end ? aside : 0),
        cy: yOf(low) - DOT * (place % PILE) });
    });
  }

  // A zone, and above the plot what is from its left edge on. → a function that moves it
  function makeZone(name, title) {
    const y = LANE - 12;
    const box = draw("rect", { class: `zone ${name}`, y, height: plot.bottom - y });
    const text = write(xOf(end), name === "zero" ? 32 : 16, "", { "text-anchor": "end" });
    svg.append(box, text);
    return (from, to) => {
      setAttributes(box, { x: xOf(from), width: xOf(to) - xOf(from) });
      setText(text, to > from ? `${title} from ${from.toFixed(1)} on` : "");
    };
  }

  function drawAxes(slim) {
    const [group, floor] = [draw("g", { class: "axis" }), plot.bottom];
    const tick = (x, y, text) =>
      group.append(draw("path", { d: `M${x},${y}v4` }), write(x, y + 17, text));
    group.append(...[0, 0.5, 1].map((value) =>
      write(plot.left - 8, yOf(value) + 4, value, { "text-anchor": "end" })));
    for (let gap = 0; gap <= end; gap += slim ? 5 : 2) tick(xOf(gap), floor, gap);
    for (const [chance, text] of CHANCES) tick(xOf(Math.log(1 / chance - 1)), floor + 40, text);
    group.append(draw("path", { d: `M${plot.left},${floor}h${plot.width}m0,40h${-plot.width}` }),
      write(xOf(end), floor + 33, "logit gap of the wrong class", { "text-anchor": "end" }),
      write(xOf(end), floor + 73, "probability of the right class", { "text-anchor": "end" }),
      write(0, LANE + 4, slim ? "∞" : "not finite", { "text-anchor": "start" }));
    return group;
  }

  function refresh({ scale, batch: size } = state) {
    const share = scale - Math.log2(size) - first;
    const broken = (curves.float16.broken[share] ?? []).map((index) => index * step);
    const until = broken.length ? `not finite from a gap of ${told(broken[0])} on. Below it`
      : "finite at every gap. It";
    const words = `float16's gradient is ${until} is right; from ${zero.toFixed(1)} on `
      + `bfloat16's is zero, and from ${later.toFixed(1)} on float16's too.`;
    const beyond = count((index) => inside(curves.float16.broken[share] ?? [0, 0], index));
    const counted = samples.length ? ` Of ${samples.length} samples ${lost("bfloat16")} teach `
      + `nothing in bfloat16. In float16 ${lost("float16")} teach nothing, and the gradient of `
      + `${beyond} is not finite${beyond ? ", so the step is skipped" : ""}.` : "";
    const heard = `Scale ${spelled(scale)}, batch of ${size}: ${words}${counted}`;
    slider.set(scale, `${spelled(scale)} = ${2 ** scale}`);
    setText(shown, `${raised(scale)} = ${(2 ** scale).toLocaleString("en-US")}`);
    setText(sentence, words + counted);
    setOne(svg, "aria-label", heard);
    speaker.say(heard);
    update(share, broken);
  }
  function fit(given) {
    const [width, slim] = [Math.floor(given), given < SLIM];
    if (width === plot.whole) return;
    const left = slim ? 30 : 64;
    plot = { whole: width, left, width: width - left - 10, bottom: TOP + TALL + 2 * BESIDE };
    const height = plot.bottom + 80;
    setAttributes(svg, { width, height, viewBox: `0 0 ${width} ${height}` }).replaceChildren();
    const none = makeZone("zero", "bfloat16: zero");
    const skipped = makeZone("broken", slim ? "float16: step skipped"
      : "float16: not finite, step skipped,");
    const lines = names.map((name) => draw("path", { class: `curve ${name}` }));
    const dots = drawSamples();
    const far = samples.filter((gap) => gap > end).length;
    svg.append(drawAxes(slim), ...lines, ...dots);
    if (far) svg.append(write(xOf(end), yOf(0) - DOT * PILE - 14, `${far} beyond ${end}`,
      { "text-anchor": "end" }));
    const right = samples.filter((gap) => gap < 0).length;
    const above = yOf(0) - DOT * Math.min(right, PILE) - 4;
    if (right) svg.append(write(xOf(0) + 2, above, `${right} right`, { "text-anchor": "start" }));
    none(zero, end);
    update = (share, [from = end, to = end]) => {
      skipped(from, to);
      names.forEach((name, index) => setOne(lines[index], "d",
        pathOf(curves[name], share, (index - 1) * BESIDE)));
      dots.forEach((dot, number) => dot.classList.toggle("skipped",
        inside(curves.float16.broken[share] ?? [0, 0], indices[number])));
    };
    refresh();
  }
  refresh();
  return { element, fit };
}

attach("softmaxcliff", CSS, buildCliff);
