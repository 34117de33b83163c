// The controls above the rows: the entry, the chips, rounding, the formats, and the code to copy.

const CHIPS = ["0.1", "π", "2^-24", "65504", "65520", "2048+1", "-4200000000", "NaN"];

const COMPLAIN_AFTER_MS = 600; // without a key
const KEYS = [
  ["← →", "another bit, another example; move x on the number line"],
  ["Home End", "the first bit, the last bit"],
  ["Space", "flip the bit"],
  ["↑ ↓", "step up or down to the next value"],
  ["S E F", "to the sign, the exponent, the fraction"],
];

/** How a chip shows its text: powers raised, true minus signs. */
function chipFace(text) {
  const power = /^2\^(-?[0-9]+)$/.exec(text);
  return power ? powerOfTwo(power[1]) : [text.replace("-", "−")];
}

/**
 * The toolbar.
 * on: {entry(text), chip(text), select(name), rounding(name), saturate(bool), show(name, bool),
 *      code()}, the last of which gives the entry to copy.
 * → {element, field, update(state)}; `state` as floatlab.js keeps it.
 */
function makeToolbar(codec, state, on) {
  const names = [...codec.formats.keys()];
  const name = make("span", { class: "entry-name" }, "Number or code");
  const field = make("input", { type: "text", class: "entry", "aria-label": "Number or code",
    spellcheck: "false", autocomplete: "off", autocapitalize: "off",
    oninput: () => {
      clearTimeout(pause);
      pause = setTimeout(settle, COMPLAIN_AFTER_MS);
      on.entry(field.value);
    },
    onchange: () => settle(), onblur: () => settle() });
  field.value = state.entry;
  let pause = null; // the timer that runs while somebody types
  function settle() {
    clearTimeout(pause);
    pause = null;
    complain();
  }
  /** Show what is wrong with the entry, but not with one that is still being typed. */
  function complain() {
    const message = pause ? null : state.message;
    setText(complaint, message ?? "");
    setOne(field, "aria-invalid", message ? "true" : null);
  }
  const chips = CHIPS.map((text) => make("button", {
    type: "button", class: "chip", "data-entry": text, "aria-label": text.replace("π", "pi"),
    onclick: () => on.chip(text) }, ...chipFace(text)));
  const chipBox = make("div", { class: "chips", role: "toolbar", "aria-label": "examples" },
    ...chips);
  roveAmong(chipBox, chips);
  const complaint = make("p", { class: "message", role: "status" });
  const codes = makeSelect(names.map((name) => [name, name]), state.selected, on.select);
  const rounding = makeSelect(
    codec.ROUNDINGS.map((name) => [name, ROUNDING_NAMES[name]]), state.rounding, on.rounding);
  const saturate = make("input", {
    type: "checkbox", onchange: () => on.saturate(saturate.checked) });
  saturate.checked = state.saturate;
  const boxes = new Map(names.map((name) => [name, make("input", {
    type: "checkbox", value: name, onchange: (event) => on.show(name, event.target.checked) })]));
  const count = make("span", {});
  const formats = makePopup("formats", ["Formats ", count],
    ...names.map((name) => make("label", {}, boxes.get(name), " ", name)));
  setAttributes(formats.lastChild, { role: "group", "aria-label": "formats to show" });
  const keys = makePopup("keys", ["Keys"], make("dl", {}, ...KEYS.flatMap(([key, what]) => [
    make("dt", {}, key), make("dd", {}, what)])));
  const copy = makeCopy(() => constructorText(codec, state, on.code()));
  const element = make("div", { class: "toolbar" },
    make("div", { class: "entry-line" },
      make("div", { class: "entry-box" },
        name, field, make("label", { class: "entry-codes" }, "codes are read as ", codes)),
      chipBox),
    complaint,
    make("div", { class: "options" },
      labelled("rounding", rounding),
      make("label", { class: "check" }, saturate, " saturate"),
      formats, keys, copy.button),
    copy.line);

  function update() {
    complain();
    setProperty(codes, "value", state.selected);
    for (const option of codes.options) {
      // A hidden option alone can still be chosen by typing its first letters.
      const absent = !state.shown.includes(option.value);
      setProperty(option, "hidden", absent);
      setProperty(option, "disabled", absent);
    }
    setProperty(rounding, "value", state.rounding);
    setProperty(saturate, "checked", state.saturate);
    for (const [name, box] of boxes) {
      setProperty(box, "checked", state.shown.includes(name));
      setProperty(box, "disabled", box.checked && state.shown.length === 1);
    }
    setText(count, `${state.shown.length} of ${names.length}`);
    copy.update();
  }
  return { element, field, update };
}

/** The Python call that reproduces the state; arguments at their defaults are left out. */
function constructorText(codec, state, entry) {
  const quote = (text) => JSON.stringify(text);
  const words = [];
  if (entry !== "0.1") words.push(quote(entry));
  const all = [...codec.formats.keys()];
  if (state.shown.join() !== all.join()) {
    words.push(`formats=[${state.shown.map(quote).join(", ")}]`);
  }
  if (state.rounding !== "nearest_even") words.push(`rounding=${quote(state.rounding)}`);
  if (state.saturate) words.push("saturate=True");
  if (state.tab !== "lens") words.push(`tab=${quote(state.tab)}`);
  return `FloatLab(${words.join(", ")})`;
}
