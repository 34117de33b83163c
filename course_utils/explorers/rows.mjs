// A row per format: its bits as buttons, its value, its error, and steps to its neighbors; and the
// formula of the selected row, where each factor belongs to bits, and each bit to a term.

import { fieldsOf, makeBits } from "./bits.mjs";
import { isCommand, make, powerOfTwo, roveAmong, setOne, setText } from "./dom.mjs";
import { readable } from "./digits.mjs";

const FIELD_KEYS = { s: "sign", e: "exponent", f: "fraction" };

// What a screen reader says about a bit; `place` counts from 0 at the field's right end.
function bitLabel(field, place, width) {
  if (field === "sign") return "sign bit, 1 for negative";
  const weight = field === "exponent" ? 2 ** place : `2^${place - width}`;
  return `${field} bit ${place}, weight ${weight}`;
}

// A row for one format. on: {select(), flip(index), step(direction), light(index | null)}.
// → {element, update(view), light(lit)}
export function makeRow(format, on) {
  const fields = fieldsOf(format);
  const { element: strip, bits, ghost, show } = makeBits(format, (...place) =>
    ({ type: "button", "aria-label": bitLabel(...place) }));
  const stepper = (direction, face, text) => make("button.step", {
    type: "button", tabindex: "-1", title: `${text} to the next value (${face})`,
    "aria-label": `${text} in ${format.name}`, onclick: () => on.step(direction) }, face);
  const name = make("button.name", { type: "button", tabindex: "-1", onclick: on.select },
    format.name);
  const hex = make("code.hex");
  const [value, kind, error] = ["value", "kind", "error"].map((part) =>
    make(`span.${part}`));
  const [down, up] = [stepper(-1, "↓", "step down"), stepper(1, "↑", "step up")];
  const element = make("div", { class: format.bits <= 8 ? "row short" : "row", role: "group",
    "data-format": format.name, "aria-label": `${format.name}, ${format.bits} bits` },
  make("div.head", name, hex), strip,
  make("div.facts", value, kind, error, make("span.steps", down, up)));

  const isBit = (node) => node.matches(".bit");
  roveAmong(element, bits, undefined, false);
  element.addEventListener("keydown", (event) => {
    if (!isBit(event.target) || isCommand(event)) return;
    const [first] = fields[FIELD_KEYS[event.key.toLowerCase()]] ?? [];
    if (first !== undefined) bits[first].focus();
    else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      on.step(event.key === "ArrowUp" ? 1 : -1);
    } else return;
    event.preventDefault();
  });
  element.addEventListener("click", ({ target }) => {
    if (isBit(target)) on.flip(Number(target.dataset.index));
  });
  element.addEventListener("focusin", ({ target }) => {
    if (!isBit(target)) return;
    on.select();
    on.light(Number(target.dataset.index));
  });
  element.addEventListener("focusout", () => on.light(null));
  element.addEventListener("pointerover", ({ target }) => {
    if (isBit(target)) on.light(Number(target.dataset.index));
    else on.light(target.matches(".lead") ? "lead" : null);
  });
  element.addEventListener("pointerleave", () => on.light(null));

  // `stored` is null where the format refuses the number.
  function update({ stored, text, whole, told, selected }) {
    element.classList.toggle("selected", selected);
    setOne(name, "aria-pressed", selected);
    element.classList.toggle("refused", !stored);
    show(stored);
    setText(hex, stored ? stored.hex : "–");
    setText(kind, stored ? stored.kind.replace("nan", "NaN") : "refused");
    setOne(kind, "data-kind", stored ? stored.kind : "refused");
    setText(value, text);
    setOne(value, "title", whole);
    setText(error, told?.text ?? "");
    setOne(error, "data-kind", told?.kind ?? "same");
    for (const [button, direction] of [[down, -1], [up, 1]]) {
      const end = !stored || format.step(stored.code, direction) === null;
      setOne(button, "disabled", end ? "" : null);
    }
  }
  function light(lit) {
    bits.forEach((bit, index) => bit.classList.toggle("lit", lit.has(index)));
    ghost.classList.toggle("lit", lit.has("lead"));
  }
  return { element, update, light };
}

