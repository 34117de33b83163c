// What somebody enters, or a sentence about what cannot be read, such as formats/numerals.py has.

import { read } from "./codec.mjs";

export const ROUNDINGS = {
  nearest_even: "nearest, ties to even",
  nearest_away: "nearest, ties away from zero",
  toward_zero: "toward zero",
  up: "up, toward +∞",
  down: "down, toward −∞",
};

// Whether a text is meant as a code, "0x…" or "0b…".
export const isCode = (text) => /^\s*[+-]?0[xb]/i.test(text);

// What a text means: what `read` says of a number, {value, code} if it is a code of the format, or
// {message}.
export function understand(text, { name, bits, decode }) {
  const entry = text.trim();
  const quoted = `"${entry.length > 40 ? `${entry.slice(0, 37)}...` : entry}"`;
  if (entry.length > 2000) {
    return { message: `The entry has ${entry.length} characters: give at most 2,000.` };
  }
  if (isCode(entry)) {
    // NaN where a digit is wrong
    const code = Number(entry.replace(/([\da-fx])_(?=[\da-f])/gi, "$1"));
    if (code < 2 ** bits) return { code, value: decode(code).value };
    const most = (2 ** bits - 1).toString(16).toUpperCase();
    return { message: `${quoted} is not a code of ${name}: write its ${bits} bits after 0b, or `
      + `0x0 to 0x${most}.` };
  }
  const typed = read(entry);
  if (typed !== null) return typed;
  if (/\d,/.test(entry)) {
    return { message: `${quoted} has a comma: write a point for decimals and nothing for `
      + "thousands." };
  }
  return { message: `${entry ? `${quoted} is not a number` : "The entry is empty"}: give a decimal `
    + "number such as 0.1 or -6.5e-8, a power such as 2^-24, pi, inf or nan." };
}
