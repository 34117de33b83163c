// Texts to numbers, and these to the bit patterns of a format and back.
//
// A number is a float64, which holds every value of these formats and the middles between them. A
// code is a bit pattern as a whole number. A text means what formats/numerals.py says.

import { exact, isNegative } from "./digits.mjs";

export const NEAREST = { rounding: "nearest_even", saturate: false };
const WORDS = new Map([["nan", NaN], ["inf", Infinity], ["infinity", Infinity], ["∞", Infinity],
  ["pi", Math.PI], ["π", Math.PI]]);
const DECIMAL = /^(?=\.?\d)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/;
const POWER_OF_TWO = /^2(?:\^|\*\*)([+-]?\d+)$/;

// A decimal as a whole number over 10**places.
function wholeOf(text, places) {
  const [, whole, behind, ten = 0] = DECIMAL.exec(text);
  return BigInt(whole + behind) * 10n ** BigInt(places + Number(ten) - behind.length);
}

// The number that a text means, or null: {near, rest, value, text}. It is the float64 `near` and
// what that lacks, the `rest`. `value` is the float64 that rounds to every format as the number
// does: beside `near` where that could be a tie, and the number is none. What is far too small or
// large is the smallest or largest float64. `text` is what was typed, and short where digits of
// `value` cannot stand for it.
export function read(text) {
  const entry = text.trim().toLowerCase().replaceAll("−", "-").replace(/(\d)_(?=\d)/g, "$1");
  const body = entry.replace(/^[+-]/, "");
  const sign = entry.startsWith("-") ? -1 : 1;
  const word = sign * WORDS.get(body);
  if (WORDS.has(body)) return { near: word, value: word };
  const power = POWER_OF_TWO.exec(body);
  if (!power && !DECIMAL.test(body)) return null;
  const near = Math.min(power ? 2 ** power[1] : Number(body), Number.MAX_VALUE)
    || (/^[^e]*[1-9]/.test(body) ? Number.MIN_VALUE : 0);
  const isFar = near < 1e-250 || near > 1e250;
  let value = near;
  let rest = 0;
  if (!isFar && !power) {
    const places = 1100 + 2 * body.length;
    const more = wholeOf(body, places) - wholeOf(exact(near), places);
    // All values and ties of the formats have few bits: two steps from these lie no others.
    const isShort = near * 1e6 + near - near * 1e6 === near;
    if (isShort) value *= 1 + Math.sign(Number(more)) * 2 ** -52;
    rest = Number(`${more}e-${places}`);
  }
  const shown = entry.replace(/^-/, "−");
  return { near: sign * near, rest: sign * rest, value: sign * value,
    text: isFar && shown.length > 18 ? `${shown.slice(0, 17)}…` : shown };
}

// A number of steps between neighbors, as the nearest whole one.
export function toEven(steps) {
  const nearest = Math.round(steps); // a tie goes up
  return nearest - steps === 0.5 && nearest % 2 ? nearest - 1 : nearest;
}
const WHOLE = { nearest_even: toEven, toward_zero: Math.trunc, up: Math.ceil, down: Math.floor,
  nearest_away: (steps) => Math.sign(steps) * Math.round(Math.abs(steps)) };

// The power of two at or below a size.
export function octaveOf(size) {
  const guess = Math.floor(Math.log2(size)); // right, or one too high just below a power of two
  return 2 ** guess > size ? guess - 1 : guess;
}

// A format with its codec, from what Python's `parameters` knows of it. A mode is
// {rounding, saturate}. Codes in the order of their values are counted from zero: a code without
// its sign bit, negative where that bit is set.
export function makeFormat({ name, bits, bias, has_infinity: hasInfinity,
  exponent_bits: exponentBits, fraction_bits: fractionBits, largest_code: largest,
  nan_code: nanCode }) {
  const signBit = 2 ** (bits - 1);
  const perOctave = 2 ** fractionBits; // so many codes
  const lowest = 1 - bias; // the octave of the smallest normal number
  // Too large: infinity, else NaN, else the largest value.
  const tooLarge = hasInfinity ? largest + 1 : nanCode ?? largest;
  const exponentOf = (size) => Math.floor(size / perOctave);
  const ulpOf = (size) => 2 ** (Math.max(exponentOf(size), 1) - bias - fractionBits);
  const orderOf = (code) => (code < signBit ? code : signBit - code);

  // The value at a place in the order; beyond the largest one they go on as if there were more.
  function valueAt(order) {
    const size = Math.abs(order);
    const leading = exponentOf(size) ? perOctave : 0;
    return Math.sign(order) * (leading + (size % perOctave)) * ulpOf(size);
  }

  // What is larger than the largest value is rounded like this one, which no tie is near.
  const most = valueAt(largest) + 0.75 * ulpOf(largest);

  // The code of a number, null for NaN where the format has none.
  function encode(value, { rounding, saturate }) {
    if (Number.isNaN(value)) return nanCode;
    const near = Math.max(-most, Math.min(most, value));
    const octave = Math.max(lowest, octaveOf(Math.abs(near)));
    const whole = Math.abs(WHOLE[rounding](near / 2 ** (octave - fractionBits)));
    // The leading bit of `whole` adds one to the exponent field; so does a carry out of it.
    let code = (octave - lowest) * perOctave + whole;
    if (code > largest || !Number.isFinite(value)) code = saturate ? largest : tooLarge;
    return isNegative(value) ? signBit + code : code;
  }

  function decode(code) {
    const text = code.toString(2).padStart(bits, "0");
    const order = orderOf(code);
    const size = Math.abs(order);
    let kind = exponentOf(size) ? "normal" : size ? "subnormal" : "zero";
    let value = code === signBit ? -0 : valueAt(order);
    if (size > largest) {
      kind = hasInfinity && size === largest + 1 ? "infinity" : "nan";
      value = kind === "nan" ? NaN : order * Infinity;
    }
    return { format: name, code, kind, value, ulp: ulpOf(size), // of a finite value
      sign: text[0],
      exponent: text.slice(1, 1 + exponentBits),
      fraction: text.slice(1 + exponentBits),
      hex: `0x${code.toString(16).toUpperCase().padStart(Math.ceil(bits / 4), "0")}` };
  }

  // The neighbor up (1) or down (-1) as nextafter gives it (−0 is on the way up), or null.
  function step(code, direction) {
    const order = orderOf(code);
    const next = order + direction;
    const last = hasInfinity ? largest + 1 : largest;
    if (Math.max(Math.abs(order), Math.abs(next)) > last) return null; // NaN has none either
    return next < 0 || (next === 0 && order < 0) ? signBit - next : next;
  }

  // What a number becomes, decoded, or null.
  function round(value, mode) {
    const code = encode(value, mode);
    return code === null ? null : decode(code);
  }
  return { name, bits, exponentBits, fractionBits, bias, hasInfinity, largest,
    encode, decode, round, step, orderOf, valueAt };
}
