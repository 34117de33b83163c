// The digits of numbers: all of them, or as many as one reads. A minus sign is a true one.

export const isNegative = (value) => value < 0 || Object.is(value, -0);
const signOf = (value) => (isNegative(value) ? "−" : "");

// What has no digits, in words.
function inWords(value) {
  return Number.isNaN(value) ? "NaN" : `${signOf(value)}infinity`;
}

// The exact decimal, ungrouped.
export function exact(value) {
  if (!Number.isFinite(value)) return inWords(value);
  let whole = Math.abs(value);
  let places = 0; // behind the point: dividing by 2 adds one digit, which times 5 makes whole
  while (!Number.isInteger(whole)) {
    whole *= 2;
    places += 1;
  }
  const digits = String(BigInt(whole) * 5n ** BigInt(places)).padStart(places + 1, "0");
  const point = digits.length - places;
  return signOf(value) + digits.slice(0, point) + (places ? `.${digits.slice(point)}` : "");
}

// `digits` decimal digits, 15 at most (more where the whole part has more); scientific below 0.0001
// and from 10**15.
export function short(value, digits = 9) {
  if (!Number.isFinite(value)) return inWords(value);
  const size = Math.abs(value);
  const wholeDigits = size < 1e15 ? String(Math.trunc(size)).length : 0;
  const rounded = Number(size.toPrecision(Math.max(digits, wholeDigits)));
  const isPlain = rounded === 0 || (rounded >= 1e-4 && rounded < 1e15);
  return signOf(value) + (isPlain ? String(rounded) : rounded.toExponential());
}

// The exact value, or the text that it was typed as, if it is short; else about `digits` digits of
// it behind "≈".
export function readable(value, longest = 24, digits = 12, whole = exact(value)) {
  if (!Number.isFinite(value) || whole.length <= longest) return whole;
  return `≈ ${short(value, digits)}`;
}
