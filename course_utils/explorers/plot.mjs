// The parts that drawings are made of.

import { write } from "./bands.mjs";
import { draw } from "./dom.mjs";

export const ENDING = { "text-anchor": "end" }; // of a text that ends at its place
export const STARTING = { "text-anchor": "start" };

// A line, or whatever else a path can draw.
export const trace = (name, d) => draw("path", { class: name, d });

// A path's way through points, [[x, y]]; one that is null interrupts it.
export const through = (points) => points.map((point, index) => (point === null ? ""
  : `${points[index - 1] ? "L" : "M"}${point[0].toFixed(1)},${point[1].toFixed(1)}`)).join("");

// The multiples of a step that are neither below the one end nor above the other.
export function multiples(step, low, high) {
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first + 1;
  return Array.from({ length: count }, (_, index) => (first + index) * step);
}

// The marks of an axis that lies at y, [[x, text]]; and lines across a drawing, [[y, text]].
export const ticks = (y, marks) => marks.flatMap(([x, text]) =>
  [trace("tick", `M${x},${y}v4`), write(x, y + 17, text)]);
export const rules = (left, right, marks) => marks.flatMap(([y, text]) =>
  [trace("rule", `M${left},${y}H${right}`), write(left - 6, y + 4, text, ENDING)]);
