// What the view computes with the codec's exact values: errors, sentences, places on a line.

const ROUNDING_NAMES = {
  nearest_even: "nearest, ties to even",
  nearest_away: "nearest, ties away from zero",
  toward_zero: "toward zero",
  up: "up, toward +∞",
  down: "down, toward −∞",
};

/** The exact value num · 2^power. */
function dyadic(num, power = 0) {
  const size = num < 0n ? -num : num;
  const finite = { kind: "finite", negative: num < 0n };
  return power < 0
    ? { ...finite, num: size, den: 1n << BigInt(-power) }
    : { ...finite, num: size << BigInt(power), den: 1n };
}

const ZERO = dyadic(0n);
const TWO = dyadic(2n);

function isZero(value) {
  return value.kind === "finite" && value.num === 0n;
}

function magnitude(value) {
  return { ...value, negative: false };
}

/** A JavaScript number near a value, for drawing: at most ±1e9, steps of 2^-30. */
function nearNumber(value) {
  if (value.kind !== "finite") return value.negative ? -1e9 : 1e9;
  const size = Number((value.num << 30n) / value.den) / 2 ** 30;
  return Math.min(size, 1e9) * (value.negative ? -1 : 1);
}

/** floor(value / step) as a BigInt, both finite and step above zero. */
function floorDivide(value, step) {
  const num = value.num * step.den;
  const den = value.den * step.num;
  if (!value.negative) return num / den;
  return -((num + den - 1n) / den);
}

/** The value `count` steps from zero. */
function stepsFromZero(count, step) {
  const size = (count < 0n ? -count : count) * step.num;
  return { kind: "finite", negative: count < 0n, num: size, den: step.den };
}

/** The exact value if it is short, else about `digits` digits of it behind "≈". */
function readable(codec, value, longest = 24, digits = 12) {
  if (value.kind !== "finite") return codec.short(value);
  const exact = codec.exact(value);
  if (exact.length <= longest) return exact;
  return `≈ ${codec.short(value, digits)}`;
}

/**
 * What became of the entered number in one format.
 * → {kind: "same" | "exact" | "off" | "lost", text, short}; "lost" is overflow or NaN.
 * An exact result is told as "no error": its value may be shortened, behind "≈".
 */
function describeError(codec, entered, stored) {
  const name = stored.format;
  const finite = stored.value.kind === "finite";
  if (entered.kind !== "finite") {
    if (stored.value.kind === entered.kind) return { kind: "same", text: "", short: "" };
    const text = finite ? "largest number instead of infinity" : "no infinity in this format";
    return { kind: "lost", text, short: text };
  }
  if (!finite) {
    const text = `too large for ${name}`;
    return { kind: "lost", text, short: text };
  }
  const difference = codec.sub(stored.value, entered);
  if (isZero(difference)) return { kind: "exact", text: "no error", short: "no error" };
  const size = magnitude(difference);
  if (stored.ulp && codec.compare(size, stored.ulp) >= 0) {
    // More than rounding can do: the number was cut off at the largest value.
    const text = `${codec.short(size, 3)} too ${difference.negative ? "low" : "high"}`
      + ` · ${codec.short(stored.value)} is the last value`;
    return { kind: "lost", parts: [text], text, short: `error ${codec.short(size, 3)}` };
  }
  const parts = [`${codec.short(size, 3)} too ${difference.negative ? "low" : "high"}`];
  if (!isZero(entered)) {
    parts.push(`relative ${codec.short(codec.div(size, magnitude(entered)), 3)}`);
  }
  if (stored.ulp) parts.push(`${codec.short(codec.div(size, stored.ulp), 3)} ULP`);
  return { kind: "off", parts, text: parts.join(" · "), short: `error ${codec.short(size, 3)}` };
}

/** The sentence for the live region. */
function describeRow(codec, stored, error) {
  const value = readable(codec, stored.value, 40);
  const kind = stored.kind === "nan" || stored.kind === "infinity" ? "" : `, ${stored.kind}`;
  return `${stored.format}: ${value}${kind}${error.short ? `, ${error.short}` : ""}`;
}
