// The parts that drawings are made of.

import { draw, setAttributes, setChildren } from "./dom.mjs";

export const ENDING = { "text-anchor": "end" }; // of a text that ends at its place
export const STARTING = { "text-anchor": "start" };
export const clamp = (value, least, most) => Math.max(least, Math.min(most, value));

// Where numbers from `low` to `high` lie between two places; or from places back to numbers.
export const scaleLinear = (low, high, from, to) => (value) =>
  from + ((value - low) / (high - low)) * (to - from);

// A text at a place, anchored at its middle unless told.
export const write = (x, y, text, more = {}) =>
  draw("text", { x, y, "text-anchor": "middle", ...more }, text);

// What a rectangle between these ends is to SVG.
export const boxBetween = (left, right, top, bottom) =>
  ({ x: left, y: top, width: right - left, height: bottom - top });

// A line, or whatever else a path can draw; and a dot.
export const trace = (name, d) => draw("path", { class: name, d });
export const circle = (name, r, cx, cy) => draw("circle", { class: name, r, cx, cy });

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

// A drawing, to be filled with nodes, in so many pixels, and with words for who cannot see it.
export const makePicture = (name = "drawing") => draw(`svg.${name}`, { role: "img" });
export function fillPicture(picture, { width, height, label, nodes }) {
  setAttributes(picture, { width, height, viewBox: `0 0 ${width} ${height}`,
    "aria-label": label });
  setChildren(picture, nodes);
}

// Call act(x, y, begins) while a drawing is pressed, in its pixels from the left and the top.
export function whilePressed(picture, act) {
  const go = ({ buttons, clientX, clientY, type }) => {
    const { left, top } = picture.getBoundingClientRect();
    if (buttons & 1) act(clientX - left, clientY - top, type === "pointerdown");
  };
  picture.addEventListener("pointerdown", (event) => {
    picture.setPointerCapture(event.pointerId);
    go(event);
  });
  picture.addEventListener("pointermove", go);
}
