// What becomes of gradients times a power of two in a format: counts alone answer it exactly,
// since scaling by a power of two moves whole octaves. And the controller that moves the scale.

export const STEPS = 200;
export const FIRST_SCALE = 2 ** 15;
const SMALLEST_NORMAL = 2 ** -126;

const sumOf = (list) => list.reduce((sum, value) => sum + value, 0);

// Python's `OctaveHistogram.survival`, of `nonzero` finite values; `limits` as Python's
// `limits(fmt)`.
export function survive(layer, limits, scale) {
  const { counts, powers, above } = layer;
  const rowOf = (octave) => octave - scale - layer.first;
  const countBelow = (octave) => sumOf(counts.slice(0, Math.max(0, rowOf(octave))));
  // In an octave, from one of its borders on; zeros at the end are left out.
  const countPast = (octave, border) => above[rowOf(octave)]?.[border] ?? 0;
  const { zero_octave: tie, normal_octave: lowest, top_octave: top } = limits;
  const nonzero = sumOf(counts);
  const zero = countBelow(tie) + (powers[rowOf(tie)] ?? 0);
  const subnormal = countBelow(lowest) - countPast(lowest - 1, limits.rounds_up) - zero;
  const overflow = nonzero - countBelow(top + 1) + countPast(top, limits.overflow);
  return { zero, subnormal, normal: nonzero - zero - subnormal - overflow, overflow, nonzero,
    alreadyZero: layer.zeros, nonfinite: layer.nans + layer.infinities };
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
