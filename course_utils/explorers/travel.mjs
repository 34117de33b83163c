// The way of one gradient through a training step: travel() of gradientlife.py, to the bit.

import { NEAREST, makeFormat } from "./codec.mjs";

const [RATE, SLOW, EPSILON] = [0.1, 0.001, 1e-7].map(Math.fround);
export const RULES = {
  SGD: (v) => Math.fround(RATE * v),
  Adam: (v) => Math.fround(Math.fround(SLOW * v) / Math.fround(v + EPSILON)),
};

// A gradient at each station, [[station, value]], null where the step is skipped.
export function travel(gradient, scale, mistakes, rule, limits) {
  const has = (mistake) => mistakes.includes(mistake);
  const over = (v) => Math.fround(v / scale);
  let v = Math.fround(gradient);
  const way = [["gradient", v], ["× S", has("forgotten") ? v : Math.fround(v * scale)]];
  v = makeFormat(limits).round(way[1][1], NEAREST).value;
  way.push(["backward", v], ["weight", v]);
  for (const station of has("early") ? ["limit 1", "÷ S"] : ["÷ S", "limit 1"]) {
    if (station === "limit 1") v = v === null || v <= 1 ? v : Number.isFinite(v) ? 1 : NaN;
    else if (!Number.isFinite(v) && !has("unchecked")) v = null;
    else for (let n = !has("never") + has("twice"); n > 0; n -= 1) v = over(v);
    way.push([station, v]);
  }
  return [...way, ["step", v === null ? null : RULES[rule](v)]];
}
