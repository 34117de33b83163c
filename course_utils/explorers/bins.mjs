// Which reals round to which value: the bins of a format on a piece of the number line, and what
// became of a number, in words.

import { readable, short } from "./digits.mjs";
import { ROUNDINGS } from "./entries.mjs";

const MOST_BINS = 38; // more than this in one view cannot be told apart
const AROUND = 3; // values on either side of the two at x

// The finite value near another one: the largest one where that is larger.
const finiteNear = (format, value, rounding) => format.round(value, { rounding, saturate: true });

// The next finite value, decoded, or null at the end.
function finiteStep(format, from, direction) {
  const code = format.step(from.code, direction);
  const to = code === null ? null : format.decode(code);
  return Number.isFinite(to?.value) ? to : null;
}

// What stands in a bin beyond the largest value; null for a finite one.
export function beyondName(value) {
  if (Number.isFinite(value)) return null;
  return Number.isNaN(value) ? "NaN" : value < 0 ? "−∞" : "∞";
}

// What everything beyond the largest value rounds to, and from where: null if it stays finite.
function beyondTheEnd(format, mode, sign) {
  const { value: last, ulp } = format.decode(format.largest);
  const { value } = format.round(sign * (last + ulp), mode);
  if (Number.isFinite(value)) return null;
  const half = mode.rounding.startsWith("nearest") ? ulp / 2 : 0;
  return { value, edge: sign * (last + half) };
}

// The number that separates what rounds to `low` from what rounds to `high`, its neighbor.
function edgeBetween(format, mode, low, high) {
  const middle = (low + high) / 2;
  if (mode.rounding.startsWith("nearest")) return middle;
  return format.round(middle, mode).value === low ? high : low;
}

// The bins of a format that meet [low, high], from low to high: [{from, to, value, odd}], `value`
// being what the numbers from `from` to `to` become, and `odd` the last bit of its code. The first
// and last bins may reach out of the piece, to infinity. → null if there are more than MOST_BINS.
export function binsBetween(format, mode, low, high) {
  const bins = [];
  let from = -Infinity;
  for (let at = finiteNear(format, low, "down"); at;) {
    const next = finiteStep(format, at, 1);
    const to = next ? edgeBetween(format, mode, at.value, next.value) : Infinity;
    bins.push({ from, to, value: at.value + 0, odd: at.code % 2 }); // −0 is 0 here
    if (bins.length > MOST_BINS) return null;
    if (at.value > high) break;
    from = to;
    at = next;
  }
  const { value: last } = format.decode(format.largest);
  const bottom = bins[0].value === -last && beyondTheEnd(format, mode, -1);
  if (bottom) {
    bins[0].from = bottom.edge;
    bins.unshift({ from: -Infinity, to: bottom.edge, value: bottom.value });
  }
  const top = bins.at(-1).value === last && beyondTheEnd(format, mode, 1);
  if (top) {
    bins.at(-1).to = top.edge;
    bins.push({ from: top.edge, to: Infinity, value: top.value });
  }
  return bins;
}

// Whether a number that becomes `value` is in a bin; its code tells 0 from −0, and a bin does not.
export const isSame = (bin, value) => Object.is(bin.value, value + 0);

// The piece of the number line around x that shows about seven values of the format.
// → {low, high, unit}: `unit` is the distance between values at x, a power of two.
export function windowAround(format, x) {
  const { ulp: unit } = finiteNear(format, x, "toward_zero");
  // From the value at x some steps on; where there are none, a unit for each missing one.
  const reach = (at, direction) => {
    let margin = unit / 2;
    for (let count = 0; count < AROUND; count += 1) {
      const next = finiteStep(format, at, direction);
      if (next) at = next;
      else margin += unit;
    }
    return at.value + direction * margin;
  };
  const low = finiteNear(format, x, "down");
  let high = finiteNear(format, x, "up");
  if (low.value === high.value) high = finiteStep(format, high, 1) ?? high;
  return { low: reach(low, -1), high: reach(high, 1), unit };
}

// How many digits tell the values of a format between low and high, and their middles, apart.
export function digitsBetween(format, { low, high }) {
  const sizes = [low, high].map(Math.abs);
  const nearest = low < 0 && high > 0 ? 0 : Math.min(...sizes);
  const { ulp } = finiteNear(format, nearest, "toward_zero");
  return Math.max(4, Math.floor(Math.log10(Math.max(...sizes) / (ulp / 2))) + 2);
}

// A sentence about a bin: which numbers round to what. An edge belongs to one of its sides.
export function binSentence(format, mode, bin, digits) {
  const say = (value) => readable(value, 18, Math.max(8, digits + 1));
  const takes = (edge) => isSame(bin, format.round(edge, mode).value);
  const parts = [];
  if (bin.from > -Infinity) parts.push(`${takes(bin.from) ? "from" : "above"} ${say(bin.from)}`);
  if (bin.to < Infinity) {
    const below = parts.length ? "to below" : "below";
    parts.push(`${takes(bin.to) ? "up to and including" : below} ${say(bin.to)}`);
  }
  const range = parts.join(" ") || "everywhere";
  return `${range[0].toUpperCase()}${range.slice(1)}, every number becomes `
    + `${beyondName(bin.value) ?? say(bin.value)} in ${format.name} (${ROUNDINGS[mode.rounding]}).`;
}

// The multiple of a grain that is not above the value.
export const onGrid = (value, grain) => Math.floor(value / grain) * grain;

// The number `count` grains from x, on their grid; there are so many grains in a ULP at x.
export function nudged(format, x, count, grainsPerUlp) {
  const grain = finiteNear(format, x, "toward_zero").ulp / grainsPerUlp;
  const below = onGrid(x, grain);
  const steps = count < 0 && x !== below ? count + 1 : count;
  return below + steps * grain;
}

// What became of the entered number in one format.
// → {kind: "same" | "exact" | "off" | "lost", text, short, parts}; "lost" is overflow or NaN.
// An exact result is told as "no error": its value may be shortened, behind "≈".
export function describeError(entered, stored) {
  const describe = (kind, text, brief = text) => ({ kind, text, short: brief, parts: [text] });
  const ended = !Number.isFinite(stored.value);
  if (!Number.isFinite(entered)) {
    if (Object.is(stored.value, entered)) return describe("same", "");
    return describe("lost", ended ? "no infinity in this format"
      : "largest number instead of infinity");
  }
  if (ended) return describe("lost", `too large for ${stored.format}`);
  const difference = stored.value - entered;
  if (difference === 0) return describe("exact", "no error");
  const size = Math.abs(difference);
  const brief = `error ${short(size, 3)}`;
  const parts = [`${short(size, 3)} too ${difference < 0 ? "low" : "high"}`];
  if (size >= stored.ulp) {
    // More than rounding can do: the number was cut off at the largest value.
    return describe("lost", `${parts[0]} · ${short(stored.value)} is the last value`, brief);
  }
  if (entered !== 0) parts.push(`relative ${short(size / Math.abs(entered), 3)}`);
  parts.push(`${short(size / stored.ulp, 3)} ULP`);
  return { ...describe("off", parts.join(" · "), brief), parts };
}

// The sentence for the live region.
export function describeRow(stored, error) {
  const kind = Number.isFinite(stored.value) ? `, ${stored.kind}` : "";
  return `${stored.format}: ${readable(stored.value, 40)}${kind}`
    + `${error.short ? `, ${error.short}` : ""}`;
}
