// FloatLab: one number, and what each format keeps of it. State lives in here, per host.

import { makeArithmetic } from "./arithmetic.mjs";
import { makeFormat } from "./codec.mjs";
import { exact, meant } from "./digits.mjs";
import {
  attach, labelled, make, makeChips, makeComplaint, makeSelect, makeSpeaker, makeTabs, powerOfTwo,
  setChildren, setOne, setProperty, setText,
} from "./dom.mjs";
import { ROUNDINGS, isCode, understand } from "./entries.mjs";
import { makeLens } from "./lens.mjs";
import { makeFormula, makeRow } from "./rows.mjs";

const CHIPS = ["0.1", "π", "2^-24", "65504", "2048+1", "-4200000000", "NaN"];
const KEYS = [
  ["← →", "another bit, another example; move x on the number line"],
  ["Home End", "the first bit, the last bit"],
  ["Space", "flip the bit"],
  ["↑ ↓", "step up or down to the next value"],
  ["S E F", "to the sign, the exponent, the fraction"],
];

// A button that opens a small panel above what follows; Escape and leaving it close it.
function makePopup(name, face, content, attributes = {}) {
  const summary = make("summary", ...face);
  const popup = make(`details.popup.${name}`, {
    onfocusout: ({ relatedTarget }) => {
      if (relatedTarget && !popup.contains(relatedTarget)) popup.open = false;
    },
    onkeydown: (event) => {
      if (event.key !== "Escape" || !popup.open) return; // then it is the notebook's key
      popup.open = false;
      summary.focus();
      event.preventDefault();
      event.stopPropagation();
    },
  }, summary, make("div.boxes", attributes, ...content));
  return popup;
}

// The controls above the rows: entry, examples, rounding, formats.
// on: {entry(text), stale(bool), add(), select(name), set(changes), show(name, bool)}
// → {element, update()}; `state` as build keeps it.
function makeToolbar(names, state, on) {
  const field = make("input.entry", { type: "text", "aria-label": "Number or code",
    spellcheck: "false", autocomplete: "off", autocapitalize: "off" });
  const complaint = makeComplaint(field, on.entry, on.stale);
  const chips = makeChips("examples", CHIPS.map((text) => [
    text === "2^-24" ? powerOfTwo(-24) : [text.replace("-", "−")],
    () => (text === "2048+1" ? on.add() : on.entry(text.toLowerCase())),
    { "aria-label": text.replace("π", "pi") }]));
  const codes = makeSelect([], null, on.select);
  const rounding = makeSelect(Object.entries(ROUNDINGS), state.rounding,
    (name) => on.set({ rounding: name }));
  const saturate = make("input", { type: "checkbox",
    onchange: () => on.set({ saturate: saturate.checked }) });
  const boxes = names.map((name) => make("input", { type: "checkbox", value: name,
    onchange: ({ target }) => on.show(name, target.checked) }));
  const count = make("span");
  const element = make("div.toolbar",
    make("div.entry-line",
      make("div.entry-box",
        make("span.entry-name", "Number or code"), field,
        make("label.entry-codes", "codes are read as ", codes)),
      chips.element),
    complaint.element,
    make("div.options", labelled("rounding", rounding),
      make("label.check", saturate, " saturate"),
      makePopup("formats", ["Formats ", count], boxes.map((box) =>
        make("label", box, " ", box.value)), { role: "group", "aria-label": "formats to show" }),
      makePopup("keys", ["Keys"], [make("dl", ...KEYS.flatMap(([key, what]) => [
        make("dt", key), make("dd", what)]))])));

  function update() {
    const shown = state.shown.map(({ name }) => name);
    complaint.tell(state.message);
    setProperty(field, "value", state.entry);
    setChildren(codes, shown.map((name) => make("option", name)));
    setProperty(codes, "value", state.selected.name);
    for (const box of boxes) {
      setProperty(box, "checked", shown.includes(box.value));
      setProperty(box, "disabled", box.checked && shown.length === 1);
    }
    setText(count, `${shown.length} of ${names.length}`);
  }
  return { element, update };
}

