// Texts to exact values, and these to the bit patterns of a format and back.
//
// A code is a bit pattern as a BigInt. For what a value is, see values.mjs. Limits, words and
// sentences are those of course_utils/numerals.py.

import { dyadic, finite, floorLog2, infinity, nan, scaled } from "./values.mjs";

export const ROUNDINGS = {
  nearest_even: "nearest, ties to even",
  nearest_away: "nearest, ties away from zero",
  toward_zero: "toward zero",
  up: "up, toward +∞",
  down: "down, toward −∞",
};
const LONGEST = 2000; // characters
const TEN = 5000; // powers beyond these are far outside every format
const TWENTY_THOUSAND = 20000; // the same for powers of two
const PI = "3.1415926535897932384626433832795028841971";
const BLANKS = " \t\r\n\u00a0";
const DECIMAL = /^(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?$/;
const POWER_OF_TWO = /^2(?:\^|\*\*)([+-]?[0-9]+)$/;
const CODE = /^0(?:[xX][0-9a-fA-F]+|[bB][01]+)$/;
const ACCEPTED = "a decimal number such as 0.1 or -6.5e-8, a power such as 2^-24, pi, inf or nan";

// An entry that cannot be read; the message is one sentence for the learner.
export class EntryError extends Error {}

function quote(text) {
  const characters = Array.from(text.slice(0, 100));
  const shown = characters.length > 40 ? characters.slice(0, 37).join("") + "..." : text;
  return `"${shown.replace(/(?! )[\p{C}\p{Z}]/gu, "?")}"`;
}

// The entry without the blanks around it.
function trimmed(text) {
  let [from, to] = [0, text.length];
  while (from < to && BLANKS.includes(text[from])) from += 1;
  while (from < to && BLANKS.includes(text[to - 1])) to -= 1;
  const entry = text.slice(from, to);
  const count = [...entry].length; // of characters, some of which are two code units
  if (count <= LONGEST) return entry;
  const [given, most] = [count, LONGEST].map((n) => n.toLocaleString("en-US"));
  throw new EntryError(`The entry has ${given} characters: give at most ${most}.`);
}

// Whether a text is meant as a code ("0x…", "0b…"), to be read with a format's parseCode.
export const isCode = (text) => /^[ \t\r\n\u00a0]*[+-]?0[xb]/i.test(text);

const bounded = (digits, limit) => Math.max(-limit, Math.min(limit, Number(digits)));

// The exact value that a text means, or an EntryError.
export function parse(text) {
  const entry = trimmed(text);
  const plain = entry.replaceAll("−", "-");
  const negative = plain.startsWith("-");
  const body = plain.replace(/^[+-]/, "");
  if (/^nan$/i.test(body)) return nan(negative);
  if (/^(?:inf|infinity|∞)$/i.test(body)) return infinity(negative);
  const power = POWER_OF_TWO.exec(body);
  if (power) return { ...dyadic(1n, bounded(power[1], TWENTY_THOUSAND)), negative };
  const decimal = DECIMAL.exec(body === "π" || /^pi$/i.test(body) ? PI : body);
  if (!decimal) throw new EntryError(complaint(entry));
  const fraction = decimal[2] || decimal[3] || "";
  const digits = BigInt((decimal[1] || "") + fraction);
  const ten = bounded(decimal[4] || 0, TEN) - fraction.length;
  return ten < 0 ? finite(negative, digits, 10n ** BigInt(-ten))
    : finite(negative, digits * 10n ** BigInt(ten));
}

function complaint(entry) {
  if (entry === "") return `The entry is empty: give ${ACCEPTED}.`;
  if (entry.includes(",") && /^[+\-−]?[0-9]/.test(entry)) {
    return `${quote(entry)} has a comma: write a point for decimals and nothing for thousands.`;
  }
  if (isCode(entry)) {
    return `${quote(entry)} is a code and not a number: give it to decode, with its format.`;
  }
  return `${quote(entry)} is not a number: give ${ACCEPTED}.`;
}

// A format with its codec, from what Python knows of it: {name, bits, exponent_bits,
// fraction_bits, bias, has_infinity, largest_code, nan_code}. A mode is {rounding, saturate}.
export function makeFormat(row) {
  const { name, bits, bias, has_infinity: hasInfinity } = row;
  const { exponent_bits: exponentBits, fraction_bits: fractionBits } = row;
  const largest = BigInt(row.largest_code);
  const nanCode = row.nan_code === null ? null : BigInt(row.nan_code);
  const signBit = 1n << BigInt(bits - 1);
  const fieldShift = BigInt(fractionBits);
  // Too large: infinity, else NaN, else the largest value.
  const tooLarge = hasInfinity ? largest + 1n : nanCode ?? largest;

  function encodeSize(value, { rounding, saturate }) {
    if (value.kind === "nan") {
      if (nanCode !== null) return nanCode;
      throw new EntryError(`${name} has no NaN: choose a number, or a format that has NaN.`);
    }
    if (value.kind === "infinity") return saturate ? largest : tooLarge;
    if (value.num === 0n) return 0n;
    const lowest = 1 - bias;
    const e = Math.max(floorLog2(value.num, value.den), lowest);
    const { whole, rest, unit } = scaled(value.num, value.den, 2n, fractionBits - e);
    const towardZero = rounding === "toward_zero" || rounding === (value.negative ? "up" : "down");
    let away = rest > 0n && !towardZero;
    if (rounding.startsWith("nearest")) {
      const toTie = 2n * rest - unit;
      away = toTie > 0n || (toTie === 0n && (rounding === "nearest_away" || whole % 2n === 1n));
    }
    // The leading bit of `whole` adds one to the exponent field; so does a carry out of it.
    const code = (BigInt(e - lowest) << fieldShift) + whole + (away ? 1n : 0n);
    if (code <= largest) return code;
    return saturate || towardZero ? largest : tooLarge;
  }

  function encode(value, mode) {
    const code = encodeSize(value, mode);
    return value.negative ? code | signBit : code;
  }

  function decode(code) {
    const text = code.toString(2).padStart(bits, "0");
    const negative = (code & signBit) !== 0n;
    const size = code & (signBit - 1n);
    const exponent = Number(size >> fieldShift);
    const fraction = size & ((1n << fieldShift) - 1n);
    // The value is significand * 2**step, and 2**step is the unit in the last place.
    const step = Math.max(exponent, 1) - bias - fractionBits;
    let kind = exponent ? "normal" : size ? "subnormal" : "zero";
    let value = { ...dyadic((exponent ? 1n << fieldShift : 0n) + fraction, step), negative };
    if (size > largest) {
      kind = hasInfinity && size === largest + 1n ? "infinity" : "nan";
      value = { kind, negative };
    }
    return { format: name, code, kind, value,
      sign: text[0],
      exponent: text.slice(1, 1 + exponentBits),
      fraction: text.slice(1 + exponentBits),
      hex: `0x${code.toString(16).toUpperCase().padStart(Math.ceil(bits / 4), "0")}`,
      ulp: size > largest ? null : dyadic(1n, step) };
  }

  // The neighbor up (1) or down (-1) as nextafter gives it (−0 is on the way up), or null.
  function step(code, direction) {
    const size = code & (signBit - 1n);
    const last = hasInfinity ? largest + 1n : largest;
    if (size > last) return null; // NaN
    const sign = direction < 0 ? signBit : 0n;
    if (size === 0n) return 1n | sign;
    if ((code & signBit) !== sign) return code - 1n; // toward zero
    return size === last ? null : code + 1n;
  }

  function parseCode(text) {
    const entry = trimmed(text);
    if (!CODE.test(entry)) {
      throw new EntryError(`${quote(entry)} is not a code: give text like 0x3C00 or 0b0110.`);
    }
    const code = BigInt(entry);
    if (code >> BigInt(bits) === 0n) return code;
    const most = ((1n << BigInt(bits)) - 1n).toString(16).toUpperCase();
    throw new EntryError(`${name} has ${bits} bits, so its codes go from 0 to 0x${most}: `
      + `${quote(entry)} is outside.`);
  }

  const round = (value, mode) => decode(encode(value, mode));
  return { name, bits, exponentBits, fractionBits, bias, hasInfinity, largest,
    encode, decode, round, step, parseCode };
}
