// The arithmetic tab: one operation in every shown format, each step rounded and told.

import { describeError } from "./bins.mjs";
import { meant, readable, short } from "./digits.mjs";
import { make, makeChips, makeSelect, makeTable, setOne, setText } from "./dom.mjs";
import { EntryError, isCode, parse } from "./entries.mjs";

// The sum of two numbers of a format. What a float64 cuts off moves its last bit, so that it is
// rounded to a format as the exact sum is. The others need no such care: products are exact, and no
// quotient of short significands comes near a number of the format, or a tie, without being it.
function add(a, b, rounding) {
  const sum = a + b;
  if (sum === 0 && rounding === "down") return -(-a - b); // 1 − 1 is −0 (IEEE 754)
  const [large, small] = Math.abs(a) < Math.abs(b) ? [b, a] : [a, b];
  const rest = small - (sum - large); // exact (Dekker 1971)
  return rest ? sum + Math.sign(rest) * Math.abs(sum) * 2 ** -52 : sum;
}
const OPERATIONS = {
  add: ["+", add],
  sub: ["−", (a, b, rounding) => add(a, -b, rounding)],
  mul: ["×", (a, b) => a * b],
  div: ["÷", (a, b) => a / b],
};
const show = (value) => readable(value, 14, 9);

// What storing a number did to it, where that is more than rounding; else null.
function damage(given, operand) {
  const name = meant(given, 14, 6);
  const now = `it becomes ${readable(operand.value, 14, 6)}`;
  const isLost = describeError(given, operand).kind === "lost";
  if (isLost && Number.isFinite(given)) return `${name} is too large to store: ${now}`;
  if (isLost) return `${name} cannot be stored: ${now}`;
  return given && operand.value === 0 ? `${name} is too small to store: ${now}` : null;
}

// What happened, as an error of describeError's kinds: {kind, text}.
function story(given, operands, operation, exactly, stored) {
  const damages = given.map((value, index) => damage(value, operands[index])).filter(Boolean);
  if (damages.length) return { kind: "lost", text: [...new Set(damages)].join("; ") };
  const error = describeError(exactly, stored);
  if (error.kind === "lost" && !Number.isFinite(exactly)) {
    return { kind: "lost", text: `${readable(exactly)} cannot be stored: `
      + `it becomes ${readable(stored.value)}` };
  }
  const [left, right] = operands.map(({ value }) => value);
  const other = { add: right, sub: -right }[operation]; // undefined for products
  if (error.kind === "off" && left && other) {
    const lose = (name, value) => ({ kind: "lost",
      text: `${name} number lost, ${short(Math.abs(value) / stored.ulp, 3)} ULP` });
    if (stored.value === left) return lose("second", other);
    if (stored.value === other) return lose("first", left);
  }
  if (error.kind === "exact") {
    const rounded = operands.some(({ value }, index) => value !== given[index]);
    return rounded ? { kind: "exact", text: "no further error" } : error;
  }
  if (error.kind !== "off") return error;
  return { kind: "off", text: `${error.parts[0]}, ${error.parts.at(-1)}` };
}

// One operation in one format: {operands, exactly, result, told, sentence}, all but `told` texts.
export function calculate(format, mode, given, operation) {
  const [sign, work] = OPERATIONS[operation];
  const operands = given.map((value) => format.round(value, mode));
  const [left, right] = operands.map((operand) => operand?.value);
  const exactly = work(left, right, mode.rounding); // NaN of undefined
  const stored = format.round(exactly, mode);
  if (stored === null) {
    const told = { kind: "lost", text: "no NaN in this format" };
    return { told, sentence: `${format.name}: ${told.text}` };
  }
  const told = story(given, operands, operation, exactly, stored);
  const question = `${show(left)} ${sign} ${show(right)}`;
  const result = show(stored.value);
  const sentence = `${format.name}: ${question} gives ${result}${told.text && `, ${told.text}`}`;
  return { operands: question, exactly: meant(exactly, 14, 9), result, told, sentence };
}

// The arithmetic tab; say(text) speaks. → {element, update({shown, selected, mode}), set}, where
// set(a, operation, b) enters an operation.
export function makeArithmetic(say) {
  const field = (name, value) => Object.assign(make("input.operand", {
    type: "text", spellcheck: "false", autocomplete: "off",
    "aria-label": name, maxlength: "2100", oninput: () => speak() }), { value });
  const fields = [field("first number", "2048"), field("second number", "1")];
  const signs = Object.entries(OPERATIONS).map(([name, [sign]]) => [name, sign]);
  const operation = makeSelect(signs, "add", () => speak());
  operation.setAttribute("aria-label", "operation");
  // 1 and a ULP of it, or half of one.
  const addTo1 = (half) => set("1", "add", `2^${-view.selected.fractionBits - half}`);
  const presets = makeChips("presets", [
    [["1 + ε"], () => addTo1(0)], [["1 + ε/2"], () => addTo1(1)],
    [["2048 + 1"], () => set("2048", "add", "1")]]);
  const message = make("p.message", { role: "status" });
  const { table, body, caption } = makeTable("results",
    ["format", "stored", "exact result", "rounded", "what happened"]);
  caption.append("Each number is rounded to the format. "
    + "The exact result of these is rounded once more.");
  const element = make("div.arithmetic-panel",
    make("div.operation", fields[0], operation, fields[1], presets.element), message,
    make("div.scroller", { tabindex: "0", role: "group", "aria-label": "results" },
      table));
  let view = null;

  function set(first, name, second) {
    [fields[0].value, operation.value, fields[1].value] = [first, name, second];
    speak();
  }
  // Render, and say what the selected format makes of it.
  function speak() {
    const row = render()?.find(({ format }) => format === view.selected);
    if (row) say(row.sentence);
  }
  // The value that an operand's text means, or null after saying why there is none.
  function read(input) {
    try {
      const value = parse(input.value);
      setOne(input, "aria-invalid", null);
      return value;
    } catch (error) {
      if (!(error instanceof EntryError)) throw error;
      setOne(input, "aria-invalid", "true");
      setText(message, isCode(input.value) ? "Codes go into the field at the top."
        : error.message);
      return null;
    }
  }
  function rowOf(format, { operands, exactly, result, told }) {
    const error = { class: "error", "data-kind": told.kind };
    const cells = operands ? [make("td", operands), make("td", exactly),
      make("td", make("b", result)), make("td", error, told.text)]
      : [make("td", { colspan: "4", ...error }, told.text)];
    return make("tr", { "data-format": format.name },
      make("th", { scope: "row" }, format.name), ...cells);
  }
  // → the rows, or null where an operand cannot be read.
  function render() {
    if (!view) return null;
    setText(message, "");
    const given = fields.map(read);
    table.classList.toggle("stale", given.includes(null));
    if (given.includes(null)) return null;
    const rows = view.shown.map((format) => ({ format,
      ...calculate(format, view.mode, given, operation.value) }));
    body.replaceChildren(...rows.map((row) => rowOf(row.format, row)));
    return rows;
  }
  return { element, update: (next) => { view = next; render(); }, set };
}
