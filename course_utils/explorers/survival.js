// What becomes of gradients times a power of two in a format: counts alone answer it exactly,
// since scaling by a power of two moves whole octaves.

const CLASSES = ["zero", "subnormal", "normal", "overflow"]; // of the result, in this order
const KEPT = 0.001; // a scale is good while it loses less of the sum of squares
const SCANNED = { from: -24, to: 40 }; // scales looked at for the best ones, as exponents

// A layer from the host's JSON: columns are texts in which nothing between commas is 0.
function unpack(packed) {
  const length = packed.counts === "" ? 0 : packed.counts.split(",").length;
  const column = (text) => {
    const cells = text.split(",");
    return Array.from({ length }, (_, index) => Number(cells[index] ?? 0));
  };
  const { name, zeros, nans, infinities, first } = packed;
  const layer = { name, zeros, nans, infinities, first, counts: column(packed.counts),
    squares: column(packed.squares), powers: column(packed.powers),
    above: packed.above.map(column) };
  return { ...layer, total: totalOf(layer) };
}

function totalOf({ zeros, nans, infinities, counts }) {
  return counts.reduce((sum, count) => sum + count, zeros + nans + infinities);
}

// Several layers as one.
function addUp(layers) {
  if (layers.length === 1) return layers[0];
  const filled = layers.filter(({ counts }) => counts.length);
  const first = filled.length ? Math.min(...filled.map((layer) => layer.first)) : 0;
  const end = Math.max(first, ...filled.map((layer) => layer.first + layer.counts.length));
  const sum = (pick) => layers.reduce((total, layer) => total + pick(layer), 0);
  const column = (pick) => Array.from({ length: end - first }, (_, index) => filled.reduce(
    (total, layer) => total + (pick(layer)[first + index - layer.first] ?? 0), 0));
  const whole = { name: "all", first, zeros: sum(({ zeros }) => zeros),
    nans: sum(({ nans }) => nans), infinities: sum(({ infinities }) => infinities),
    counts: column(({ counts }) => counts), squares: column(({ squares }) => squares),
    powers: column(({ powers }) => powers),
    above: layers[0].above.map((_, threshold) => column(({ above }) => above[threshold])) };
  return { ...whole, total: totalOf(whole) };
}

// How many values of an octave come to each of CLASSES; `limits` as Python's `limits(fmt)`.
function splitOctave(layer, index, limits, scale) {
  const count = layer.counts[index];
  const octave = layer.first + index + scale;
  if (octave < limits.zero_octave) return [count, 0, 0, 0];
  if (octave > limits.top_octave) return [0, 0, 0, count];
  if (octave >= limits.normal_octave) {
    const over = octave === limits.top_octave ? layer.above[limits.overflow][index] : 0;
    return [0, 0, count - over, over];
  }
  const zero = octave === limits.zero_octave ? layer.powers[index] : 0;
  const upward = octave === limits.normal_octave - 1 ? layer.above[limits.rounds_up][index] : 0;
  return [zero, count - zero - upward, upward, 0];
}

// Python's `OctaveHistogram.survival`: the counts of the classes, and the share of ‖g‖² lost.
function survive(layer, limits, scale) {
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
function bestScales(layer, limits, scanned = SCANNED) {
  const found = { keeps: null, fits: null, both: null, tight: null };
  for (let scale = scanned.from; scale <= scanned.to; scale += 1) {
    const { normLost, overflow, normal, nonzero } = survive(layer, limits, scale);
    const holds = { keeps: normLost < KEPT, fits: overflow === 0 };
    holds.both = holds.keeps && holds.fits;
    holds.tight = normal === nonzero;
    for (const [what, here] of Object.entries(holds)) {
      if (!here || !nonzero) continue;
      found[what] ??= { from: scale, to: scale };
      found[what].to = scale;
    }
  }
  return found;
}

// How many bits of a normal significand a value of this octave keeps.
function bitsKept(octave, limits) {
  if (octave > limits.top_octave) return 0;
  const below = Math.max(0, limits.normal_octave - octave);
  return Math.max(0, limits.precision - below);
}