// Build one FloatLab from the host's data.
function build(data) {
  const formats = new Map(data.formats.map((row) => [row.name, makeFormat(row)]));
  const shown = data.shown.map((name) => formats.get(name));
  const all = [...new Set([...shown, ...formats.values()])]; // in the order of the rows
  const float16First = !isCode(data.entry) && data.shown.includes("float16");
  const state = {
    entry: data.entry, // what the field shows
    value: null, // the last good number, exact; null before the first one
    edited: null, // {format, code} while a row's own bits are the number
    message: null, // what is wrong with the entry
    shown,
    selected: float16First ? formats.get("float16") : shown[0],
    rounding: "nearest_even",
    saturate: false,
    tab: "lens",
  };
  function set(changes) {
    Object.assign(state, changes);
    refresh();
  }

  const toolbar = makeToolbar([...formats.keys()], state, {
    entry: readEntry, add: addTo2048, select: readCodesAs, set, show: showFormat, stale: dim });
  const rows = new Map(all.map((format) => [format, makeRow(format, {
    select: () => select(format),
    edit: (code) => edit(format, code),
    light: (bits) => light(format, bits),
  })]));
  const formula = makeFormula((bits) => light(state.selected, bits));
  const lens = makeLens(state, (value) => readEntry(entryOf(value)));
  const speaker = makeSpeaker();
  const arithmetic = makeArithmetic(state, speaker.say);
  const tabs = makeTabs({
    lens: { title: "Number line", element: lens.element },
    arithmetic: { title: "Arithmetic", element: arithmetic.element },
  }, (tab) => set({ tab }));
  const list = make("div.rows", ...[...rows.values()].map(({ element }) => element));
  const element = make("div.explorer.floatlab",
    toolbar.element, list, formula.element, tabs.element, speaker.element);

  // A number as an entry: its digits, infinity or nan.
  const entryOf = (value) => exact(value).replace("−", "-").toLowerCase();
  function readEntry(entry) {
    const { code, value, message = null } = understand(entry, state.selected);
    Object.assign(state, { entry, message });
    if (message === null) {
      state.value = value;
      state.edited = code === undefined ? null : { format: state.selected, code };
    } else if (state.value !== null) {
      state.message += ` The rows still show ${meant(state.value)}.`;
    }
    refresh();
  }
  function addTo2048() {
    set({ tab: "arithmetic" });
    if (state.value === null) readEntry("2048"); // there is nothing to show yet
    arithmetic.set("2048", "add", "1");
  }

  // Dim what shows another number than the entry.
  function dim(isStale) {
    for (const part of [list, formula.element, lens.element]) {
      part.classList.toggle("stale", isStale);
    }
  }

  // Make a row's bit pattern the number.
  function edit(format, code) {
    const { value } = format.decode(code);
    set({ edited: { format, code }, value, message: null, selected: format,
      entry: entryOf(value) });
  }
  // Make a row the selected one. A code in the field would be read as another format's there.
  function select(format) {
    if (state.selected === format) return;
    state.selected = format;
    if (isCode(state.entry) && !state.message) state.entry = entryOf(state.value);
    refresh();
  }
  function readCodesAs(name) {
    state.selected = formats.get(name);
    if (isCode(state.entry)) readEntry(state.entry);
    else refresh();
  }
  function showFormat(name, isShown) {
    state.shown = all.filter((format) =>
      (format.name === name ? isShown : state.shown.includes(format)));
    if (state.shown.includes(state.selected)) refresh();
    else select(state.shown[0]);
  }
  function light(format, bits) {
    const lit = new Set(bits);
    rows.get(format).light(lit);
    if (format === state.selected) formula.light(lit);
  }

  function refresh() {
    const { value: x, edited, selected } = state;
    toolbar.update();
    for (const part of [list, formula.element, tabs.element]) {
      setProperty(part, "hidden", x === null); // there is nothing to show yet
    }
    if (x === null) {
      speaker.say("");
      return;
    }
    for (const [format, row] of rows) {
      setProperty(row.element, "hidden", !state.shown.includes(format));
    }
    for (const format of state.shown) {
      const stored = edited?.format === format ? format.decode(edited.code)
        : format.round(x, state);
      const sentence = rows.get(format).update(x, stored, format === selected);
      if (format === selected) {
        formula.update(stored, format);
        speaker.say(state.message ? "" : sentence); // a message speaks for itself
      }
    }
    const most = (count) => Math.max(...state.shown.map(count));
    setOne(list, "style", `--left: ${most(({ exponentBits }) => 1 + exponentBits)}; `
      + `--right: ${most(({ fractionBits }) => fractionBits)}`);
    tabs.choose(state.tab);
    (state.tab === "lens" ? lens : arithmetic).render();
  }

  readEntry(data.entry);
  // The classes do what a container query would, which makes every click a fifth slower.
  function fit(width) {
    element.classList.toggle("wide", width > 800);
    element.classList.toggle("narrow", width <= 800);
    element.classList.toggle("medium", width >= 540);
    element.classList.toggle("slim", width <= 400);
    element.style.setProperty("--width", `${width}px`);
    lens.fit(width);
  }
  return { element, fit };
}

attach("floatlab", CSS, build);
