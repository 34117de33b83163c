// Which reals round to which value: the bins of a format on a piece of the number line.

const MOST_BINS = 36; // more than this in one view cannot be told apart

/** The code of the value that a finite `value` rounds to; the largest one where it is larger. */
function finiteNear(codec, value, format, rounding) {
  return codec.encode(value, format, rounding, true);
}

/** The code of the next different finite value (−0 and 0 are one value), or null at the end. */
function finiteStep(codec, code, format, direction) {
  const step = direction > 0 ? codec.next : codec.previous;
  const from = codec.decode(code, format).value;
  let to = step(code, format);
  if (to !== null && isZero(from) && isZero(codec.decode(to, format).value)) to = step(to, format);
  if (to === null || codec.decode(to, format).value.kind !== "finite") return null;
  return to;
}

/** What everything beyond the largest value rounds to, and from where: null if it stays finite. */
function beyondTheEnd(codec, format, mode, negative) {
  const { largest } = codec.formats.get(format);
  const last = codec.decode(largest, format);
  const flip = (value) => (negative ? codec.negate(value) : value);
  const far = flip(codec.add(last.value, last.ulp));
  const result = codec.decode(codec.encode(far, format, mode.rounding, mode.saturate), format);
  if (result.value.kind === "finite") return null;
  const nearest = mode.rounding.startsWith("nearest");
  const half = nearest ? codec.div(last.ulp, TWO) : ZERO;
  const text = result.kind === "nan" ? "NaN" : negative ? "−∞" : "∞";
  return { edge: flip(codec.add(last.value, half)), text };
}

/** The number that separates what rounds to `low` from what rounds to `high`, its neighbour. */
function edgeBetween(codec, format, mode, low, high) {
  const middle = codec.div(codec.add(low, high), TWO);
  if (mode.rounding.startsWith("nearest")) return middle;
  const code = codec.encode(middle, format, mode.rounding, mode.saturate);
  const stored = codec.decode(code, format).value;
  return codec.compare(stored, low) === 0 ? high : low;
}

/**
 * The bins of `format` that meet [low, high], from low to high:
 * [{from, to, value | null, text, odd}], `value` the finite value, `text` for infinity or NaN.
 * The first and last bins may reach out of the piece (from or to null: without end).
 * → null if there are more than MOST_BINS.
 */
function binsBetween(codec, format, mode, low, high) {
  const inside = [["down", low], ["up", high]].map(
    ([rounding, value]) => codec.decode(finiteNear(codec, value, format, rounding), format));
  const span = codec.sub(inside[1].value, inside[0].value);
  const [one, other] = inside.map((end) => end.ulp);
  const ulp = codec.compare(one, other) > 0 ? one : other;
  if (floorDivide(span, ulp) > BigInt(MOST_BINS)) return null;
  const values = [];
  const odd = []; // the last bit of each value's code: neighbors differ in it
  let { code } = inside[0];
  while (code !== null) {
    const { value } = codec.decode(code, format);
    values.push(isZero(value) ? ZERO : value);
    odd.push(Number(code & 1n));
    if (codec.compare(value, high) > 0) break;
    if (values.length > MOST_BINS + 2) return null;
    code = finiteStep(codec, code, format, 1);
  }
  const below = finiteStep(codec, inside[0].code, format, -1);
  const bins = [];
  const bottom = below === null ? beyondTheEnd(codec, format, mode, true) : null;
  let from = bottom ? bottom.edge : null;
  if (below !== null) {
    from = edgeBetween(codec, format, mode, codec.decode(below, format).value, values[0]);
  }
  if (bottom) bins.push({ from: null, to: from, value: null, text: bottom.text });
  values.forEach((value, index) => {
    const to = index + 1 < values.length
      ? edgeBetween(codec, format, mode, value, values[index + 1])
      : null;
    bins.push({ from, to, value, text: "", odd: odd[index] });
    from = to;
  });
  // The list ends beyond `high`, or at the format's largest value.
  const ended = codec.compare(values.at(-1), high) <= 0;
  const top = ended ? beyondTheEnd(codec, format, mode, false) : null;
  if (top) {
    bins.at(-1).to = top.edge;
    bins.push({ from: top.edge, to: null, value: null, text: top.text });
  }
  return bins;
}

