// A row per format: its bits as buttons, its value, its error, and steps to its neighbors; and the
// formula of the selected row, where each factor belongs to bits, and each bit to a term.

import { describeError } from "./bins.mjs";
import { fieldsOf, makeBits } from "./bits.mjs";
import { exact, readable } from "./digits.mjs";
import { isCommand, make, powerOfTwo, roveAmong, setOne, setText } from "./dom.mjs";

// What a screen reader says about a bit; `place` counts from 0 at the field's right end.
function bitLabel(field, place, width) {
  if (field === "sign") return "sign bit, 1 for negative";
  const weight = field === "exponent" ? 2 ** place : `2^${place - width}`;
  return `${field} bit ${place}, weight ${weight}`;
}

// A row for one format. on: {select(), edit(code), light(bits)}; the leading bit is "lead".
// → {element, update(entered, typed, stored, isSelected), light(lit)}; `typed` is what read() says
// of the number, `stored` is null where the format refuses it. update gives a sentence about it.
export function makeRow(format, on) {
  let stored = null;
  const next = (direction) => stored && format.step(stored.code, direction);
  function step(direction) {
    const code = next(direction);
    if (code !== null) on.edit(code);
  }
  const makeStep = (direction, face, text) => make("button.step", {
    tabindex: "-1", title: `${text} to the next value (${face})`,
    "aria-label": `${text} in ${format.name}`, onclick: () => step(direction) }, face);
  const [down, up] = [makeStep(-1, "↓", "step down"), makeStep(1, "↑", "step up")];
  const { element: strip, bits, ghost, show } = makeBits(format, (...place) =>
    ({ "aria-label": bitLabel(...place) }));
  const name = make("button.name", { tabindex: "-1", onclick: on.select }, format.name);
  const hex = make("code.hex");
  const [value, kind, error] = ["value", "kind", "error"].map((part) => make(`span.${part}`));

  const isBit = (node) => node.matches(".bit");
  function lightFor({ target }) {
    if (isBit(target)) on.light([Number(target.dataset.index)]);
    else on.light(target.matches(".lead") ? ["lead"] : []);
  }
  const darken = () => on.light([]);
  const toField = (field) => () => bits[fieldsOf(format)[field][0]].focus();
  const keys = { s: toField("sign"), e: toField("exponent"), f: toField("fraction"),
    arrowup: () => step(1), arrowdown: () => step(-1) };
  const element = make("div", { class: `row ${format.bits <= 8 ? "short" : "long"}`, role: "group",
    "data-format": format.name, "aria-label": `${format.name}, ${format.bits} bits`,
    onclick: ({ target }) => {
      if (!isBit(target)) return;
      const bit = 2 ** (format.bits - 1 - target.dataset.index);
      on.edit(((stored?.code ?? 0) ^ bit) >>> 0); // of 32 bits, unsigned
    },
    onkeydown: (event) => {
      const act = keys[event.key.toLowerCase()];
      if (!act || !isBit(event.target) || isCommand(event)) return;
      act();
      event.preventDefault();
    },
    onfocusin: (event) => {
      if (!isBit(event.target)) return;
      on.select();
      lightFor(event);
    },
    onfocusout: darken, onpointerover: lightFor, onpointerleave: darken },
  make("div.head", name, hex), strip,
  make("div.facts", value, kind, error, make("span.steps", down, up)));
  roveAmong(element, bits);

  function update(entered, typed, decoded, isSelected) {
    stored = decoded;
    const text = stored ? readable(stored.value) : "no NaN here";
    const told = stored ? describeError(entered, stored, typed) : { kind: "same", text: "" };
    const kindName = stored?.kind ?? "refused";
    element.classList.toggle("selected", isSelected);
    element.classList.toggle("refused", !stored);
    setOne(name, "aria-pressed", isSelected);
    show(stored);
    setText(hex, stored?.hex ?? "–");
    setText(kind, kindName.replace("nan", "NaN"));
    setOne(kind, "data-kind", kindName);
    setText(value, text);
    setOne(value, "title", text.startsWith("≈") ? exact(stored.value) : null);
    setText(error, told.text);
    setOne(error, "data-kind", told.kind);
    setOne(down, "disabled", next(-1) === null ? "" : null);
    setOne(up, "disabled", next(1) === null ? "" : null);
    if (!stored) return `${format.name}: ${text}`;
    return `${format.name}: ${readable(stored.value, 40)}`
      + (Number.isFinite(stored.value) ? `, ${stored.kind}` : "")
      + (told.text && `, ${told.parts[0]}`);
  }
  function light(lit) {
    bits.forEach((bit, index) => bit.classList.toggle("lit", lit.has(index)));
    ghost.classList.toggle("lit", lit.has("lead"));
  }
  return { element, update, light };
}

