// Fills in what SoftmaxCliff's page says of a sigmoid, before its explorers are built.

import { LABELS, sigmoidCurves } from "./sigmoid.mjs";

const [softmax, ...others] = document.querySelectorAll("[data-softmaxcliff] > script");
const data = JSON.parse(softmax.textContent);
for (const script of others) {
  const { formats, output } = JSON.parse(script.textContent);
  const curves = sigmoidCurves(data, formats, LABELS[output]);
  script.textContent = JSON.stringify({ ...data, curves });
}
