// What somebody enters, or a sentence about what cannot be read: those of formats/numerals.py.

import { read } from "./codec.mjs";

export const ROUNDINGS = {
  nearest_even: "nearest, ties to even",
  nearest_away: "nearest, ties away from zero",
  toward_zero: "toward zero",
  up: "up, toward +∞",
  down: "down, toward −∞",
};
const CODE = /^0(?:x[0-9a-f]+|b[01]+)$/i;
const ACCEPTED = "a decimal number such as 0.1 or -6.5e-8, a power such as 2^-24, pi, inf or nan";

// An entry that cannot be read; the message is one sentence for the learner.
export class EntryError extends Error {}

const quote = (text) => `"${text.length > 40 ? `${text.slice(0, 37)}...` : text}"`;

// Whether a text is meant as a code ("0x…", "0b…"), to be read with parseCode.
export const isCode = (text) => /^\s*[+-]?0[xb]/i.test(text);

// The number that a text means, or an EntryError.
export function parse(text) {
  const number = read(text);
  if (number === null) throw new EntryError(complaint(text.trim()));
  return number;
}

function complaint(entry) {
  if (entry === "") return `The entry is empty: give ${ACCEPTED}.`;
  if (entry.includes(",") && /^[+\-−]?\d/.test(entry)) {
    return `${quote(entry)} has a comma: write a point for decimals and nothing for thousands.`;
  }
  if (isCode(entry)) {
    return `${quote(entry)} is a code and not a number: give it to decode, with its format.`;
  }
  return `${quote(entry)} is not a number: give ${ACCEPTED}.`;
}

// A format's code that a text means, or an EntryError.
export function parseCode(text, { name, bits }) {
  const entry = text.trim();
  if (!CODE.test(entry)) {
    throw new EntryError(`${quote(entry)} is not a code: give text like 0x3C00 or 0b0110.`);
  }
  const code = Number(entry);
  if (code < 2 ** bits) return code;
  const most = (2 ** bits - 1).toString(16).toUpperCase();
  throw new EntryError(`${name} has ${bits} bits, so its codes go from 0 to 0x${most}: `
    + `${quote(entry)} is outside.`);
}
