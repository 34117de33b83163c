// What becomes of gradients times a power of two in a format: counts alone answer it exactly,
// since scaling by a power of two moves whole octaves. And the controller that moves the scale.

export const CLASSES = ["zero", "subnormal", "normal", "overflow"]; // of the result, in this order
export const KEPT = 0.001; // a scale is good while it loses less of the sum of squares
export const SCANNED = { from: -24, to: 40 }; // scales looked at for the best ones, as exponents
export const ALL_SCALES = { from: -126, to: 127 }; // the powers of two of float32, as exponents
export const STEPS = 200;
export const FIRST_SCALE = 2 ** 15;
const SMALLEST_NORMAL = 2 ** -126;

const sumOf = (list) => list.reduce((sum, value) => sum + value, 0);
// The sums of what stands at the same place in lists of any length.
const added = (lists) => Array.from({ length: Math.max(0, ...lists.map(({ length }) => length)) },
  (_, place) => sumOf(lists.map((list) => list[place] ?? 0)));

// Several layers as one.
export function addUp(layers) {
  const filled = layers.filter(({ counts }) => counts.length);
  const first = filled.length ? Math.min(...filled.map((layer) => layer.first)) : 0;
  const columns = (name, nothing) => filled.map((layer) =>
    [...Array(layer.first - first).fill(nothing), ...layer[name]]);
  const total = (name) => sumOf(layers.map((layer) => layer[name]));
  const counts = added(columns("counts", 0));
  const above = columns("above", []);
  return { first, counts,
    squares: added(columns("squares", 0)),
    powers: added(columns("powers", 0)),
    above: counts.map((_, row) => added(above.map((rows) => rows[row] ?? []))),
    zeros: total("zeros"), nans: total("nans"), infinities: total("infinities"),
    total: total("total") };
}

// How many values of an octave come to each of CLASSES; `limits` as Python's `limits(fmt)`.
export function splitOctave(layer, index, limits, scale) {
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

// Python's `OctaveHistogram.survival`: the counts of the classes, and the share of ‖g‖² lost.
export function survive(layer, limits, scale) {
  const sums = [0, 0, 0, 0];
  let [lost, all] = [0, 0];
  const last = layer.counts.length - 1;
  for (let index = 0; index <= last; index += 1) {
    if (!layer.counts[index]) continue;
    const parts = splitOctave(layer, index, limits, scale);
    parts.forEach((count, place) => { sums[place] += count; });
    const weight = 4 ** (index - last);
    all += layer.squares[index] * weight;
    // Of the octave that is cut, the exact powers of two are lost: 1 each in its own unit.
    if (parts[0] === layer.counts[index]) lost += layer.squares[index] * weight;
    else lost += parts[0] * weight;
  }
  const [roundedToZero, subnormal, normal, overflow] = sums;
  return { alreadyZero: layer.zeros, roundedToZero, subnormal, normal, overflow,
    nonfinite: layer.nans + layer.infinities, total: layer.total,
    normLost: all > 0 ? lost / all : 0, nonzero: roundedToZero + subnormal + normal + overflow };
}

// The best of some scales, as exponents: {keeps, fits, both, tight}, each {from, to} or null.
// keeps: loses less than KEPT; fits: nothing overflows; both; tight: every nonzero value is normal.
export function bestScales(layer, limits, scanned = SCANNED) {
  const found = { keeps: null, fits: null, both: null, tight: null };
  for (let scale = scanned.from; scale <= scanned.to; scale += 1) {
    const { normLost, overflow, normal, nonzero } = survive(layer, limits, scale);
    const [keeps, fits] = [normLost < KEPT, overflow === 0];
    const holds = { keeps, fits, both: keeps && fits, tight: normal === nonzero };
    for (const [what, here] of Object.entries(holds)) {
      if (!here || !nonzero) continue;
      found[what] ??= { from: scale, to: scale };
      found[what].to = scale;
    }
  }
  return found;
}

// How many bits of a normal significand a value of this octave keeps.
export function bitsKept(octave, limits) {
  if (octave > limits.top_octave) return 0;
  const below = Math.max(0, limits.normal_octave - octave);
  return Math.max(0, limits.precision - below);
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
  const overflows = new Map(); // by scale
  const bad = layer.nans + layer.infinities > 0;
  let broken = false; // the weights are NaN
  let scale = FIRST_SCALE;
  let counter = 0; // finite steps since the scale changed
  const reasonAt = (step) => {
    if (injected.has(step)) return "injected";
    if (broken) return "broken";
    if (bad) return "input";
    if (scale === Infinity) return "infinite";
    if (scale === 0) return "zero";
    if (!overflows.has(scale)) {
      overflows.set(scale, survive(layer, limits, Math.round(Math.log2(scale))).overflow > 0);
    }
    return overflows.get(scale) ? "overflow" : "";
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
