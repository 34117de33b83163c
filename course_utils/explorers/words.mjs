// Shares, powers and sentences of ScaleScope.

import { SCANNED } from "./survival.mjs";

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const LONGEST_NAME = 40; // characters

// "2⁻²⁴" to look at, "2^-24" to be read aloud.
export const raised = (exponent) => "2" + String(exponent).replace("-", "⁻").replace(
  /[0-9]/g, (digit) => SUPERSCRIPTS[digit]);
export const spelled = (exponent) => `2^${exponent}`;

// A scale as a power of two: it may be 0 or infinity.
export function scaleText(scale, power = raised) {
  if (scale === 0) return "0";
  return scale === Infinity ? "∞" : power(Math.round(Math.log2(scale)));
}

// A share in percent, as scalescope.py writes it: little is never 0, and almost all not 100.
export function percent(share) {
  const value = share * 100;
  if (value <= 0) return "0 %";
  if (value >= 100) return "100 %";
  if (value < 0.01) return "<0.01 %";
  if (value > 99.99) return ">99.99 %";
  const grain = value < 1 || value >= 99 ? 100 : 10;
  return `${Math.floor(value * grain + 0.5) / grain} %`;
}
export const part = (count, total) => percent(total ? count / total : 0);

// A count with commas; and one with its noun: "1 value", "2 values".
export const counted = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");
export const plural = (count, noun) => `${counted(count)} ${noun}${count === 1 ? "" : "s"}`;

// A name that is not too long; letters are never cut in half.
export function shortName(name) {
  const letters = [...name];
  return letters.length > LONGEST_NAME
    ? `${letters.slice(0, LONGEST_NAME - 1).join("")}…` : name;
}

// The whole picture as one sentence.
export function describeSurvival(found, format, scale) {
  if (!found.total) return "There are no gradients.";
  const shares = [[found.alreadyZero, "already zero"], [found.roundedToZero, "rounded to zero"],
    [found.subnormal, "subnormal"], [found.normal, "normal"], [found.overflow, "overflow"]];
  if (found.nonfinite) shares.push([found.nonfinite, "NaN or infinity before scaling"]);
  const parts = shares.map(([count, name]) => `${part(count, found.total)} ${name}`);
  return `At scale ${spelled(scale)} in ${format}: ${parts.join(", ")}; `
    + `${percent(found.normLost)} of ‖g‖² lost.`;
}

// From–to in words, with what was not looked at.
function rangeText({ from, to }) {
  const [less, more] = [from === SCANNED.from, to === SCANNED.to];
  if (less) return `every scale from ${raised(from)}${more ? "" : " or less"} to ${raised(to)}`;
  if (more) return `${raised(from)} to ${raised(to)} and more`;
  return from === to ? `only ${raised(from)}` : `${raised(from)} to ${raised(to)}`;
}

// Which scales are good, and why if none is.
export function describeBest({ keeps, fits, both }, layer, limits) {
  if (!layer.counts.some(Boolean)) return "There is no finite value but zero: no scale helps.";
  if (both) return `Keeps 99.9 % of ‖g‖² and overflows nowhere: ${rangeText(both)}.`;
  if (!fits) return `No scale is good: something overflows ${limits.name} even at the smallest `
    + `one tried, ${raised(SCANNED.from)}.`;
  if (!keeps) return "No scale is good: even the largest one tried, "
    + `${raised(SCANNED.to)}, loses 0.1 % of ‖g‖² or more.`;
  return `No single scale is good: 99.9 % of ‖g‖² needs ${raised(keeps.from)} or more, and `
    + `beyond ${raised(fits.to)} the largest values overflow.`;
}

// Where every value is normal, or why there is no such scale.
export function describeTight({ tight }, layer) {
  if (!layer.counts.some(Boolean)) return "";
  return tight ? `Every nonzero value is normal: ${rangeText(tight)}.`
    : "No scale makes every nonzero value normal: they spread over more octaves than fit.";
}

const REASONS = {
  injected: () => "an overflow was injected",
  broken: () => "the weights are NaN, so every gradient is",
  input: () => "the gradients hold NaN or infinity at every scale",
  infinite: () => "the loss times infinity is not finite",
  overflow: (format) => `the scaled gradients overflow ${format}`,
};

// What happens in one step of the controller.
export function describeStep(row, format, growthSteps, power = raised) {
  const head = `step ${row.step}: scale ${scaleText(row.scale, power)}, `;
  const next = `next scale ${scaleText(row.next, power)}`;
  if (row.reason === "zero") {
    return `${head}applied: scaled by 0, every gradient is 0, which counts as finite, and 0 / 0 `
      + "makes the weights NaN";
  }
  if (!row.applied) return `${head}skipped: ${REASONS[row.reason](format)}; ${next}`;
  const grown = row.next === row.scale ? "" : `, after ${plural(growthSteps, "finite step")}`;
  return `${head}applied; ${next}${grown}`;
}
