// Exact numbers: arithmetic on them, and their decimal digits.
//
// A value is an exact number; zero keeps its sign:
//   {kind: "finite", negative, num: BigInt >= 0n, den: BigInt > 0n}
//   {kind: "infinity", negative} | {kind: "nan", negative}

export const finite = (negative, num, den = 1n) => ({ kind: "finite", negative, num, den });
export const infinity = (negative) => ({ kind: "infinity", negative });
export const nan = (negative = false) => ({ kind: "nan", negative });
export const isZero = (a) => a.kind === "finite" && a.num === 0n;
export const negate = (a) => ({ ...a, negative: !a.negative });
export const magnitude = (a) => ({ ...a, negative: false });
const signed = (a) => (a.negative ? -a.num : a.num);

// num * 2**power.
export function dyadic(num, power = 0) {
  const [negative, size] = [num < 0n, num < 0n ? -num : num];
  return power < 0 ? finite(negative, size, 1n << BigInt(-power))
    : finite(negative, size << BigInt(power));
}
export const ZERO = dyadic(0n);
export const TWO = dyadic(2n);

// A sum of a and -a is +0, and −0 only where results are rounded down (IEEE 754).
export function add(a, b, rounding = "nearest_even") {
  if (a.kind !== "finite" || b.kind !== "finite") {
    const [one, other] = a.kind === "finite" ? [b, a] : [a, b];
    const opposed = other.kind === "infinity" && one.negative !== other.negative;
    return one.kind === "nan" || other.kind === "nan" || opposed ? nan() : infinity(one.negative);
  }
  const same = a.den === b.den;
  const sum = same ? signed(a) + signed(b) : signed(a) * b.den + signed(b) * a.den;
  const zeroSign = a.negative === b.negative ? a.negative : rounding === "down";
  const negative = sum === 0n ? zeroSign : sum < 0n;
  return finite(negative, sum < 0n ? -sum : sum, same ? a.den : a.den * b.den);
}
export const sub = (a, b, rounding) => add(a, negate(b), rounding);

export function mul(a, b) {
  const negative = a.negative !== b.negative;
  if (a.kind === "finite" && b.kind === "finite") {
    return finite(negative, a.num * b.num, a.den * b.den);
  }
  if (a.kind === "nan" || b.kind === "nan" || isZero(a) || isZero(b)) return nan();
  return infinity(negative);
}
function inverse(a) {
  if (a.kind === "infinity") return finite(a.negative, 0n);
  return isZero(a) ? infinity(a.negative) : { ...a, num: a.den, den: a.num };
}
export const div = (a, b) => mul(a, inverse(b));

// -1, 0 or 1; NaN, which is neither less nor equal nor greater, if an operand is NaN.
export function compare(a, b) {
  if (a.kind === "nan" || b.kind === "nan") return NaN;
  const order = (v) => (v.kind === "finite" ? 0 : v.negative ? -1 : 1);
  const difference = a.kind === "finite" && b.kind === "finite"
    ? signed(a) * b.den - signed(b) * a.den : order(a) - order(b);
  return difference < 0 ? -1 : difference > 0 ? 1 : 0;
}
export const equal = (a, b) => compare(a, b) === 0;

// floor(value / step) as a BigInt, both finite and step above zero.
export function floorDivide(value, step) {
  const [num, den] = [value.num * step.den, value.den * step.num];
  return value.negative ? -((num + den - 1n) / den) : num / den;
}

// A JavaScript number near a finite value, for drawing: at most ±1e9, in steps of 2^-30.
export function nearNumber(value) {
  const size = Number((value.num << 30n) / value.den) / 2 ** 30;
  return Math.min(size, 1e9) * (value.negative ? -1 : 1);
}

// Integers

export const bitLength = (n) => n.toString(2).length;

// What floor(log2(num/den)) is, for num > 0.
export function floorLog2(num, den) {
  const e = bitLength(num) - bitLength(den);
  const below = e < 0 ? num << BigInt(-e) < den : num < den << BigInt(e);
  return below ? e - 1 : e;
}

// Whole part and remainder of num/den * base**power; the remainder counts in units of `unit`.
export function scaled(num, den, base, power) {
  if (power < 0) den *= base ** BigInt(-power);
  else num *= base ** BigInt(power);
  const whole = num / den;
  return { whole, rest: num - whole * den, unit: den };
}

// Digits

// The exact decimal, ungrouped, with a true minus sign. A fraction without a finite one (1/3) is
// cut after 17 digits and ends in "…".
export function exact(value) {
  if (value.kind !== "finite") return short(value);
  const places = bitLength(value.den) - 1; // at least as many as its factors 2, and as its 5
  const grown = value.num * 10n ** BigInt(places);
  if (grown % value.den !== 0n) return `${short(value, 17)}…`;
  return withPoint(value.negative, (grown / value.den).toString(), places);
}

// `digits` decimal digits (more where the whole part has more), rounded to nearest even;
// scientific below 0.0001 and from 10**15.
export function short(value, digits = 9) {
  if (value.kind === "nan") return "NaN";
  if (value.kind === "infinity") return value.negative ? "−infinity" : "infinity";
  if (value.num === 0n) return value.negative ? "−0" : "0";
  const { num, den } = value;
  // The exponent of the leading digit: an estimate, then as many digits as there should be.
  let e = Math.floor((bitLength(num) - bitLength(den)) * Math.LOG10E * Math.LN2);
  for (;;) {
    const count = e >= 0 && e < 15 ? Math.max(digits, e + 1) : digits;
    const places = count - 1 - e;
    const { whole, rest, unit } = scaled(num, den, 10n, places);
    const length = whole === 0n ? 0 : whole.toString().length;
    if (length === count) {
      const up = 2n * rest > unit || (2n * rest === unit && whole % 2n === 1n);
      return written(value.negative, (up ? whole + 1n : whole).toString(), places);
    }
    e += Math.sign(length - count);
  }
}

// The exact value if it is short, else about `digits` digits of it behind "≈".
export function readable(value, longest = 24, digits = 12) {
  const whole = exact(value);
  if (value.kind !== "finite" || whole.length <= longest) return whole;
  return `≈ ${short(value, digits)}`;
}

function written(negative, digits, places) {
  const e = digits.length - 1 - places;
  if (e >= -4 && e < 15) return withPoint(negative, digits, places);
  return `${withPoint(negative, digits, digits.length - 1)}e${e < 0 ? "" : "+"}${e}`;
}

function withPoint(negative, digits, places) {
  const padded = digits.padStart(places + 1, "0");
  const point = padded.length - places;
  let end = padded.length;
  while (end > point && padded[end - 1] === "0") end -= 1;
  const fraction = end > point ? `.${padded.slice(point, end)}` : "";
  return (negative ? "−" : "") + padded.slice(0, point) + fraction;
}
