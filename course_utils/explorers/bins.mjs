// Which reals round to which value: the bins of a format on a piece of the number line, and what
// became of a number, in words.

import { ROUNDINGS } from "./codec.mjs";
import {
  TWO, ZERO, add, compare, div, dyadic, equal, floorDivide, isZero, magnitude, mul, negate,
  readable, short, sub,
} from "./values.mjs";

const MOST_BINS = 36; // more than this in one view cannot be told apart
const AROUND = 3; // values on either side of the two at x

// The finite value near another one: the largest one where that is larger.
const finiteNear = (format, value, rounding) => format.round(value, { rounding, saturate: true });

// The next finite value, decoded, or null at the end.
function finiteStep(format, from, direction) {
  const code = format.step(from.code, direction);
  const to = code === null ? null : format.decode(code);
  return to?.value.kind === "finite" ? to : null;
}

// What everything beyond the largest value rounds to, and from where: null if it stays finite.
function beyondTheEnd(format, mode, negative) {
  const last = format.decode(format.largest);
  const flip = (value) => (negative ? negate(value) : value);
  const { kind } = format.round(flip(add(last.value, last.ulp)), mode);
  if (kind !== "nan" && kind !== "infinity") return null;
  const half = mode.rounding.startsWith("nearest") ? div(last.ulp, TWO) : ZERO;
  const text = kind === "nan" ? "NaN" : negative ? "−∞" : "∞";
  return { edge: flip(add(last.value, half)), text };
}

// The number that separates what rounds to `low` from what rounds to `high`, its neighbor.
function edgeBetween(format, mode, low, high) {
  const middle = div(add(low, high), TWO);
  if (mode.rounding.startsWith("nearest")) return middle;
  return equal(format.round(middle, mode).value, low) ? high : low;
}

// The bins of a format that meet [low, high], from low to high:
// [{from, to, value | null, text, odd}], `value` the finite value, `text` for infinity or NaN.
// The first and last bins may reach out of the piece (from or to null: without end).
// → null if there are more than MOST_BINS.
export function binsBetween(format, mode, low, high) {
  const first = finiteNear(format, low, "down");
  const last = finiteNear(format, high, "up");
  const ulp = compare(first.ulp, last.ulp) > 0 ? first.ulp : last.ulp;
  if (floorDivide(sub(last.value, first.value), ulp) > BigInt(MOST_BINS)) return null;
  const inside = [];
  for (let at = first; at; at = finiteStep(format, at, 1)) {
    inside.push({ value: isZero(at.value) ? ZERO : at.value, odd: Number(at.code & 1n) });
    if (compare(at.value, high) > 0) break;
    if (inside.length > MOST_BINS + 2) return null;
  }
  const bins = [];
  const below = finiteStep(format, first, -1);
  const bottom = below ? null : beyondTheEnd(format, mode, true);
  let from = below ? edgeBetween(format, mode, below.value, inside[0].value)
    : bottom ? bottom.edge : null;
  if (bottom) bins.push({ from: null, to: from, value: null, text: bottom.text });
  inside.forEach(({ value, odd }, index) => {
    const to = index + 1 < inside.length
      ? edgeBetween(format, mode, value, inside[index + 1].value) : null;
    bins.push({ from, to, value, text: "", odd });
    from = to;
  });
  // The list ends beyond `high`, or at the format's largest value.
  const ended = compare(inside.at(-1).value, high) <= 0;
  const top = ended ? beyondTheEnd(format, mode, false) : null;
  if (top) {
    bins.at(-1).to = top.edge;
    bins.push({ from: top.edge, to: null, value: null, text: top.text });
  }
  return bins;
}

// The piece of the number line around x that shows about seven values of the format.
// → {low, high, unit}: `unit` is the distance between values at x, a power of two.
export function windowAround(format, x) {
  const { ulp: unit } = finiteNear(format, x, "toward_zero");
  // From the value at x some steps on; where there are none, half a unit for each missing one.
  const reach = (at, direction) => {
    let missing = 0;
    for (let count = 0; count < AROUND; count += 1) {
      const next = finiteStep(format, at, direction);
      if (next) at = next;
      else missing += 1;
    }
    const margin = div(mul(unit, dyadic(BigInt(2 * missing + 1))), TWO);
    return direction < 0 ? sub(at.value, margin) : add(at.value, margin);
  };
  const low = finiteNear(format, x, "down");
  let high = finiteNear(format, x, "up");
  if (equal(low.value, high.value)) high = finiteStep(format, high, 1) ?? high;
  return { low: reach(low, -1), high: reach(high, 1), unit };
}

