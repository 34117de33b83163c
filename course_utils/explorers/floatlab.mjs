// FloatLab: one number, and what each format keeps of it. State lives in here, per host.

import { makeArithmetic } from "./arithmetic.mjs";
import { describeError, describeRow } from "./bins.mjs";
import { makeFormat } from "./codec.mjs";
import { exact, meant, readable } from "./digits.mjs";
import {
  attach, labelled, make, makeChips, makeComplaint, makeSelect, makeSpeaker, makeTabs, powerOfTwo,
  setOne, setProperty, setText,
} from "./dom.mjs";
import { EntryError, ROUNDINGS, isCode, parse, parseCode } from "./entries.mjs";
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

// How a chip shows its text: powers raised, true minus signs.
function chipFace(text) {
  const power = /^2\^(-?[0-9]+)$/.exec(text);
  return power ? powerOfTwo(power[1]) : [text.replace("-", "−")];
}

// A button that opens a small panel above what follows; Escape and leaving it close it.
function makePopup(name, face, content, attributes = {}) {
  const summary = make("summary", ...face);
  const popup = make(`details.popup.${name}`, summary,
    make("div.boxes", { ...attributes }, ...content));
  popup.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !popup.contains(relatedTarget)) popup.open = false;
  });
  popup.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !popup.open) return; // then it is the notebook's key
    popup.open = false;
    summary.focus();
    event.preventDefault();
    event.stopPropagation();
  });
  return popup;
}

