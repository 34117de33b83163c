// What explorers share: their state and their width, and the sliders that change it.

import { PAPER, attach, make, makeSpeaker, setOne, setProperty, setText } from "./dom.mjs";

const ROOMY = 840; // pixels: ScaleScope's controls stand beside its scale

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
      element.classList.toggle("slim", width < PAPER);
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

// A slider with its name and what it is set to, to stand in a line or apart.
// → {name, output, slider, parts, set(value, face, said)}
export function makeDial(text, least, most, choose, label = text) {
  const [name, output] = [make("span", { "aria-hidden": "true" }, text), make("output")];
  const { element: slider, set: setSlider } = makeSlider(label, least, most, choose);
  function set(value, face, said = face) {
    setSlider(value, said);
    setText(output, face);
  }
  return { name, output, slider, set, parts: [name, output, slider] };
}

// A select of texts; choose(index) gets which.
export function makeMenu(texts, choose, chosen = 0) {
  const menu = make("select", { onchange: () => choose(menu.selectedIndex) },
    ...texts.map((text) => make("option", text)));
  menu.selectedIndex = chosen;
  return menu;
}
