// The bits of a format as boxes, field by field, and the leading bit that is not stored.

import { make, setOne, setText } from "./dom.mjs";

// The fields of a format: {name: [index of the first bit, how many]}.
export const fieldsOf = ({ exponentBits, fractionBits }) => ({
  sign: [0, 1], exponent: [1, exponentBits], fraction: [1 + exponentBits, fractionBits] });

// Boxes in one line; they are buttons where `buttonOf(field, place, width)` gives attributes, and
// `place` counts from 0 at the field's right end.
// → {element, bits, ghost, show(stored)}, the last with what a codec decodes, or null.
export function makeBits(format, buttonOf = null) {
  const bits = [];
  const [tag, state] = buttonOf ? ["button", "aria-pressed"] : ["span", "data-on"];
  const field = ([name, [, width]]) => {
    const mine = Array.from({ length: width }, (_, index) => make(tag, {
      class: `bit ${name}`, "data-index": bits.length + index, [state]: "false",
      ...buttonOf?.(name, width - 1 - index, width) }));
    bits.push(...mine);
    const letter = name[0].toUpperCase();
    return make(`span.field.${name}`,
      make("span.tag", { "aria-hidden": "true" },
        name === "sign" ? letter : `${letter} ${width}`),
      make("span.cells", ...mine));
  };
  const [sign, exponent, fraction] = Object.entries(fieldsOf(format)).map(field);
  const lead = make("span.lead", { title: "the leading bit, which is not stored" }, "1");
  const ghost = make("span.ghost", { "aria-hidden": "true" }, lead,
    make("span.point", "."));
  const element = make("div.strip",
    make("span.left", sign, exponent),
    make("span.right", ghost, fraction));

  function show(stored) {
    const digits = stored ? stored.sign + stored.exponent + stored.fraction : "";
    bits.forEach((bit, index) => setOne(bit, state, String(digits[index] === "1")));
    const { kind } = stored ?? {};
    setText(lead, kind === "normal" ? "1" : kind === "subnormal" || kind === "zero" ? "0" : "");
  }
  return { element, bits, ghost, show };
}