// How many digits tell the values of a format between low and high, and their middles, apart.
export function digitsBetween(format, { low, high }) {
  const [small, large] = [magnitude(low), magnitude(high)].sort(compare);
  const nearest = low.negative === high.negative ? small : ZERO;
  const { ulp } = finiteNear(format, nearest, "toward_zero");
  return Math.max(4, floorDivide(large, div(ulp, TWO)).toString().length + 1);
}

// A sentence about a bin: which numbers round to what. An edge belongs to one of its sides.
export function binSentence(format, mode, bin, digits) {
  const say = (value) => readable(value, 18, Math.max(8, digits + 1));
  const takes = (edge) => {
    const { value } = format.round(edge, mode);
    if (!bin.value || value.kind !== "finite") return !bin.value && value.kind !== "finite";
    return equal(value, bin.value);
  };
  const from = bin.from && `${takes(bin.from) ? "from" : "above"} ${say(bin.from)}`;
  const to = bin.to && (takes(bin.to) ? `up to and including ${say(bin.to)}`
    : `${from ? "to " : ""}below ${say(bin.to)}`);
  const range = [from, to].filter(Boolean).join(" ") || "everywhere";
  return `${range[0].toUpperCase()}${range.slice(1)}, every number becomes `
    + `${bin.value ? say(bin.value) : bin.text} in ${format.name} (${ROUNDINGS[mode.rounding]}).`;
}

// The multiple of a grain that is not above the value.
export const onGrid = (value, grain) => mul(dyadic(floorDivide(value, grain)), grain);

// The number `count` grains from x, on their grid; there are so many grains in a ULP at x.
export function nudged(format, x, count, grainsPerUlp) {
  const grain = div(finiteNear(format, x, "toward_zero").ulp, dyadic(grainsPerUlp));
  const below = onGrid(x, grain);
  const steps = count < 0 && !equal(x, below) ? count + 1 : count;
  return add(below, mul(dyadic(BigInt(steps)), grain));
}

// What became of the entered number in one format.
// → {kind: "same" | "exact" | "off" | "lost", text, short, parts}; "lost" is overflow or NaN.
// An exact result is told as "no error": its value may be shortened, behind "≈".
export function describeError(entered, stored) {
  const told = (kind, text, brief = text) => ({ kind, text, short: brief, parts: [text] });
  const ended = stored.value.kind !== "finite";
  if (entered.kind !== "finite") {
    if (stored.value.kind === entered.kind) return told("same", "");
    return told("lost", ended ? "no infinity in this format"
      : "largest number instead of infinity");
  }
  if (ended) return told("lost", `too large for ${stored.format}`);
  const difference = sub(stored.value, entered);
  if (isZero(difference)) return told("exact", "no error");
  const size = magnitude(difference);
  const brief = `error ${short(size, 3)}`;
  const parts = [`${short(size, 3)} too ${difference.negative ? "low" : "high"}`];
  if (compare(size, stored.ulp) >= 0) {
    // More than rounding can do: the number was cut off at the largest value.
    return told("lost", `${parts[0]} · ${short(stored.value)} is the last value`, brief);
  }
  if (!isZero(entered)) parts.push(`relative ${short(div(size, magnitude(entered)), 3)}`);
  parts.push(`${short(div(size, stored.ulp), 3)} ULP`);
  return { ...told("off", parts.join(" · "), brief), parts };
}

// The sentence for the live region.
export function describeRow(stored, error) {
  const kind = stored.kind === "nan" || stored.kind === "infinity" ? "" : `, ${stored.kind}`;
  return `${stored.format}: ${readable(stored.value, 40)}${kind}`
    + `${error.short ? `, ${error.short}` : ""}`;
}