/**
 * The piece of the number line around x that shows about seven values of the format.
 * → {low, high, unit}: `unit` is the distance between values at x, a power of two.
 */
function windowAround(codec, format, x, around = 3) {
  let low = finiteNear(codec, x, format, "down");
  let high = finiteNear(codec, x, format, "up");
  if (codec.compare(codec.decode(low, format).value, codec.decode(high, format).value) === 0) {
    high = finiteStep(codec, high, format, 1) ?? high;
  }
  const unit = codec.decode(finiteNear(codec, x, format, "toward_zero"), format).ulp;
  let missingLow = 0;
  let missingHigh = 0;
  for (let count = 0; count < around; count += 1) {
    const lower = finiteStep(codec, low, format, -1);
    const higher = finiteStep(codec, high, format, 1);
    if (lower === null) missingLow += 1;
    else low = lower;
    if (higher === null) missingHigh += 1;
    else high = higher;
  }
  const margin = (count) => codec.div(codec.mul(unit, dyadic(BigInt(2 * count + 1))), TWO);
  return {
    low: codec.sub(codec.decode(low, format).value, margin(missingLow)),
    high: codec.add(codec.decode(high, format).value, margin(missingHigh)),
    unit,
  };
}

/** How many digits tell the values of a format between low and high, and their middles, apart. */
function digitsBetween(codec, format, { low, high }) {
  const [small, large] = [magnitude(low), magnitude(high)].sort(codec.compare);
  const nearest = low.negative === high.negative ? small : ZERO;
  const { ulp } = codec.decode(finiteNear(codec, nearest, format, "toward_zero"), format);
  return Math.max(4, floorDivide(large, codec.div(ulp, TWO)).toString().length + 1);
}

/** Whether a number is in a bin: whether it rounds to what the bin rounds to. */
function isInBin(codec, format, mode, bin, number) {
  const code = codec.encode(number, format, mode.rounding, mode.saturate);
  const stored = codec.decode(code, format).value;
  if (!bin.value || stored.kind !== "finite") return !bin.value && stored.kind !== "finite";
  return codec.compare(stored, bin.value) === 0;
}

/** A sentence about a bin: which numbers round to what. An edge belongs to one of its sides. */
function binSentence(codec, format, mode, bin, digits) {
  const say = (value) => readable(codec, value, 18, Math.max(8, digits + 1));
  const takes = (edge) => isInBin(codec, format, mode, bin, edge);
  const from = bin.from && `${takes(bin.from) ? "from" : "above"} ${say(bin.from)}`;
  const to = bin.to && (takes(bin.to) ? `up to and including ${say(bin.to)}`
    : `${from ? "to " : ""}below ${say(bin.to)}`);
  const range = [from, to].filter(Boolean).join(" ") || "everywhere";
  const becoming = bin.value ? say(bin.value) : bin.text;
  return `${range[0].toUpperCase()}${range.slice(1)}, every number becomes ${becoming}`
    + ` in ${format} (${ROUNDING_NAMES[mode.rounding]}).`;
}

/** The number `count` grains from x, on their grid; a grain is a fraction of a ULP at x. */
function nudged(codec, format, x, count, grainsPerUlp) {
  const { ulp } = codec.decode(finiteNear(codec, x, format, "toward_zero"), format);
  const grain = codec.div(ulp, dyadic(grainsPerUlp));
  const below = floorDivide(x, grain);
  const onGrid = isZero(codec.sub(x, stepsFromZero(below, grain)));
  const start = count < 0 && !onGrid ? below + 1n : below;
  return stepsFromZero(start + BigInt(count), grain);
}