// The controls above the rows: entry, examples, rounding, formats.
// on: {entry(text), stale(bool), chip(text), select(name), set(changes), show(name, bool)}
// → {element, field, update()}; `state` as startFloatLab keeps it.
function makeToolbar(names, state, on) {
  const field = make("input.entry", { type: "text", "aria-label": "Number or code",
    spellcheck: "false", autocomplete: "off", autocapitalize: "off" });
  const complaint = makeComplaint(field, on.entry, on.stale);
  const chips = makeChips("examples", CHIPS.map((text) => [chipFace(text), () => on.chip(text),
    { "data-entry": text, "aria-label": text.replace("π", "pi") }]));
  const codes = makeSelect(names.map((name) => [name, name]), state.selected.name, on.select);
  const rounding = makeSelect(Object.entries(ROUNDINGS), state.rounding,
    (name) => on.set({ rounding: name }));
  const saturate = make("input", { type: "checkbox",
    onchange: () => on.set({ saturate: saturate.checked }) });
  const boxes = names.map((name) => make("input", { type: "checkbox", value: name,
    onchange: ({ target }) => on.show(name, target.checked) }));
  const count = make("span");
  const formats = makePopup("formats", ["Formats ", count],
    boxes.map((box) => make("label", box, " ", box.value)),
    { role: "group", "aria-label": "formats to show" });
  const keys = makePopup("keys", ["Keys"], [make("dl", ...KEYS.flatMap(([key, what]) => [
    make("dt", key), make("dd", what)]))]);
  const element = make("div.toolbar",
    make("div.entry-line",
      make("div.entry-box",
        make("span.entry-name", "Number or code"), field,
        make("label.entry-codes", "codes are read as ", codes)),
      chips.element),
    complaint.element,
    make("div.options", labelled("rounding", rounding),
      make("label.check", saturate, " saturate"), formats, keys));

  function update() {
    const shown = state.shown.map(({ name }) => name);
    complaint.tell(state.message);
    setProperty(field, "value", state.entry);
    setProperty(codes, "value", state.selected.name);
    for (const option of codes.options) {
      // A hidden option alone can still be chosen by typing its first letters.
      for (const name of ["hidden", "disabled"]) {
        setProperty(option, name, !shown.includes(option.value));
      }
    }
    setProperty(rounding, "value", state.rounding);
    setProperty(saturate, "checked", state.saturate);
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
  const views = new Map(); // format → what its row shows
  const set = (changes) => {
    Object.assign(state, changes);
    refresh();
  };

  const toolbar = makeToolbar([...formats.keys()], state, {
    entry: readEntry, select: readCodesAs, set, show: showFormat, stale: dim,
    chip: (text) => (text === "2048+1" ? addTo2048() : readEntry(text === "NaN" ? "nan" : text)),
  });
  const rows = new Map(all.map((format) => [format, makeRow(format, {
    select: () => select(format),
    flip: (index) => {
      const bit = 2 ** (format.bits - 1 - index);
      edit(format, ((views.get(format).stored?.code ?? 0) ^ bit) >>> 0); // of 32 bits, unsigned
    },
    step: (direction) => step(format, direction),
    light: (bit) => light(format, bit === null ? [] : [bit]),
  })]));
  const formula = makeFormula((bits) => light(state.selected, bits ?? []));
  const lens = makeLens({ move: (value) => readEntry(entryOf(value)) });
  const speaker = makeSpeaker();
  const arithmetic = makeArithmetic(speaker.say);
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
    state.entry = entry;
    try {
      if (isCode(entry)) {
        const code = parseCode(entry, state.selected);
        state.edited = { format: state.selected, code };
        state.value = state.selected.decode(code).value;
      } else {
        state.value = parse(entry);
        state.edited = null;
      }
      state.message = null;
    } catch (error) {
      if (!(error instanceof EntryError)) throw error;
      state.message = error.message + (state.value !== null
        ? ` The rows still show ${meant(state.value)}.` : "");
    }
    refresh();
  }
  function addTo2048() {
    set({ tab: "arithmetic" });
    if (state.value === null) readEntry("2048"); // there is nothing to show yet
    arithmetic.set("2048", "add", "1");
  }

  // Dim what shows another number than the entry.
  function dim(stale) {
    for (const part of [list, formula.element, lens.element]) part.classList.toggle("stale", stale);
  }

  // Make a row's bit pattern the number.
  function edit(format, code) {
    Object.assign(state, { edited: { format, code }, value: format.decode(code).value,
      message: null, selected: format });
    set({ entry: entryOf(state.value) });
  }
  function step(format, direction) {
    const { stored } = views.get(format);
    const code = stored && format.step(stored.code, direction);
    if (code !== null) edit(format, code);
  }

  // Make a row the selected one. A code in the field would be read as another format's there.
  function choose(format) {
    state.selected = format;
    if (isCode(state.entry) && !state.message) state.entry = entryOf(state.value);
  }
  function select(format) {
    if (state.selected === format) return;
    choose(format);
    refresh();
  }
  function readCodesAs(name) {
    const format = formats.get(name);
    state.selected = format;
    if (isCode(state.entry)) readEntry(state.entry);
    else refresh();
  }
  function showFormat(name, visible) {
    state.shown = all.filter((format) =>
      (format.name === name ? visible : state.shown.includes(format)));
    if (!state.shown.includes(state.selected)) choose(state.shown[0]);
    refresh();
  }
  function light(format, bits) {
    const lit = new Set(bits);
    rows.get(format).light(lit);
    if (format === state.selected) formula.light(lit);
  }

  // What a format makes of the number: what its row shows, and a sentence.
  function viewOf(format) {
    const selected = state.selected === format;
    const own = state.edited?.format === format;
    const stored = own ? format.decode(state.edited.code) : format.round(state.value, state);
    if (stored === null) {
      return { stored, text: "no NaN here", whole: null, told: null, selected,
        sentence: `${format.name}: no NaN here` };
    }
    const told = describeError(state.value, stored);
    const text = readable(stored.value);
    return { stored, text, whole: text.startsWith("≈") ? exact(stored.value) : null, told,
      selected, sentence: describeRow(stored, told) };
  }
  function refresh() {
    toolbar.update();
    for (const part of [list, formula.element, tabs.element]) {
      setProperty(part, "hidden", state.value === null); // there is nothing to show yet
    }
    if (state.value === null) {
      speaker.say("");
      return;
    }
    const most = (count) => Math.max(...state.shown.map(count));
    for (const [format, row] of rows) {
      setProperty(row.element, "hidden", !state.shown.includes(format));
    }
    for (const format of state.shown) {
      views.set(format, viewOf(format));
      rows.get(format).update(views.get(format));
    }
    setOne(list, "style", `--left: ${most(({ exponentBits }) => 1 + exponentBits)}; `
      + `--right: ${most(({ fractionBits }) => fractionBits)}`);
    const { selected, rounding, saturate } = state;
    const view = views.get(selected);
    formula.update(view.stored, selected);
    tabs.choose(state.tab);
    const panel = state.tab === "lens" ? lens : arithmetic;
    panel.update({ x: state.value, shown: state.shown, selected, mode: { rounding, saturate } });
    speaker.say(state.message ? "" : view.sentence); // a message speaks for itself
  }

  readEntry(data.entry);
  // The classes do what a container query would, which makes every click a fifth slower.
  function fit(width) {
    element.classList.toggle("narrow", width <= 800);
    element.classList.toggle("medium", width >= 540);
    element.classList.toggle("slim", width <= 400);
    element.style.setProperty("--width", `${width}px`);
    lens.fit(width);
  }
  return { element, fit };
}

attach("floatlab", CSS, build);