// The formula's panel. light(bits) is called when the pointer is on a term, or leaves all.
// → {element, update(stored, format), light(lit)}
export function makeFormula(light) {
  const line = make("p.line");
  const sums = make("p.sums");
  const element = make("div.formula", { role: "group", "aria-label": "the value, bit by bit",
    onpointerover: ({ target }) => light(target.closest(".term")?.bits ?? []),
    onpointerleave: () => light([]) }, line, sums);

  // A term that lights its bits; `bits` are indices into the row, or "lead".
  const term = (bits, name, ...children) =>
    Object.assign(make(`span.term.${name}`, ...children), { bits });

  function update(stored, format) {
    line.replaceChildren(make("strong", format.name), " ");
    sums.replaceChildren();
    if (!stored) {
      line.append("has no bit pattern for this number.");
      return;
    }
    const { exponentBits, fractionBits, bias } = format;
    const { value, kind } = stored;
    const fields = fieldsOf(format);
    // A term for a whole field.
    function fieldTerm(name, ...children) {
      const [first, count] = fields[name];
      return term(Array.from({ length: count }, (_, place) => first + place), name, ...children);
    }
    // The terms of a field's sum, one per bit that is 1, with a plus sign between them.
    function sumOf(name, weight) {
      const terms = [...stored[name]].flatMap((digit, place) => (digit === "1"
        ? [" + ", term([fields[name][0] + place], name, ...weight(place))] : []));
      return terms.length ? terms.slice(1) : ["0"];
    }

    if (!Number.isFinite(value)) {
      const ones = format.hasInfinity ? "not all 0" : "all 1";
      line.append("The ", fieldTerm("exponent", "exponent bits are all 1"), " and the ",
        fieldTerm("fraction", `fraction bits are ${kind === "nan" ? ones : "all 0"}`),
        `: this is ${kind === "nan" ? "NaN, not a number" : readable(value)}.`);
      return;
    }
    const [e, f] = [stored.exponent, stored.fraction].map((digits) => Number.parseInt(digits, 2));
    const isNormal = kind === "normal";
    line.append(
      term([0], "sign", "(−1)", make("sup", stored.sign)), " × ",
      fieldTerm("exponent", make("span", "2", make("sup", `${isNormal ? e : 1} − ${bias}`))),
      " × (", term(["lead"], "leading", isNormal ? "1" : "0"), " + ",
      fieldTerm("fraction", `${f}∕${2 ** fractionBits}`), ") ",
      make("span", "= ", make("b.result", readable(value, 200))));
    // The size of a unit in the last place, as a power of two and as a decimal.
    const ulp = readable(stored.ulp, 12, 3);
    sums.append(
      make("span", make("i", "exponent "),
        ...sumOf("exponent", (place) => [String(2 ** (exponentBits - 1 - place))]),
        ` = ${e}${isNormal ? "" : " (so the power is 1 − bias and the leading bit is 0)"}`),
      make("span", make("i", "fraction "),
        ...sumOf("fraction", (place) => powerOfTwo(-1 - place))),
      make("span", "1 ULP = ", ...powerOfTwo(Math.log2(stored.ulp)),
        ulp.startsWith("≈") ? ` ${ulp}` : ` = ${ulp}`));
  }
  function show(lit) {
    for (const one of element.querySelectorAll(".term")) {
      // A whole field lights for any of its bits; one addend only for its own.
      one.classList.toggle("lit", one.bits.some((bit) => lit.has(bit)));
    }
  }
  return { element, update, light: show };
}
