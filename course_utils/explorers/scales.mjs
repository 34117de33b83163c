// Numbers that share a scale, rounded as in formats/blocks.py.

import { octaveOf, toEven } from "./codec.mjs";
import { isNegative } from "./digits.mjs";

// The element nearest to a value, ties to even; what is too large becomes the largest one.
function roundTo({ fraction, lowest, most, least, negative_zero: negativeZero }, value) {
  const negative = isNegative(value);
  const size = Math.min(Math.abs(value), negative ? -least : most);
  const step = 2 ** (Math.max(octaveOf(size), lowest) - fraction);
  const near = toEven(size / step) * step;
  return negative && (near || negativeZero) ? -near : near;
}

// The largest size of some values, NaN if one is not finite.
function largestOf(values) {
  const most = Math.max(...values.map(Math.abs));
  return most === Infinity ? NaN : most;
}

// The bits of its significand that an element keeps, the leading one included.
export const bitsOf = ({ fraction, lowest }, element) => (element === 0 || Number.isNaN(element) ? 0
  : 1 + fraction + Math.min(0, octaveOf(Math.abs(element)) - lowest));

// Scales, of a format and the largest sizes that the scale is for and that the tensor has.
const SCALES = {
  none: () => 1,
  power: ({ emax }, largest) => 2 ** Math.max(octaveOf(largest) - emax, -127),
  float32: ({ most }, largest, whole) => Math.fround(whole / most),
  e4m3: ({ most, e4m3 }, largest, whole) =>
    roundTo(e4m3, largest / most / tensorScaleOf(most, e4m3, whole)),
};
const orOne = (scale) => (scale === 0 ? 1 : scale);
const tensorScaleOf = (most, e4m3, whole) => orOne(Math.fround(whole / most / e4m3.most));

// What a block of values becomes in a tensor whose other values are at most `rest` in size.
// → {values, scales, tensorScale, steps}; the last are what one in each element is worth
export function quantize(values, format, rest = 0) {
  const { size, scale, most, e4m3 } = format;
  const whole = largestOf([...values, rest]);
  const tensorScale = e4m3 ? tensorScaleOf(most, e4m3, whole) : 1;
  const length = size || values.length;
  const scales = [];
  for (let start = 0; start < values.length; start += length) {
    scales.push(SCALES[scale](format, largestOf(values.slice(start, start + length)), whole));
  }
  const steps = values.map((_, index) => orOne(scales[Math.floor(index / length)]) * tensorScale);
  return { scales, tensorScale, steps,
    values: values.map((value, index) => roundTo(format, value / steps[index]) * steps[index]) };
}

// How far the one are from the other: ‖kept − values‖ / ‖values‖, 0 where all are zero.
export function errorOf(kept, values) {
  const length = Math.hypot(...values);
  const off = Math.hypot(...kept.map((value, index) => value - values[index]));
  return length === 0 ? 0 : off / length;
}