// The formula's panel. light(bits | null) is called when the pointer is on a term.
// → {element, update(stored, format), light(lit)}
export function makeFormula(light) {
  const line = make("p.line");
  const sums = make("p.sums");
  const element = make("div.formula", { role: "group",
    "aria-label": "the value, bit by bit" }, line, sums);
  element.addEventListener("pointerover", ({ target }) => {
    light(target.closest(".term")?.bits ?? null);
  });
  element.addEventListener("pointerleave", () => light(null));

  // A term that lights its bits; `bits` are indices into the row, or "lead".
  const term = (bits, name, ...children) =>
    Object.assign(make(`span.term.${name}`, ...children), { bits });
  // A term for a whole field.
  const fieldTerm = (format, name, ...children) => {
    const [first, count] = fieldsOf(format)[name];
    return term(Array.from({ length: count }, (_, place) => first + place), name, ...children);
  };
  // The terms of a field's sum, one per bit that is 1, with a plus sign between them.
  function sumOf(format, name, digits, weight) {
    const [first] = fieldsOf(format)[name];
    const terms = [...digits].flatMap((digit, place) =>
      digit === "1" ? [" + ", term([first + place], name, ...weight(place))] : []);
    return terms.length ? terms.slice(1) : ["0"];
  }

  function update(stored, format) {
    line.replaceChildren(make("strong", format.name), " ");
    sums.replaceChildren();
    if (!stored) line.append("has no bit pattern for this number.");
    else if (Number.isFinite(stored.value)) calculate(stored, format);
    else {
      const all = stored.kind === "infinity" ? "all 0"
        : format.hasInfinity ? "not all 0" : "all 1";
      const result = stored.kind === "nan" ? "NaN, not a number"
        : `${stored.sign === "1" ? "−" : ""}infinity`;
      line.append("The ", fieldTerm(format, "exponent", "exponent bits are all 1"), " and the ",
        fieldTerm(format, "fraction", `fraction bits are ${all}`), `: this is ${result}.`);
    }
  }
  function calculate(stored, format) {
    const { exponentBits, fractionBits, bias } = format;
    const e = Number.parseInt(stored.exponent, 2);
    const f = Number.parseInt(stored.fraction, 2);
    const normal = stored.kind === "normal";
    const [lead, power] = normal ? ["1", `${e} − ${bias}`] : ["0", `1 − ${bias}`];
    line.append(
      term([0], "sign", "(−1)", make("sup", stored.sign)), " × ",
      fieldTerm(format, "exponent", make("span", "2", make("sup", power))), " × (",
      term(["lead"], "lead", lead), " + ",
      fieldTerm(format, "fraction", `${f}∕${2 ** fractionBits}`), ") ",
      make("span.equals", "= ",
        make("b.result", readable(stored.value, 200))));
    const weights = sumOf(format, "exponent", stored.exponent, (place) => [
      String(2 ** (exponentBits - 1 - place))]);
    const shares = sumOf(format, "fraction", stored.fraction, (place) => powerOfTwo(-1 - place));
    const why = normal ? [] : [" (so the power is 1 − bias and the leading bit is 0)"];
    // The size of a unit in the last place, as a power of two and as a decimal.
    const ulp = powerOfTwo(Math.log2(stored.ulp));
    const digits = readable(stored.ulp, 12, 3);
    sums.append(
      make("span", make("i", "exponent "), ...weights, ` = ${e}`, ...why),
      make("span", make("i", "fraction "), ...shares),
      make("span.ulp", "1 ULP = ", ...ulp,
        digits.startsWith("≈") ? ` ${digits}` : ` = ${digits}`));
  }
  function show(lit) {
    for (const one of element.querySelectorAll(".term")) {
      // A whole field lights for any of its bits; one addend only for its own.
      one.classList.toggle("lit", one.bits.some((bit) => lit.has(bit)));
    }
  }
  return { element, update, light: show };
}
