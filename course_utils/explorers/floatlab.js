// FloatLab: one number, and what each format keeps of it. State lives in here, per host.

const SPEAK_AFTER_MS = 400;

/** A live region that says only the last of several quick messages. */
function makeSpeaker() {
  const element = make("p", { class: "spoken", role: "status", "aria-live": "polite" });
  let timer = 0;
  function say(text) {
    clearTimeout(timer);
    timer = setTimeout(() => setText(element, text), SPEAK_AFTER_MS);
  }
  return { element, say };
}

/** Two tabs and their panels. → {element, choose(name)} */
function makeTabs(panels, chosen) {
  const names = Object.keys(panels);
  const tabs = names.map((name) => make("button", { type: "button", role: "tab", class: "tab",
    "data-tab": name, onclick: () => chosen(name) }, name));
  const list = make("div", {
    role: "tablist", class: "tabs", "aria-label": "below the rows" }, ...tabs);
  for (const name of names) {
    setAttributes(panels[name], { role: "tabpanel", "aria-label": name });
  }
  list.addEventListener("keydown", (event) => {
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!direction) return;
    const at = tabs.findIndex((tab) => tab.tabIndex === 0);
    const to = (at + direction + tabs.length) % tabs.length;
    chosen(names[to]);
    tabs[to].focus();
    event.preventDefault();
  });
  function choose(chosenName) {
    names.forEach((name, index) => {
      setOne(tabs[index], "aria-selected", String(name === chosenName));
      setProperty(tabs[index], "tabIndex", name === chosenName ? 0 : -1);
      setProperty(panels[name], "hidden", name !== chosenName);
    });
  }
  return { element: make("section", { class: "tabbed" }, list, ...Object.values(panels)), choose };
}

