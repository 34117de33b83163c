// The arithmetic tab: one operation in every shown format, each step rounded and told.

const OPERATIONS = { add: "+", sub: "−", mul: "×", div: "÷" };

/**
 * The arithmetic tab.
 * → {element, update({shown, selected, mode}), set(a, operation, b)}
 */
function makeArithmetic(codec) {
  const field = (name) => make("input", {
    type: "text", class: "operand", spellcheck: "false", autocomplete: "off",
    "aria-label": name, maxlength: "2100", oninput: () => render() });
  const [a, b] = [field("first number"), field("second number")];
  const operation = makeSelect(Object.entries(OPERATIONS), "add", () => render());
  operation.setAttribute("aria-label", "operation");
  const presets = make("span", { class: "chips" });
  const message = make("p", { class: "message", role: "status" });
  const body = make("tbody");
  const heads = ["format", "stored", "exact result", "rounded", "what happened"];
  const table = make("table", { class: "results" },
    make("caption", {}, "Both numbers are rounded to the format, then the exact result is."),
    make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)))),
    body);
  const sum = makeSum(codec);
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

  function set(first, name, second) {
    [a.value, operation.value, b.value] = [first, name, second];
    render();
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
      setText(message, error.message);
      return null;
    }
  }

  function story(given, left, right, exactly, stored) {
    const cut = [left, right].findIndex((operand, index) =>
      given[index].kind === "finite" && operand.value.kind !== "finite");
    if (cut >= 0) {
      return { kind: "lost", text: `${readable(codec, given[cut], 14, 6)} is too large to store` };
    }
    if (exactly.kind !== "finite") return { kind: "same", text: "" };
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
      return make("tr", { "data-format": name }, head, make("td", {}, operands),
        make("td", {}, show(exactly)),
        make("td", {}, make("b", {}, show(stored.value))),
        make("td", { class: "error", "data-kind": told.kind }, told.text));
    } catch (error) {
      if (!(error instanceof EntryError)) throw error;
      return make("tr", { "data-format": name }, head,
        make("td", { colspan: "4", class: "error", "data-kind": "lost" }, "no NaN in this format"));
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
