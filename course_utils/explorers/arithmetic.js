// The arithmetic tab: one operation in every shown format, each step rounded and told.

const CODES_GO_ELSEWHERE = "Codes go into the field at the top.";
const OPERATIONS = { add: "+", sub: "−", mul: "×", div: "÷" };

/**
 * The arithmetic tab; say(text) speaks.
 * → {element, update({shown, selected, mode}), set(a, operation, b)}
 */
function makeArithmetic(codec, say) {
  const field = (name) => make("input", {
    type: "text", class: "operand", spellcheck: "false", autocomplete: "off",
    "aria-label": name, maxlength: "2100", oninput: () => speak() });
  const [a, b] = [field("first number"), field("second number")];
  const operation = makeSelect(Object.entries(OPERATIONS), "add", () => speak());
  operation.setAttribute("aria-label", "operation");
  const presets = make("span", { class: "chips", role: "toolbar", "aria-label": "presets" });
  const message = make("p", { class: "message", role: "status" });
  const body = make("tbody");
  const heads = ["format", "stored", "exact result", "rounded", "what happened"];
  const table = make("table", { class: "results" },
    make("caption", {}, "Each number is rounded to the format. "
      + "The exact result of these is rounded once more."),
    make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)))),
    body);
  const sum = makeSum(codec, say);
  const element = make("div", { class: "arithmetic-panel" },
    make("div", { class: "operation" }, a, operation, b, presets), message,
    make("div", { class: "scroller", tabindex: "0", role: "group", "aria-label": "results" },
      table),
    sum.element);
  let view = null;

  function preset(text, act) {
    presets.append(make("button", { type: "button", class: "chip", onclick: act }, text));
  }
  const epsilonText = (divisor) => {
    const power = -codec.formats.get(view.selected).fractionBits - (divisor === 2 ? 1 : 0);
    return `2^${power}`;
  };
  preset("1 + ε", () => set("1", "add", epsilonText(1)));
  preset("1 + ε/2", () => set("1", "add", epsilonText(2)));
  preset("2048 + 1", () => set("2048", "add", "1"));
  preset("long sum", () => sum.show());
  roveAmong(presets, [...presets.children]);

  function set(first, name, second) {
    [a.value, operation.value, b.value] = [first, name, second];
    speak();
  }
  /** Render, and say what the selected format makes of it. */
  function speak() {
    render();
    const row = [...body.children].find((one) => one.dataset.format === view?.selected);
    if (row && !message.textContent) say(row.sentence);
  }

  /** The value that an operand's text means, or null after saying why there is none. */
  function read(input) {
    try {
      const value = codec.parse(input.value);
      input.removeAttribute("aria-invalid");
      return value;
    } catch (error) {
      if (!(error instanceof EntryError)) throw error;
      input.setAttribute("aria-invalid", "true");
      setText(message, codec.isCode(input.value) ? CODES_GO_ELSEWHERE : error.message);
      return null;
    }
  }

  /** What storing a number did to it, where that is more than rounding; else null. */
  function damage(given, operand) {
    const name = readable(codec, given, 14, 6);
    const now = `it becomes ${readable(codec, operand.value, 14, 6)}`;
    if (given.kind === "infinity" && operand.value.kind !== "infinity") {
      return `${name} cannot be stored: ${now}`;
    }
    if (given.kind !== "finite" || isZero(given)) return null;
    if (isZero(operand.value)) return `${name} is too small to store: ${now}`;
    const { kind } = describeError(codec, given, operand);
    return kind === "lost" ? `${name} is too large to store: ${now}` : null;
  }

  function story(given, left, right, exactly, stored) {
    const damages = [damage(given[0], left), damage(given[1], right)].filter(Boolean);
    if (damages.length) return { kind: "lost", text: [...new Set(damages)].join("; ") };
    if (exactly.kind !== "finite") {
      if (exactly.kind === stored.value.kind) return { kind: "same", text: "" };
      const result = readable(codec, exactly);
      return { kind: "lost",
        text: `${result} cannot be stored: it becomes ${readable(codec, stored.value)}` };
    }
    const error = describeError(codec, exactly, stored);
    const additive = operation.value === "add" || operation.value === "sub";
    if (error.kind === "off" && additive && !isZero(left.value) && !isZero(right.value)) {
      if (codec.compare(stored.value, left.value) === 0) {
        return { kind: "lost", text: `second number lost, ${error.parts.at(-1)}` };
      }
      const other = operation.value === "add" ? right.value : codec.negate(right.value);
      if (codec.compare(stored.value, other) === 0) {
        return { kind: "lost", text: `first number lost, ${error.parts.at(-1)}` };
      }
    }
    if (error.kind === "exact") {
      const rounded = [left, right].some((operand, index) =>
        codec.compare(operand.value, given[index]) !== 0);
      return rounded ? { kind: "exact", text: "no further error" } : error;
    }
    if (error.kind !== "off") return error;
    return { kind: "off", text: `${error.parts[0]}, ${error.parts.at(-1)}` };
  }

  function makeRowOf(name, first, second) {
    const { rounding, saturate } = view.mode;
    const head = make("th", { scope: "row" }, name);
    try {
      const store = (value) => codec.decode(codec.encode(value, name, rounding, saturate), name);
      const [left, right] = [store(first), store(second)];
      // The rounding mode decides the sign of 1 − 1; the other operations ignore it.
      const exactly = codec[operation.value](left.value, right.value, rounding);
      const stored = store(exactly);
      const told = story([first, second], left, right, exactly, stored);
      const show = (value) => readable(codec, value, 14, 9);
      const operands = [show(left.value), OPERATIONS[operation.value], show(right.value)].join(" ");
      const row = make("tr", { "data-format": name }, head, make("td", {}, operands),
        make("td", {}, show(exactly)),
        make("td", {}, make("b", {}, show(stored.value))),
        make("td", { class: "error", "data-kind": told.kind }, told.text));
      row.sentence = `${name}: ${operands} gives ${show(stored.value)}`
        + (told.text && `, ${told.text}`);
      return row;
    } catch (error) {
      if (!(error instanceof EntryError)) throw error;
      const row = make("tr", { "data-format": name }, head,
        make("td", { colspan: "4", class: "error", "data-kind": "lost" }, "no NaN in this format"));
      row.sentence = `${name}: no NaN in this format`;
      return row;
    }
  }

  function render() {
    if (!view) return;
    setText(message, "");
    const [first, second] = [read(a), read(b)];
    if (!first || !second) return;
    body.replaceChildren(...view.shown.map((name) => makeRowOf(name, first, second)));
  }

  [a.value, b.value] = ["2048", "1"];
  function update(next) {
    view = next;
    render();
    sum.update(next.mode);
  }
  return { element, update, set };
}
