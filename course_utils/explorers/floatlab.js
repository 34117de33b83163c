// FloatLab: one number, and what each format keeps of it. State lives in here, per host.

/** Give an element classes and --width for how wide it is, now and whenever that changes. */
function fitTo(element) {
  const fit = (width) => {
    if (!width) return; // not shown yet
    element.classList.toggle("narrow", width <= 800);
    element.classList.toggle("medium", width >= 560);
    element.classList.toggle("slim", width <= 400);
    element.style.setProperty("--width", `${width}px`);
  };
  fit(element.clientWidth);
  new ResizeObserver(([entry]) => fit(entry.contentRect.width)).observe(element);
}

/** Build one FloatLab into a shadow root from the host's data. */
function startFloatLab(root, data) {
  const codec = makeCodec(data.formats);
  const names = [...codec.formats.keys()];
  const firstSelected = codec.isCode(data.entry) || !data.shown.includes("float16")
    ? data.shown[0] : "float16";
  const state = {
    entry: data.entry, // what the field shows
    text: data.entry, // the last good entry
    value: null, // the last good number, exact; null before the first one
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
    select: readCodesAs,
    rounding: (name) => { state.rounding = name; refresh(); },
    saturate: (on) => { state.saturate = on; refresh(); },
    show: showFormat,
    code: entryForPython,
  });
  const rows = new Map(order.map((name) => [name, makeRow(codec.formats.get(name), {
    select: () => select(name),
    set: (from, to, bit) => setBits(name, from, to, bit),
    step: (direction) => step(name, direction),
    light: (bit) => light(name, bit === null ? [] : [bit]),
  })]));
  const formula = makeFormula(codec, (bits) => light(state.selected, bits ?? []));
  const lens = makeLens(codec, { move: (value) => enterValue(value) });
  const speaker = makeSpeaker();
  const say = (text) => { if (started) speaker.say(text); };
  const arithmetic = makeArithmetic(codec, say);
  const tabs = makeTabs({
    lens: { title: "Number line", element: lens.element },
    arithmetic: { title: "Arithmetic", element: arithmetic.element },
  }, (name) => {
    state.tab = name;
    refresh();
  });
  const list = make("div", { class: "rows" }, ...[...rows.values()].map((row) => row.element));
  const whole = make("div", { class: "floatlab" },
    toolbar.element, list, formula.element, tabs.element, speaker.element);
  root.append(make("style", {}, CSS), whole);
  fitTo(whole);
  guardKeys(root);
  let started = false; // nothing is said while the page loads

  function readEntry(text) {
    state.entry = text;
    try {
      if (codec.isCode(text)) {
        const code = codec.parseCode(text, state.selected);
        state.edited = { format: state.selected, code };
        state.value = codec.decode(code, state.selected).value;
      } else {
        state.value = codec.parse(text);
        state.edited = null;
      }
      state.text = text.trim();
      state.message = null;
    } catch (error) {
      if (!(error instanceof EntryError)) throw error;
      state.message = error.message;
    }
    refresh();
  }

  /** The number without the bits of a row: as digits, inf or nan. */
  function numberText() {
    if (state.value.kind === "nan") return "nan";
    if (state.value.kind === "infinity") return state.value.negative ? "-inf" : "inf";
    return codec.exact(state.value).replace("−", "-");
  }
  /**
   * An entry that means the same to Python, which reads codes as those of the first format shown.
   * A number's text gives back every code but a NaN with other bits, or an infinity to saturate.
   */
  function entryForPython() {
    if (!state.edited) return state.text;
    const { format, code } = state.edited;
    const again = codec.encode(state.value, format, state.rounding, state.saturate);
    const only = again !== code && format === state.shown[0];
    return only ? codec.decode(code, format).hex : numberText();
  }

  function enter(text) {
    toolbar.field.value = text;
    readEntry(text);
  }
  function enterValue(value) {
    enter(codec.exact(value).replace("−", "-"));
  }
  function addTo2048() {
    state.tab = "arithmetic";
    enter("2049");
    arithmetic.set("2048", "add", "1");
  }

  /** Make a row's bit pattern the number. */
  function edit(format, code) {
    state.edited = { format, code };
    state.value = codec.decode(code, format).value;
    state.entry = entryForPython();
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

  /** Make a row the selected one. A code in the field would be read as another format's there. */
  function choose(name) {
    state.selected = name;
    if (!codec.isCode(state.entry) || state.message) return;
    state.entry = numberText();
    toolbar.field.value = state.entry;
  }
  function select(name) {
    if (state.selected === name) return;
    choose(name);
    refresh();
  }
  function readCodesAs(name) {
    if (!state.shown.includes(name)) return;
    state.selected = name;
    if (codec.isCode(state.entry)) readEntry(state.entry);
    else refresh();
  }
  function showFormat(name, visible) {
    state.shown = order.filter((other) => (other === name ? visible : state.shown.includes(other)));
    if (!state.shown.includes(state.selected)) choose(state.shown[0]);
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
    stored.whole = stored.text.startsWith("≈") ? codec.exact(stored.value) : null;
    stored.previous = codec.previous(code, name) !== null;
    stored.next = codec.next(code, name) !== null;
    return { stored, error: describeError(codec, state.value, stored), selected };
  }

  function refresh() {
    toolbar.update();
    for (const part of [list, formula.element, tabs.element]) {
      setProperty(part, "hidden", !state.value); // there is nothing to show yet
    }
    if (!state.value) return;
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
    const { stored, error } = views.get(state.selected);
    const exactly = stored && readable(codec, stored.value, 200);
    formula.update(stored, codec.formats.get(state.selected), exactly);
    tabs.choose(state.tab);
    const mode = { rounding: state.rounding, saturate: state.saturate };
    if (state.tab === "lens") {
      lens.update({ x: state.value, selected: state.selected, shown: state.shown, mode });
    } else arithmetic.update({ shown: state.shown, selected: state.selected, mode });
    const sentence = stored ? describeRow(codec, stored, error) : `${state.selected}: no NaN here`;
    say(state.message ? "" : sentence); // a message speaks for itself
  }

  readEntry(data.entry);
  started = true;
}

for (const host of document.querySelectorAll("[data-floatlab]")) {
  if (host.shadowRoot) continue;
  const data = JSON.parse(host.querySelector('script[type="application/json"]').textContent);
  startFloatLab(host.attachShadow({ mode: "open" }), data);
}
