// What explorers share: their place in a page, their state and width, what is said aloud, and the
// sliders and menus that change them.

import { PAPER, make, setOne, setText } from "./dom.mjs";

const ROOMY = 840; // pixels: ScaleScope's controls stand beside its scale
const SPEAK_AFTER_MS = 400;

// A live region that says only the last of several quick messages. The first one is what the page
// loads with, and is not said.
function makeSpeaker() {
  const element = make("p.spoken", { role: "status", "aria-live": "polite" });
  let timer = 0;
  let said = null;
  function say(text) {
    if (said !== null && text !== said) {
      clearTimeout(timer);
      timer = setTimeout(() => setText(element, text), SPEAK_AFTER_MS);
    }
    said = text;
  }
  return { element, say };
}

// JupyterLab listens on the document, where it sees the host and not the field or button in its
// shadow root: it would take the letters a learner types for its own shortcuts, and cut the cell
// on "x". So keys stay inside, except those that save, run the cell or leave it. Nothing is
// prevented: Tab moves the focus and Ctrl+C copies. Listeners on elements inside run before this.
function guardKeys(root) {
  const isForTheNotebook = (event) => {
    const command = event.ctrlKey || event.metaKey;
    if (event.key === "Escape") return true;
    if (event.key === "Enter") return command || event.shiftKey;
    return command && event.key.toLowerCase() === "s";
  };
  for (const type of ["keydown", "keypress", "keyup"]) {
    root.addEventListener(type, (event) => {
      if (!isForTheNotebook(event)) event.stopPropagation();
    });
  }
}

// Put an explorer of this data into a host's shadow root. A page that is printed gets narrower
// without a ResizeObserver being told.
function put(host, name, css, build, data) {
  const speaker = makeSpeaker();
  let room = 0; // whole pixels, until it is shown
  const { state, parts, look } = build(data, (change) => {
    Object.assign(state, change);
    if (room) speaker.say(look(room));
    else fit();
  });
  const element = make(`div.explorer.${name}`);
  const root = host.attachShadow({ mode: "open" });
  root.append(make("style", css), element);
  guardKeys(root);
  function fit(most = Infinity) {
    const width = Math.floor(Math.min(element.getBoundingClientRect().width, most));
    if (width === 0 || width === room) return; // 0: it is not shown
    room = width;
    element.style.setProperty("--width", `${room}px`);
    element.classList.toggle("slim", room < PAPER);
    element.classList.toggle("wide", room >= ROOMY);
    speaker.say(look(room));
  }
  fit(); // the observer is told at the first frame, and a layout without the parts is cheap
  element.append(...parts, speaker.element);
  addEventListener("beforeprint", () => fit(PAPER));
  addEventListener("afterprint", () => fit());
  new ResizeObserver(() => fit()).observe(element);
}

// Build an explorer into each of its hosts. build(data, set) gives {state, parts, look}: the parts
// are its elements, and look(width) shows the state in so many pixels, at each set(change) of it
// and at each new width, and returns what is said aloud. Others may use the hosts' attribute, with
// data that build cannot read: the console says why, and the next host may be one.
export function explore(name, css, build) {
  const all = document.querySelectorAll(`[data-${name}] > script[type="application/json"]`);
  for (const { parentElement: host, textContent } of all) {
    try {
      if (!host.shadowRoot) put(host, name, css, build, JSON.parse(textContent));
    } catch (error) {
      reportError(error);
    }
  }
}

// A slider over whole numbers. → {element, set(value, what is said of it)}
export function makeSlider(label, min, max, choose, name = "slider") {
  const element = make("input", { type: "range", class: name, min, max, step: 1,
    "aria-label": label, oninput: () => choose(Number(element.value)) });
  function set(value, said) {
    element.value = value;
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
