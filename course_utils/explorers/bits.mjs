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
  const field = ([name, [, width]]) => {
    const mine = Array.from({ length: width }, (_, index) => make(buttonOf ? "button" : "span", {
      class: `bit ${name}`, "data-index": bits.length + index,
      ...buttonOf?.(name, width - 1 - index, width) }));
    bits.push(...mine);
    return make(`span.field.${name}`,
      make("span.tag", { "aria-hidden": "true" }, name === "sign" ? "S"
        : `${name[0].toUpperCase()} ${width}`),
      make("span.cells", ...mine));
  };
  const [sign, exponent, fraction] = Object.entries(fieldsOf(format)).map(field);
  const lead = make("span.lead", { title: "the leading bit, which is not stored" });
  const ghost = make("span.ghost", { "aria-hidden": "true" }, lead, make("span.point", "."));
  const element = make("div.strip",
    make("span.left", sign, exponent),
    make("span.right", ghost, fraction));

  function show(stored) {
    const digits = stored ? stored.sign + stored.exponent + stored.fraction : "";
    bits.forEach((bit, index) => {
      const isOn = digits[index] === "1";
      bit.classList.toggle("on", isOn);
      if (buttonOf) setOne(bit, "aria-pressed", isOn);
    });
    setText(lead, { normal: "1", subnormal: "0", zero: "0" }[stored?.kind] ?? "");
  }
  return { element, bits, ghost, show };
}
