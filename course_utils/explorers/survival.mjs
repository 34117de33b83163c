// What becomes of gradients times a power of two in a format: counts alone answer it exactly,
// since scaling by a power of two moves whole octaves.

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
// for the scales from 2^0 on, up to where it stays the same.
export function errorAt(layer, limits, scale) {
  if (scale >= overflowFrom(layer, limits)) return Infinity;
  const errors = layer.errors[limits.name];
  return errors[Math.min(scale, errors.length - 1)];
}
