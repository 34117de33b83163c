// The gradient that one wrong sample gets through a sigmoid, in each dtype, as SoftmaxCliff has it:
// each operation of keras.layers.Activation and keras.losses.BinaryCrossentropy is rounded once.

import { NEAREST, makeFormat } from "../../course_utils/explorers/codec.mjs";

const [LEAST, MOST] = [Math.fround(1e-7), Math.fround(1 - Math.fround(1e-7))]; // Keras's
export const LABELS = { "false-alarm": 0, miss: 1 };

// A function of a scale over the batch: the gradient for one gap and a label.
function gradientOf(gap, label, round) {
  const logit = round(label ? -gap : gap);
  const p = round(1 / round(1 + round(Math.exp(-logit))));
  if (p < LEAST || p > MOST) return () => 0; // it became a constant
  const ofLoss = label ? Math.fround(1 / p) : Math.fround(1 / Math.fround(1 - p)); // its size
  const rest = round(1 - p);
  return (share) => round(round(round(Math.fround(share * ofLoss)) * p) * rest) / share;
}

// The curves of a label in the form of SoftmaxCliff's data, from that of its softmax and from what
// is known of the 16-bit formats. In float32 Keras finds the logits, and nothing is lost.
export function sigmoidCurves({ step, first, curves: { float32 } }, formats, label) {
  const gaps = float32.values.map((_, index) => Math.fround(index * Math.fround(step)));
  const thousandths = (value) => Math.round(value * 1000) / 1000;
  const curves = { float32: { ...float32,
    values: gaps.map((gap) => thousandths(1 / (1 + Math.exp(-gap)))) } };
  for (const facts of formats) {
    const format = makeFormat(facts);
    // Without a format's strings of bits; what is too large is infinite, and so is NaN.
    function round(value) {
      const order = format.orderOf(format.encode(value, NEAREST));
      return Math.abs(order) > format.largest ? Infinity : format.valueAt(order);
    }
    const gradients = gaps.map((gap) => gradientOf(gap, label, round));
    const at = (share) => gradients.map((gradient) => gradient(share));
    const broken = float32.broken.map((_, index) => {
      const bad = at(2 ** (first + index)).map((value) => !Number.isFinite(value));
      return bad.includes(true) ? [bad.indexOf(true), bad.lastIndexOf(true) + 1] : null;
    });
    curves[facts.name] = { values: at(2 ** first).map(thousandths), broken };
  }
  return curves;
}
