// The arithmetic tab: one operation in every shown format, each step rounded and told.

import { describeError } from "./bins.mjs";
import { meant, readable, short } from "./digits.mjs";
import { make, makeChips, makeSelect, makeTable, setOne, setText } from "./dom.mjs";
import { isCode, understand } from "./entries.mjs";

// The sum of two numbers of a format. One that is smaller than the last bit of a float64 moves that
// bit, so that the sum is rounded to a format as the exact one is. Nothing else needs such care:
// where a float64 rounds, no number of the format, and no tie, is near.
function add(a, b, rounding) {
  const sum = a + b;
  if (sum === 0 && rounding === "down") return -(-a - b); // 1 − 1 is −0 (IEEE 754)
  const lost = sum === a ? b : sum === b ? a : 0;
  return lost ? sum * (1 + Math.sign(lost * sum) * 2 ** -52) : sum;
}
const OPERATIONS = {
  add: ["+", add],
  sub: ["−", (a, b, rounding) => add(a, -b, rounding)],
  mul: ["×", (a, b) => a * b],
  div: ["÷", (a, b) => a / b],
};
const show = (value) => readable(value, 14, 9);

// What storing a number did to it, where that is more than rounding; else null.
function damage(given, stored) {
  let what = given && stored.value === 0 ? "is too small to store" : null;
  if (describeError(given, stored).kind === "lost") {
    what = Number.isFinite(given) ? "is too large to store" : "cannot be stored";
  }
  return what && `${meant(given, 14, 6)} ${what}: it becomes ${readable(stored.value, 14, 6)}`;
}

// What happened, as an error of describeError's kinds: {kind, text}.
function story(given, operands, operation, exactly, stored) {
  const damages = given.map((value, index) => damage(value, operands[index])).filter(Boolean);
  const text = [...new Set(damages)].join("; ")
    || (Number.isFinite(exactly) ? null : damage(exactly, stored));
  if (text) return { kind: "lost", text };
  const error = describeError(exactly, stored);
  const [left, right] = operands.map(({ value }) => value);
  if (error.kind === "off") {
    const other = { add: right, sub: -right }[operation]; // undefined for products
    const lose = (name, value) => ({ kind: "lost",
      text: `${name} number lost, ${short(Math.abs(value) / stored.ulp, 3)} ULP` });
    if (other && stored.value === left) return lose("second", other);
    if (left && stored.value === other) return lose("first", left);
    return { kind: "off", text: `${error.parts[0]}, ${error.parts.at(-1)}` };
  }
  const isRounded = left !== given[0] || right !== given[1];
  return error.kind === "exact" && isRounded ? { ...error, text: "no further error" } : error;
}

// One operation in one format: {texts, told, sentence}, where the texts are the operands, the exact
// result and the rounded one.
export function calculate(format, mode, given, operation) {
  const [sign, work] = OPERATIONS[operation];
  const operands = given.map((value) => format.round(value, mode));
  const [left, right] = operands.map((operand) => operand?.value ?? NaN);
  const exactly = work(left, right, mode.rounding);
  const stored = format.round(exactly, mode);
  const told = stored ? story(given, operands, operation, exactly, stored)
    : { kind: "lost", text: "no NaN in this format" };
  const texts = [`${show(left)} ${sign} ${show(right)}`, meant(exactly, 14, 9),
    stored ? show(stored.value) : "–"];
  return { texts, told,
    sentence: `${format.name}: ${texts[0]} gives ${texts[2]}${told.text && `, ${told.text}`}` };
}

// The arithmetic tab, of the state that floatlab.mjs keeps; say(text) speaks.
// → {element, render(), set}, where set(a, operation, b) enters an operation.
export function makeArithmetic(state, say) {
  const makeField = (name, value) => make("input.operand", { type: "text", value,
    spellcheck: "false", autocomplete: "off", "aria-label": name, oninput: speak });
  const fields = [makeField("first number", "2048"), makeField("second number", "1")];
  const signs = Object.entries(OPERATIONS).map(([name, [sign]]) => [name, sign]);
  const operation = makeSelect(signs, "add", speak);
  operation.setAttribute("aria-label", "operation");
  // 1 and a ULP of it, or half of one.
  const addTo1 = (half) => set("1", "add", `2^${-state.selected.fractionBits - half}`);
  const presets = makeChips("presets", [
    [["1 + ε"], () => addTo1(0)], [["1 + ε/2"], () => addTo1(1)],
    [["2048 + 1"], () => set("2048", "add", "1")]]);
  const message = make("p.message", { role: "status" });
  const { table, fill } = makeTable("results",
    ["format", "stored", "exact result", "rounded", "what happened"],
    "Each number is rounded to the format. The exact result of these is rounded once more.");
  const element = make("div.arithmetic-panel",
    make("div.operation", fields[0], operation, fields[1], presets.element), message,
    make("div.scroller", { tabindex: "0", role: "group", "aria-label": "results" },
      table));

  function set(first, name, second) {
    [fields[0].value, operation.value, fields[1].value] = [first, name, second];
    speak();
  }
  // Render, and say what the selected format makes of it.
  function speak() {
    const sentence = render();
    if (sentence) say(sentence);
  }
  // The number in a field, or undefined after saying why there is none.
  function read(field) {
    const { value, message: wrong = "" } = isCode(field.value)
      ? { message: "Codes go into the field at the top." }
      : understand(field.value, state.selected);
    setOne(field, "aria-invalid", wrong ? "true" : null);
    if (wrong) setText(message, wrong);
    return value;
  }
  // → the sentence for the selected format; undefined where an operand cannot be read.
  function render() {
    setText(message, "");
    const given = fields.map(read);
    const isStale = given.includes(undefined);
    table.classList.toggle("stale", isStale);
    if (isStale) return undefined;
    const results = state.shown.map((format) =>
      calculate(format, state, given, operation.value));
    fill(results.map(({ texts, told }, index) => [[state.shown[index].name], texts[0], texts[1],
      make("b", texts[2]), make("span.error", { "data-kind": told.kind }, told.text)]));
    return results[state.shown.indexOf(state.selected)].sentence;
  }
  return { element, render, set };
}
