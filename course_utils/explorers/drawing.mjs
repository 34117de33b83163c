// What explorers share: their state and their width, and the sliders that change it.

import { attach, make, makeSpeaker, setOne, setProperty, setText } from "./dom.mjs";
import { SLIM } from "./plot.mjs";

const ROOMY = 840; // pixels: ScaleScope's controls stand beside its tabs

// Build an explorer into each of its hosts. build(data, set) gives {state, parts, look}: the parts
// are its elements, and look(width) shows the state in so many pixels, at each set(change) of it
// and at each new width, and returns what is said aloud.
export function explore(name, css, build) {
  attach(name, css, (data) => {
    const speaker = makeSpeaker();
    let room = 0; // pixels, until it is shown
    const { state, parts, look } = build(data, (change) => {
      Object.assign(state, change);
      speaker.say(look(room));
    });
    const element = make(`div.explorer.${name}`, ...parts, speaker.element);
    function fit(width) {
      room = width;
      element.style.setProperty("--width", `${width}px`);
      element.classList.toggle("slim", width < SLIM);
      element.classList.toggle("wide", width >= ROOMY);
      speaker.say(look(width));
    }
    return { element, fit };
  });
}

// A slider over whole numbers. → {element, set(value, what is said of it)}
export function makeSlider(label, min, max, choose, name = "slider") {
  const element = make("input", { type: "range", class: name, min, max, step: 1,
    "aria-label": label, oninput: () => choose(Number(element.value)) });
  function set(value, said) {
    setProperty(element, "value", String(value));
    setOne(element, "aria-valuetext", said);
  }
  return { element, set };
}

// A slider in a line, with its name before it, and between them what it is set to.
// → {element, name, slider, set(value, face, said)}
export function makeDial(text, least, most, choose, label = text) {
  const [name, shown] = [make("span", { "aria-hidden": "true" }, text), make("output")];
  const slider = makeSlider(label, least, most, choose);
  function set(value, face, said = face) {
    slider.set(value, said);
    setText(shown, face);
  }
  return { element: make("div.drag", name, shown, slider.element), name,
    slider: slider.element, set };
}
