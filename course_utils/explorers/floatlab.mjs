// FloatLab: one number, and what each format keeps of it. State lives in here, per host.

import { makeLink } from "./address.mjs";
import { makeFormat } from "./codec.mjs";
import { exact, readable } from "./digits.mjs";
import {
  labelled, make, makeChips, makeEntry, powerOfTwo, setChildren, setOne, setText,
} from "./dom.mjs";
import { explore, makeMenu } from "./drawing.mjs";
import { ROUNDINGS, isCode, understand } from "./entries.mjs";
import { makeLens } from "./lens.mjs";
import { makeFormula, makeRow } from "./rows.mjs";

const CHIPS = ["0.1", "π", "2^-24", "65504", "2049", "-4200000000", "NaN"];
const KEYS = [
  ["← →", "another bit, another example; move x on the number line"],
  ["Home End", "the first bit, the last bit"],
  ["Space", "flip the bit"],
  ["↑ ↓", "step up or down to the next value"],
  ["S E F", "to the sign, the exponent, the fraction"],
];

// A number as an entry: its digits, infinity or NaN.
const entryOf = (value) => exact(value).replace("−", "-");

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
      event.stopPropagation();
    },
  }, summary, make("div.boxes", attributes, ...content));
  return popup;
}

// Build one FloatLab from the host's data.
function buildLab(data, set) {
  const formats = new Map(data.formats.map((row) => [row.name, makeFormat(row)]));
  const first = data.shown.map((name) => formats.get(name));
  const all = [...new Set([...first, ...formats.values()])]; // in the order of the rows
  const float16First = !isCode(data.entry) && data.shown.includes("float16");
  const state = {
    entry: data.entry, // what the field shows
    value: null, // the last good number; null before the first one
    typed: {}, // what else was read of it, if it was typed as one
    edited: null, // what a row's own bits are, decoded, while they are the number
    message: null, // what is wrong with the entry
    shown: first,
    selected: float16First ? formats.get("float16") : first[0],
    rounding: "nearest_even",
    saturate: false,
  };

  // What an entry changes, where a code is one of a format.
  function take(entry, format = state.selected) {
    const { code, message = null, ...typed } = understand(entry, format);
    if (message === null) {
      return { entry, message, typed, value: typed.value,
        edited: code === undefined ? null : format.decode(code) };
    }
    const still = state.value === null ? ""
      : ` The rows still show ${readable(state.value, 24, 12, state.typed.text)}.`;
    return { entry, message: message + still };
  }
  Object.assign(state, take(data.entry));

  // Make a row's bit pattern the number.
  function edit(format, code) {
    const edited = format.decode(code);
    const { value, kind, hex } = edited;
    set({ edited, value, typed: {}, message: null, selected: format,
      entry: kind === "nan" ? hex : entryOf(value) }); // NaN has many codes
  }
  // Make a row the selected one. A code in the field would be read as another format's there.
  function select(format) {
    if (state.selected === format) return;
    const isCodeOfThis = isCode(state.entry) && !state.message;
    set({ selected: format, entry: isCodeOfThis ? entryOf(state.value) : state.entry });
  }
  function showFormat({ target: { value, checked } }) {
    state.shown = all.filter((format) =>
      (format.name === value ? checked : state.shown.includes(format)));
    listRows();
    if (state.shown.includes(state.selected)) set({});
    else select(state.shown[0]);
  }
  function light(format, bits) {
    const lit = new Set(bits);
    rows.get(format).light(lit);
    if (format === state.selected) formula.light(lit);
  }

  // The controls above the rows
  const { field, message, tell } = makeEntry("Number or code", (text) => set(take(text)),
    (isStale) => results.classList.toggle("stale", isStale)); // then they show another number
  const chips = makeChips("examples", CHIPS.map((text) => [
    text === "2^-24" ? powerOfTwo(-24) : [text.replace("-", "−")],
    () => set(take(text)), { "aria-label": text.replace("π", "pi") }]));
  const codes = makeMenu([], (index) => {
    const selected = state.shown[index];
    set({ selected, ...(isCode(state.entry) && take(state.entry, selected)) });
  });
  const rounding = makeMenu(Object.values(ROUNDINGS), (index) =>
    set({ rounding: Object.keys(ROUNDINGS)[index] }));
  const saturate = make("input", { type: "checkbox",
    onchange: () => set({ saturate: saturate.checked }) });
  const boxes = data.formats.map(({ name }) =>
    make("input", { type: "checkbox", value: name, onchange: showFormat }));
  const count = make("span");
  const toolbar = make("div.toolbar",
    make("div.entry-line",
      make("div.entry-box",
        make("span.entry-name", "Number or code"), field,
        make("label.entry-codes", "codes are read as ", codes)),
      chips.element),
    message,
    make("div.options", labelled("rounding", rounding),
      make("label.check", saturate, " saturate"),
      makePopup("formats", ["Formats ", count], boxes.map((box) =>
        make("label", box, " ", box.value)), { role: "group", "aria-label": "formats to show" }),
      makePopup("keys", ["Keys"], [make("dl", ...KEYS.flatMap(([key, what]) => [
        make("dt", key), make("dd", what)]))])));

  // What they show
  const rows = new Map(); // of the formats that were shown
  function rowOf(format) {
    if (!rows.has(format)) {
      rows.set(format, makeRow(format, {
        select: () => select(format),
        edit: (code) => edit(format, code),
        light: (bits) => light(format, bits),
      }));
    }
    return rows.get(format);
  }
  const list = make("div.rows");
  const listRows = () =>
    list.replaceChildren(...state.shown.map((format) => rowOf(format).element));
  listRows();
  const formula = makeFormula((bits) => light(state.selected, bits));
  const lens = makeLens(state, (value) => set(take(entryOf(value))));
  const results = make("div", list, formula.element, lens.element);

  function look(width) {
    const { value: x, typed, edited, shown, selected } = state;
    tell(state.message);
    field.value = state.entry;
    setChildren(codes, shown.map(({ name }) => make("option", name)));
    codes.selectedIndex = shown.indexOf(selected);
    for (const box of boxes) {
      box.checked = shown.includes(formats.get(box.value));
      box.disabled = box.checked && shown.length === 1;
    }
    setText(count, `${shown.length} of ${all.length}`);
    results.hidden = x === null; // there is nothing to show yet
    if (x === null) return "";

    let words = "";
    for (const format of shown) {
      const stored = edited?.format === format.name ? edited : format.round(x, state);
      const sentence = rows.get(format).update(x, typed, stored, format === selected);
      if (format === selected) {
        formula.update(stored, format);
        words = sentence;
      }
    }
    const most = (bitsOf) => Math.max(...shown.map(bitsOf));
    setOne(list, "style", `--left: ${most(({ exponentBits }) => 1 + exponentBits)}; `
      + `--right: ${most(({ fractionBits }) => fractionBits)}`);
    lens.render(width);
    return state.message ? "" : words; // a message speaks for itself
  }
  return { state, look, parts: [toolbar, results, makeLink("float.html", () => ({
    [state.selected.name]: state.entry, rounding: state.rounding, saturate: state.saturate,
    rows: state.shown.map(({ name }) => name) }))] };
}

explore("floatlab", CSS, buildLab);
