// Shares, powers and sentences of ScaleScope.

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const LONGEST_NAME = 40; // characters
// What a value may become, by the name of its count.
export const BANDS = { zero: "rounded to zero", subnormal: "subnormal", normal: "normal",
  overflow: "overflow" };

// "2⁻²⁴" to look at, "2^-24" to be read aloud.
export const raised = (exponent) =>
  `2${[...String(exponent)].map((sign) => SUPERSCRIPTS[sign] ?? "⁻").join("")}`;
export const spelled = (exponent) => `2^${exponent}`;

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

// An error in percent, with two digits.
export function errorText(error) {
  if (error === Infinity) return "∞";
  return error > 0 && error < 0.001 ? "<0.001 %" : `${Number(error.toPrecision(2))} %`;
}

// A number with so many digits, as short as may be.
export function numberText(value, digits = 3) {
  if (!Number.isFinite(value)) return String(value).replace("Infinity", "∞").replace("-", "−");
  const small = value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e5);
  return (small ? value.toExponential(digits - 1).replace("+", "")
    : String(Number(value.toPrecision(digits)))).replace(/^-/, "−");
}

// A count with commas, for which a browser's own locales take 20 ms to load; and one with its
// noun: "1 value", "2 values".
export const counted = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");
export const plural = (count, noun) => `${counted(count)} ${noun}${count === 1 ? "" : "s"}`;

// A name that is not too long; letters are never cut in half.
export function shortName(name) {
  const letters = [...name];
  return letters.length > LONGEST_NAME
    ? `${letters.slice(0, LONGEST_NAME - 1).join("")}…` : name;
}

// The histogram as one sentence; `scale` as an exponent, `error` as `errorAt` gives it.
export function describeSurvival(found, format, scale, error) {
  if (!found.nonzero) return "There is no finite gradient but zero.";
  const parts = Object.entries(BANDS).map(([name, title]) =>
    `${part(found[name], found.nonzero)} ${title}`);
  return `At scale ${spelled(scale)} in ${format}, relative error ${errorText(error)}; of the `
    + `nonzero gradients ${parts.join(", ")}.`;
}

// What the shares leave out.
export function describeRest({ alreadyZero, nonfinite, nonzero }) {
  const total = nonzero + alreadyZero + nonfinite;
  const zeros = `${part(alreadyZero, total)} of ${counted(total)} are zero anyway.`;
  const shares = alreadyZero ? `nonzero gradients; ${zeros}` : `${plural(total, "gradient")}.`;
  const bad = nonfinite ? ` ${plural(nonfinite, "value")} came in as NaN or infinity: no scale `
    + "mends that." : "";
  return `Shares of the ${shares}${bad}`;
}
