// What becomes of gradients times a power of two in a format: counts alone answer it exactly,
// since scaling by a power of two moves whole octaves. And the controller that moves the scale.

export const STEPS = 200;
export const FIRST_SCALE = 2 ** 15;
const SMALLEST_NORMAL = 2 ** -126;

const sumOf = (list) => list.reduce((sum, value) => sum + value, 0);

// How many values of an octave become zero, subnormal, normal, or overflow; `limits` as Python's
// `limits(fmt)`.
function splitOctave(layer, index, limits, scale) {
  const count = layer.counts[index];
  const octave = layer.first + index + scale;
  const pastBorder = (column) => layer.above[index][column] ?? 0; // zeros at the end are left out
  if (octave < limits.zero_octave) return [count, 0, 0, 0];
  if (octave > limits.top_octave) return [0, 0, 0, count];
  if (octave >= limits.normal_octave) {
    const over = octave === limits.top_octave ? pastBorder(limits.overflow) : 0;
    return [0, 0, count - over, over];
  }
  const zero = octave === limits.zero_octave ? layer.powers[index] : 0;
  const upward = octave === limits.normal_octave - 1 ? pastBorder(limits.rounds_up) : 0;
  return [zero, count - zero - upward, upward, 0];
}

// Python's `OctaveHistogram.survival`: the counts of the classes, of `nonzero` finite values.
export function survive(layer, limits, scale) {
  const parts = layer.counts.map((_, index) => splitOctave(layer, index, limits, scale));
  const [zero, subnormal, normal, overflow] = [0, 1, 2, 3].map((place) =>
    sumOf(parts.map((part) => part[place])));
  const nonzero = sumOf(layer.counts);
  return { zero, subnormal, normal, overflow, nonzero, alreadyZero: layer.zeros,
    nonfinite: layer.nans + layer.infinities };
}

// The smallest scale, as an exponent, at which something overflows.
export function overflowFrom({ first, counts, above, nans, infinities }, limits) {
  if (nans + infinities) return -Infinity;
  const last = counts.length - 1;
  if (last < 0) return Infinity;
  const atTop = limits.top_octave - first - last;
  return above[last][limits.overflow] ? atTop : atTop + 1;
}

// Python's `OctaveHistogram.relative_error`, in percent and with two digits: it has been computed
// for the scales from 2^0 on, up to where it stays the same. null below 2^0.
export function errorAt(layer, limits, scale) {
  if (scale >= overflowFrom(layer, limits)) return Infinity;
  const errors = layer.errors[limits.name];
  return errors[Math.min(scale, errors.length - 1)] ?? null;
}

// The bits and the value of a number in a format, rounded to nearest even: what a codec of
// codec.mjs says of it. `kind` is "infinity" or "nan" where the number is too large.
export function storedIn(number, limits) {
  const { exponent_bits: exponentBits, precision, normal_octave: lowest } = limits;
  const size = Math.abs(number);
  const guess = Math.floor(Math.log2(size)); // right, or one too high just below a power of two
  const octave = Math.max(lowest, 2 ** guess > size ? guess - 1 : guess);
  const grain = 2 ** (Math.min(octave, limits.top_octave + 1) - precision + 1);
  const [steps, rest] = [Math.floor(size / grain), (size / grain) % 1];
  const whole = steps + (rest > 0.5 || (rest === 0.5 && steps % 2) ? 1 : 0);
  // The leading bit of `whole` adds one to the exponent field; so does a carry out of it.
  const code = (octave - lowest) * 2 ** (precision - 1) + whole;
  const over = !(code <= limits.largest_code);
  const digits = (over ? limits.too_large_code : code).toString(2)
    .padStart(exponentBits + precision - 1, "0");
  const exponent = digits.slice(0, exponentBits);
  const kind = over ? limits.overflow_is : exponent.includes("1") ? "normal"
    : code ? "subnormal" : "zero";
  return { kind, sign: number < 0 ? "1" : "0", exponent, fraction: digits.slice(exponentBits),
    value: over ? (kind === "nan" ? NaN : Math.sign(number) * Infinity)
      : Math.sign(number) * whole * grain };
}

// A float32 as TensorFlow's CPU kernels leave it: subnormal results become zero.
function flushed(value) {
  const rounded = Math.fround(value);
  return Math.abs(rounded) < SMALLEST_NORMAL ? 0 : rounded;
}

// Dynamic loss scaling as Keras's LossScaleOptimizer does it, without a floor or a cap, over a
// histogram that stays as it is. `injected` is a Set of steps that overflow anyway.
// → a list of {step, scale, applied, next, reason}: steps count from 1, `next` is the scale after
// it, and the reason says why it is skipped, or what is special.
export function playLossScale(layer, limits, growthSteps, injected) {
  const trace = [];
  const wall = overflowFrom(layer, limits);
  let broken = false; // the weights are NaN
  let scale = FIRST_SCALE;
  let counter = 0; // finite steps since the scale changed
  const reasonAt = (step) => {
    if (injected.has(step)) return "injected";
    if (broken) return "broken";
    if (wall === -Infinity) return "input";
    if (scale === Infinity) return "infinite";
    if (scale === 0) return "zero";
    return Math.round(Math.log2(scale)) >= wall ? "overflow" : "";
  };
  for (let step = 1; step <= STEPS; step += 1) {
    const reason = reasonAt(step);
    broken ||= reason === "zero"; // 0 / 0 goes into every weight
    const applied = reason === "" || reason === "zero";
    counter = applied ? counter + 1 : 0;
    let next = applied ? scale : flushed(scale * 0.5);
    if (counter === growthSteps) [next, counter] = [flushed(scale * 2), 0];
    trace.push({ step, scale, applied, next, reason });
    scale = next;
  }
  return trace;
}
