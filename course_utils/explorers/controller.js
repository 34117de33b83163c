// Dynamic loss scaling as Keras's LossScaleOptimizer does it, without a floor or a cap.

const STEPS = 200;
const FIRST_SCALE = 2 ** 15;
const SMALLEST_NORMAL = 2 ** -126;
const ALL_SCALES = { from: -126, to: 127 }; // the powers of two of float32, as exponents

// A float32 as TensorFlow's CPU kernels leave it: subnormal results become zero.
function flushed(value) {
  const rounded = Math.fround(value);
  return Math.abs(rounded) < SMALLEST_NORMAL ? 0 : rounded;
}

// Run the controller: isFinite(step, scale) says whether all gradients are finite.
// → a list of {step, scale, applied, next}; steps count from 1, `next` is the scale after it.
function playLossScale(steps, growthSteps, firstScale, isFinite) {
  const trace = [];
  let scale = flushed(firstScale);
  let counter = 0; // finite steps since the scale changed
  for (let step = 1; step <= steps; step += 1) {
    const applied = Boolean(isFinite(step, scale));
    let next = scale;
    if (!applied) {
      next = flushed(scale * 0.5);
      counter = 0;
    } else if (counter === growthSteps - 1) {
      next = flushed(scale * 2);
      counter = 0;
    } else counter += 1;
    trace.push({ step, scale, applied, next });
    scale = next;
  }
  return trace;
}

// The controller over a histogram that stays as it is. `injected` is a Set of steps.
// → the trace, where each step has a `reason` too: why it is skipped, or what is special.
function playOverHistogram(layer, limits, growthSteps, injected) {
  const reasons = [];
  const overflows = new Map(); // by scale
  let broken = false; // the weights are NaN
  const bad = layer.nans + layer.infinities > 0;
  const reasonAt = (step, scale) => {
    if (injected.has(step)) return "injected";
    if (broken) return "broken";
    if (bad) return "input";
    if (scale === Infinity) return "infinite";
    if (scale === 0) return "zero";
    if (!overflows.has(scale)) {
      const { overflow } = survive(layer, limits, Math.round(Math.log2(scale)));
      overflows.set(scale, overflow > 0);
    }
    return overflows.get(scale) ? "overflow" : "";
  };
  const trace = playLossScale(STEPS, growthSteps, FIRST_SCALE, (step, scale) => {
    const reason = reasonAt(step, scale);
    reasons.push(reason);
    if (reason === "zero") broken = true; // 0 / 0 goes into every weight
    return reason === "" || reason === "zero";
  });
  return trace.map((row, index) => ({ ...row, reason: reasons[index] }));
}
