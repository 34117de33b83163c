// What explorers with one drawing share: the drawing with what is told of it and the sliders that
// change it, and the parts that a drawing is made of.

import { makeSlider, write } from "./bands.mjs";
import { draw, make, makeSpeaker, setAttributes, setChildren, setText } from "./dom.mjs";

export const ENDING = { "text-anchor": "end" }; // of a text that ends at its place
export const STARTING = { "text-anchor": "start" };

// A drawing that is made anew at each change of `state` and at each new width. `look(width)` gives
// {nodes, height, words}, and where they differ from the words the `label` of the drawing and what
// is `heard`. → {element, sentence, spoken, set(change), fit(width), dial}; the sentence shows the
// words.
export function makeDrawing(name, state, look) {
  const element = draw(`svg.drawing.${name}`, { role: "img" });
  const sentence = make("p.sentence");
  const speaker = makeSpeaker();
  let width = 0; // pixels, until it is shown
  function refresh() {
    const { nodes, height, words, heard = words, label = heard } = look(width);
    setAttributes(element, { width, height, viewBox: `0 0 ${width} ${height}`,
      "aria-label": label });
    setChildren(element, nodes);
    setText(sentence, words);
    speaker.say(heard);
  }
  function set(change) {
    Object.assign(state, change);
    refresh();
  }
  function fit(given) {
    width = given;
    refresh();
  }
  // A slider for `key` of the state, with its name before it, and between them what it is set to.
  // → {element, name, slider, show(face, said)}
  function dial(key, text, least, most, label = text) {
    const [before, shown] = [make("span", { "aria-hidden": "true" }, text), make("output")];
    const slider = makeSlider(label, least, most, (step) => set({ [key]: step }));
    function show(face, said = face) {
      slider.set(state[key], said);
      setText(shown, face);
    }
    return { element: make("div.drag", before, shown, slider.element), name: before,
      slider: slider.element, show };
  }
  return { element, sentence, spoken: speaker.element, set, fit, dial };
}

// A line, or whatever else a path can draw.
export const trace = (name, d) => draw("path", { class: name, d });

// A path's way through points, [[x, y]]; one that is null interrupts it.
export const through = (points) => points.map((point, index) => (point === null ? ""
  : `${points[index - 1] ? "L" : "M"}${point[0].toFixed(1)},${point[1].toFixed(1)}`)).join("");

// The multiples of a step that are neither below the one end nor above the other.
export function multiples(step, low, high) {
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first + 1;
  return Array.from({ length: count }, (_, index) => (first + index) * step);
}

// The marks of an axis that lies at y, [[x, text]]; and lines across a drawing, [[y, text]].
export const ticks = (y, marks) => marks.flatMap(([x, text]) =>
  [trace("tick", `M${x},${y}v4`), write(x, y + 17, text)]);
export const rules = (left, right, marks) => marks.flatMap(([y, text]) =>
  [trace("rule", `M${left},${y}H${right}`), write(left - 6, y + 4, text, ENDING)]);
