// What a training step keeps, by part, and what 16 bits save of it, in whole sentences.

import { counted, numberText } from "./words.mjs";

const UNITS = ["bytes", "kB", "MB", "GB", "TB", "PB"];

// Bytes with three digits, in the unit that fits.
export function bytesText(bytes) {
  const power = bytes < 1 ? 0 : Math.floor(Math.log10(Number(bytes.toPrecision(3))) / 3);
  return `${numberText(bytes / 1000 ** power)} ${UNITS[power]}`;
}

// A count as a reader takes it in: digits up to ten million, words from there on.
const roughly = (count) => (count < 1e7 ? counted(count)
  : count < 1e9 ? `${numberText(count / 1e6)} million` : `${numberText(count / 1e9)} billion`);

// Bytes by part; the counts are those of doesitpay.py.
export function partsOf([copies, singles, activations, logits], batch, bits) {
  const trainable = copies + singles;
  return {
    weights: 4 * trainable,
    copies: bits === 16 ? 2 * copies : 0,
    gradients: 4 * trainable,
    optimizer: 8 * trainable,
    activations: batch * ((activations * bits) / 8 + 4 * logits),
  };
}
export const sumOf = (parts) => Object.values(parts).reduce((sum, bytes) => sum + bytes, 0);

// What float32 needs, and what 16 bits save of it: less than zero where they cost memory.
export function savingOf(counts, batch) {
  const [whole, half] = [32, 16].map((bits) => sumOf(partsOf(counts, batch, bits)));
  return { whole, saved: whole - half };
}

export const placesText = (places, unit) =>
  (unit === "pixels" ? `${places} × ${places} pixels` : `${counted(places)} tokens`);

export function verdictOf(counts, batch, places, unit) {
  const { whole, saved } = savingOf(counts, batch);
  const share = `(${numberText((100 * Math.abs(saved)) / whole, 2)}\u00a0%)`;
  const said = saved > 0 ? `save ${bytesText(saved)} of ${bytesText(whole)} ${share}`
    : saved < 0 ? `cost ${bytesText(-saved)} on top of ${bytesText(whole)} ${share}`
      : `need the ${bytesText(whole)} of float32`;
  return `At batch ${counted(batch)} and ${placesText(places, unit)}, 16 bits ${said}.`;
}

// The batch at which 16 bits save as much as they cost.
export const equalAt = ([copies, , activations]) => copies / activations;

// Why, and from which batch on they save.
export function reasonOf(counts, width, places, unit) {
  const [copies, , activations] = counts;
  const equal = equalAt(counts);
  const [one, where] = unit === "pixels" ? ["image", `batch ${numberText(equal)}`]
    : ["sequence", `${counted(Math.round(equal * places))} tokens in a batch, and the width is `
      + counted(width)];
  return `Each of ${roughly(copies)} weights gets a copy of 2 bytes, and each ${one} saves 2 bytes `
    + `for each of its ${roughly(activations)} activations. The two are equal at ${where}.`;
}
