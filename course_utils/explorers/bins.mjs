// Which reals round to which value: the bins of a format on a piece of the number line, and what
// became of a number, in words. A place is one in the order of a format's codes.

import { readable, short } from "./digits.mjs";
import { ROUNDINGS } from "./entries.mjs";

const MOST_BINS = 36; // more than this in one view cannot be told apart
const AROUND = 3; // values on either side of the two at x

// The finite value near another one, decoded: the largest one where that is larger.
const finiteNear = (format, value, rounding) => format.round(value, { rounding, saturate: true });
const unitAt = (format, value) => finiteNear(format, value, "toward_zero").ulp;

// The place of the last finite value at or below another one; and of what a number becomes.
const placeBelow = (format, value) => format.orderOf(finiteNear(format, value, "down").code);
export const placeOf = (format, mode, value) => format.orderOf(format.encode(value, mode));

// A function that gives the bin of a place: {place, from, to, value, beyond}. What lies between
// `from` and `to` becomes `value`, or what `beyond` names: "∞", "−∞" or "NaN".
function makeBins(format, mode) {
  const { largest, valueAt, hasInfinity } = format;
  // One step beyond the largest value stands for all that is larger; it may become that value.
  const [bottom, top] = [-1, 1].map((sign) =>
    placeOf(format, mode, valueAt(sign * (largest + 1))));
  // Where the bin of a place begins.
  function edgeOf(place) {
    if (place <= bottom) return -Infinity;
    if (place > top) return Infinity;
    const [below, above] = [valueAt(place - 1), valueAt(place)];
    const middle = (below + above) / 2;
    if (mode.rounding.startsWith("nearest")) return middle;
    return placeOf(format, mode, middle) < place ? above : below;
  }
  return (place) => {
    const infinity = place < 0 ? "−∞" : "∞";
    return { place, from: edgeOf(place), to: edgeOf(place + 1), value: valueAt(place),
      beyond: Math.abs(place) > largest ? (hasInfinity ? infinity : "NaN") : null };
  };
}

// The bins of a format that meet [low, high], from low to high, and perhaps one more at each end.
// → null if there are more than MOST_BINS.
export function binsBetween(format, mode, low, high) {
  const [first, last] = [low, high].map((end) => placeBelow(format, end));
  if (last - first > MOST_BINS) return null;
  const places = Array.from({ length: last - first + 3 }, (_, index) => first - 1 + index);
  return places.map(makeBins(format, mode)).filter(({ from, to }) => from < to);
}

// The piece of the number line around x that shows about seven values of the format.
// → {low, high, unit}: `unit` is the distance between values at x, a power of two.
export function windowAround(format, x) {
  const { largest, valueAt } = format;
  const unit = unitAt(format, x);
  // From a place some values on; where there are none, a unit for each missing one.
  const reach = (place, direction) => {
    const end = Math.max(-largest, Math.min(largest, place + direction * AROUND));
    return valueAt(end) + direction * unit * (AROUND + 0.5 - Math.abs(end - place));
  };
  const place = placeBelow(format, x);
  return { low: reach(place, -1), high: reach(Math.min(place + 1, largest), 1), unit };
}

// How many digits tell the values of a format between low and high, and their middles, apart.
export function digitsBetween(format, { low, high }) {
  const sizes = [low, high].map(Math.abs);
  const nearest = low < 0 && high > 0 ? 0 : Math.min(...sizes);
  const halves = Math.max(...sizes) / (unitAt(format, nearest) / 2);
  return Math.max(4, Math.floor(Math.log10(halves)) + 2);
}

// A sentence about the bin of x: which numbers round to what. An edge belongs to one of its sides.
export function binSentence(format, mode, x, digits) {
  const place = placeOf(format, mode, x);
  const { from, to, value, beyond } = makeBins(format, mode)(place);
  const say = (number) => readable(number, 18, Math.max(8, digits + 1));
  const takes = (edge) => placeOf(format, mode, edge) === place;
  const parts = [];
  if (from > -Infinity) parts.push(`${takes(from) ? "from" : "above"} ${say(from)}`);
  if (to < Infinity) {
    const below = parts.length ? "to below" : "below";
    parts.push(`${takes(to) ? "up to and including" : below} ${say(to)}`);
  }
  const range = parts.join(" ");
  return `${range[0].toUpperCase()}${range.slice(1)}, every number becomes `
    + `${beyond ?? say(value)} in ${format.name} (${ROUNDINGS[mode.rounding]}).`;
}

// A size in three digits.
function told(size) {
  if (size < 1e-250) return "<1e-250";
  return size > 1e250 ? ">1e250" : short(size, 3);
}

// What became of the entered number in one format: {kind, parts, text}, of kind "same", "exact",
// "off" or "lost" (overflow or NaN). An exact result is told as "no error": its value may be
// shortened, behind "≈". `typed` is what read() says of the number, if anything.
export function describeError(entered, { format, value, ulp }, typed = {}) {
  const { near = entered, rest = 0 } = typed;
  const describe = (kind, ...parts) => ({ kind, parts, text: parts.join(" · ") });
  const isFinite = Number.isFinite(value);
  if (!Number.isFinite(entered)) {
    if (Object.is(value, entered)) return describe("same", "");
    return describe("lost", isFinite ? "largest number instead of infinity"
      : "no infinity in this format");
  }
  if (!isFinite) return describe("lost", `too large for ${format}`);
  if (value === entered) return describe("exact", "no error");
  const size = Math.abs(value - near - rest);
  const off = `${told(size)} too ${value < entered ? "low" : "high"}`;
  // More than rounding can do: the number was cut off at the largest value.
  if (Math.abs(entered) >= Math.abs(value) + ulp) {
    return describe("lost", off, `${short(value)} is the last value`);
  }
  return describe("off", off, `relative ${told(size / Math.abs(entered))}`,
    `${told(size / ulp)} ULP`);
}
