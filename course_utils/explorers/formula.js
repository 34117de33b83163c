// The formula line of the selected row: each factor belongs to bits, and each bit to a term.

/** A term that lights its bits; `bits` are indices into the row, or "lead". */
function makeTerm(bits, className, ...children) {
  const term = make("span", { class: `term ${className}` }, ...children);
  term.bits = bits;
  return term;
}

/** The terms of a sum, one per bit that is 1, with a plus sign between them. */
function sumOf(digits, first, className, weight) {
  const terms = [];
  [...digits].forEach((digit, place) => {
    if (digit === "1") terms.push(makeTerm([first + place], className, ...weight(place)));
  });
  if (!terms.length) return ["0"];
  return terms.flatMap((term, index) => (index ? [" + ", term] : [term]));
}

/** The size of a unit in the last place, as a power of two and as a decimal. */
function ulpParts(codec, ulp) {
  const { num, den } = ulp;
  const power = powerOfTwo(num.toString(2).length - den.toString(2).length);
  const digits = readable(codec, ulp, 12, 3);
  return ["1 ULP = ", ...power, digits.startsWith("≈") ? ` ${digits}` : ` = ${digits}`];
}

/**
 * The formula's panel. light(bits | null) is called when the pointer is on a term.
 * → {element, update(stored, format, text), light(lit)}
 */
function makeFormula(codec, light) {
  const line = make("p", { class: "line" });
  const sums = make("p", { class: "sums" });
  const about = { role: "group", "aria-label": "the value, bit by bit" };
  const element = make("div", { class: "formula", ...about }, line, sums);
  element.addEventListener("pointerover", (event) => {
    light(event.target.closest(".term")?.bits ?? null);
  });
  element.addEventListener("pointerleave", () => light(null));

  function update(stored, format, text) {
    line.replaceChildren(make("strong", {}, format.name), " ");
    sums.replaceChildren();
    if (!stored) return line.append("has no bit pattern for this number.");
    const { exponentBits, fractionBits, bias } = format;
    const range = (from, count) => Array.from({ length: count }, (_, place) => from + place);
    const exponentAt = range(1, exponentBits);
    const fractionAt = range(1 + exponentBits, fractionBits);
    if (stored.value.kind !== "finite") {
      const sign = stored.sign === "1" ? "−" : "";
      const exponent = makeTerm(exponentAt, "exponent", "exponent bits are all 1");
      const infinite = stored.kind === "infinity";
      const bits = infinite
        ? "fraction bits are all 0"
        : format.hasInfinity ? "fraction bits are not all 0" : "fraction bits are all 1";
      line.append("The ", exponent, " and the ", makeTerm(fractionAt, "fraction", bits),
        infinite ? `: this is ${sign}infinity.` : ": this is NaN, not a number.");
      return undefined;
    }
    const e = Number.parseInt(stored.exponent, 2);
    const f = Number.parseInt(stored.fraction, 2);
    const normal = stored.kind === "normal";
    const two = make("span", {}, "2", make("sup", {}, normal ? `${e} − ${bias}` : `1 − ${bias}`));
    line.append(
      makeTerm([0], "sign", "(−1)", make("sup", {}, stored.sign)), " × ",
      makeTerm(exponentAt, "exponent", two), " × (",
      makeTerm(["lead"], "lead", normal ? "1" : "0"), " + ",
      makeTerm(fractionAt, "fraction", `${f}∕${2 ** fractionBits}`), ") ",
      make("span", { class: "equals" }, "= ", make("b", { class: "result" }, text)));
    const weights = sumOf(stored.exponent, 1, "exponent", (place) => [
      String(2 ** (exponentBits - 1 - place))]);
    const shares = sumOf(stored.fraction, 1 + exponentBits, "fraction", (place) =>
      powerOfTwo(-1 - place));
    const why = normal ? [] : [" (so the power is 1 − bias and the leading bit is 0)"];
    sums.append(
      make("span", {}, make("i", {}, "exponent "), ...weights, ` = ${e}`, ...why),
      make("span", {}, make("i", {}, "fraction "), ...shares),
      make("span", { class: "ulp" }, ...ulpParts(codec, stored.ulp)));
    return undefined;
  }

  function show(lit) {
    for (const term of element.querySelectorAll(".term")) {
      // A whole field lights for any of its bits; one addend only for its own.
      term.classList.toggle("lit", lit.size > 0 && term.bits.some((bit) => lit.has(bit)));
    }
  }

  return { element, update, light: show };
}