/** Build one FloatLab into a shadow root from the host's data. */
function startFloatLab(root, data) {
  const codec = makeCodec(data.formats);
  const names = [...codec.formats.keys()];
  const firstSelected = codec.isCode(data.entry) || !data.shown.includes("float16")
    ? data.shown[0] : "float16";
  const state = {
    entry: data.entry, // what the field shows
    code: data.entry, // an entry that means the same to Python
    value: ZERO, // the last good number, exact
    edited: null, // {format, code} while a row's own bits are the number
    message: null,
    shown: [...data.shown],
    selected: firstSelected,
    rounding: data.rounding,
    saturate: data.saturate,
    tab: data.tab,
  };
  const order = [...data.shown, ...names.filter((name) => !data.shown.includes(name))];
  const views = new Map(); // format → what its row shows

  const toolbar = makeToolbar(codec, state, {
    entry: readEntry,
    chip: (text) => (text === "2048+1" ? addTo2048() : enter(text === "NaN" ? "nan" : text)),
    select: (name) => { select(name); rereadCode(); },
    rounding: (name) => { state.rounding = name; refresh(); },
    saturate: (on) => { state.saturate = on; refresh(); },
    show: showFormat,
  });
  const rows = new Map(order.map((name) => [name, makeRow(codec.formats.get(name), {
    select: () => select(name),
    set: (from, to, bit) => setBits(name, from, to, bit),
    step: (direction) => step(name, direction),
    light: (bit) => light(name, bit === null ? [] : [bit]),
  })]));
  const formula = makeFormula((bits) => light(state.selected, bits ?? []));
  const lens = makeLens(codec, { move: (value) => enterValue(value) });
  const arithmetic = makeArithmetic(codec);
  const tabs = makeTabs({ lens: lens.element, arithmetic: arithmetic.element }, (name) => {
    state.tab = name;
    refresh();
  });
  const speaker = makeSpeaker();
  const list = make("div", { class: "rows" }, ...[...rows.values()].map((row) => row.element));
  root.append(make("style", {}, CSS), make("div", { class: "floatlab" },
    toolbar.element, list, formula.element, tabs.element, speaker.element));
  guardKeys(root);

  function readEntry(text) {
    state.entry = text;
    try {
      if (codec.isCode(text)) {
        const code = codec.parseCode(text, state.selected);
        state.edited = { format: state.selected, code };
        state.value = codec.decode(code, state.selected).value;
        state.code = codeForPython();
      } else {
        state.value = codec.parse(text);
        state.edited = null;
        state.code = text.trim();
      }
      state.message = null;
    } catch (error) {
      if (!(error instanceof EntryError)) throw error;
      state.message = error.message;
    }
    refresh();
  }

  /** Python reads a code as one of the first format: NaN's bits can be given only there. */
  function codeForPython() {
    const { format, code } = state.edited;
    if (state.value.kind === "nan") {
      return format === state.shown[0] ? codec.decode(code, format).hex : "nan";
    }
    if (state.value.kind === "infinity") return state.value.negative ? "-inf" : "inf";
    return codec.exact(state.value).replace("−", "-");
  }

  function enter(text) {
    toolbar.field.value = text;
    readEntry(text);
  }
  function enterValue(value) {
    enter(codec.exact(value).replace("−", "-"));
  }
  function rereadCode() {
    if (codec.isCode(state.entry)) readEntry(state.entry);
  }
  function addTo2048() {
    state.tab = "arithmetic";
    arithmetic.set("2048", "add", "1");
    enter("2049");
  }

  /** Make a row's bit pattern the number. */
  function edit(format, code) {
    state.edited = { format, code };
    state.value = codec.decode(code, format).value;
    state.code = codeForPython();
    state.entry = state.code;
    toolbar.field.value = state.entry;
    state.message = null;
    state.selected = format;
    refresh();
  }
  function setBits(name, from, to, bit) {
    const { bits } = codec.formats.get(name);
    let code = views.get(name)?.stored?.code ?? 0n;
    for (let index = from; index <= to; index += 1) {
      const weight = 1n << BigInt(bits - 1 - index);
      code = bit ? code | weight : code & ~weight;
    }
    edit(name, code);
  }
  function step(name, direction) {
    const stored = views.get(name)?.stored;
    if (!stored) return;
    const code = direction > 0 ? codec.next(stored.code, name) : codec.previous(stored.code, name);
    if (code !== null) edit(name, code);
  }

  function select(name) {
    if (state.selected === name) return;
    state.selected = name;
    refresh();
  }
  function showFormat(name, visible) {
    state.shown = order.filter((other) => (other === name ? visible : state.shown.includes(other)));
    if (!state.shown.includes(state.selected)) [state.selected] = state.shown;
    refresh();
  }

  function light(name, bits) {
    const lit = new Set(bits);
    rows.get(name).light(lit);
    if (name === state.selected) formula.light(lit);
  }

  /** What a format makes of the number. */
  function viewOf(name) {
    const selected = state.selected === name;
    const own = state.edited?.format === name;
    let code = own ? state.edited.code : null;
    try {
      code ??= codec.encode(state.value, name, state.rounding, state.saturate);
    } catch (error) {
      if (!(error instanceof EntryError)) throw error;
      return { stored: null, error: null, selected, refusal: "no NaN here" };
    }
    const stored = codec.decode(code, name);
    stored.text = readable(codec, stored.value);
    stored.previous = codec.previous(code, name) !== null;
    stored.next = codec.next(code, name) !== null;
    return { stored, error: describeError(codec, state.value, stored), selected };
  }

  function refresh() {
    const widths = { left: 0, right: 0 };
    for (const [name, row] of rows) {
      const visible = state.shown.includes(name);
      setProperty(row.element, "hidden", !visible);
      if (!visible) continue;
      const { exponentBits, fractionBits } = codec.formats.get(name);
      widths.left = Math.max(widths.left, 1 + exponentBits);
      widths.right = Math.max(widths.right, fractionBits);
      const view = viewOf(name);
      views.set(name, view);
      row.update(view);
    }
    setOne(list, "style", `--left: ${widths.left}; --right: ${widths.right}`);
    toolbar.update();
    const { stored, error } = views.get(state.selected);
    const exactly = stored && readable(codec, stored.value, 200);
    formula.update(stored, codec.formats.get(state.selected), exactly);
    tabs.choose(state.tab);
    const mode = { rounding: state.rounding, saturate: state.saturate };
    if (state.tab === "lens") {
      lens.update({ x: state.value, selected: state.selected, shown: state.shown, mode });
    } else arithmetic.update({ shown: state.shown, selected: state.selected, mode });
    const sentence = stored ? describeRow(codec, stored, error) : `${state.selected}: no NaN here`;
    speaker.say(state.message ? "" : sentence); // a message is an alert of its own
  }

  readEntry(data.entry);
}

for (const host of document.querySelectorAll("[data-floatlab]")) {
  if (host.shadowRoot) continue;
  const data = JSON.parse(host.querySelector('script[type="application/json"]').textContent);
  startFloatLab(host.attachShadow({ mode: "open" }), data);
}
