// The bathtub: the relative rounding error of all gradients against the loss scale, which is set on
// its axis.

import { LAST_SCALE, SLIM, clamp, hatching, makeSlider, whilePressed, write } from "./bands.mjs";
import { draw, make, setAttributes, setChildren, setText } from "./dom.mjs";
import { rules, through, trace } from "./plot.mjs";
import { errorAt, overflowFrom } from "./survival.mjs";
import { counted, errorText, raised, spelled } from "./words.mjs";

const TUB = { left: 48, right: 12, top: 6, height: 128, below: 44 }; // pixels
const GRID = [0.01, 0.1, 1, 10, 100]; // percent; infinity stands above
const FIRST = 15; // the scale that Keras begins with, as an exponent

// The bathtub with its slider. choose(exponent) asks for a scale.
// → {element, update({layer, others, limits, scale, error, width})}
export function makeBathtub(choose) {
  const shown = make("output.scale-text");
  const slider = makeSlider("loss scale", 0, LAST_SCALE, choose);
  const picture = draw("svg.tub", { role: "img" });
  const element = make("div.bathtub",
    make("div.scale-head",
      make("span.scale-name", { "aria-hidden": "true" }, "loss scale S ="), shown),
    make("div.tub-box", picture, slider.element));
  const { left, top, height } = TUB;
  const bottom = top + height;
  const tall = bottom + TUB.below;
  let inner = 0; // pixels from the first scale to the last
  whilePressed(picture, (x) => {
    const share = (x - left) / inner;
    choose(clamp(Math.round(share * LAST_SCALE), 0, LAST_SCALE));
  });
  function yOf(error) {
    const decades = Math.log10(clamp(error, GRID[0], 100) / GRID[0]);
    return error === Infinity ? top : bottom - (decades / 4) * (height - 16);
  }

  function update({ layer, others, limits, scale, error, width }) {
    const [right, slim] = [width - TUB.right, width < SLIM];
    inner = right - left;
    const xOf = (power) => left + (power / LAST_SCALE) * inner;
    // The errors at every scale as a line, which goes up where something overflows.
    function curve(name, one) {
      const wall = overflowFrom(one, limits);
      const scales = Array.from({ length: LAST_SCALE + 1 }, (_, power) => power)
        .filter((power) => power < wall);
      const way = through(scales.map((power) => [xOf(power), yOf(errorAt(one, limits, power))]));
      const up = way && wall <= LAST_SCALE ? `H${xOf(wall - 0.5).toFixed(1)}V${top}` : "";
      return trace(name, way + up);
    }
    const wall = Math.max(0, overflowFrom(layer, limits) - 0.5);
    const zone = [];
    if (wall < LAST_SCALE) {
      const box = { x: xOf(wall), y: top, width: right - xOf(wall), height };
      zone.push(draw("rect.band.overflow", { ...box }), ...hatching("overflow", box));
      if (box.width > 80) {
        zone.push(write(box.x + box.width / 2, top + height / 2,
          layer.nans + layer.infinities ? "not finite" : "overflow", { class: "zone" }));
      }
    }
    const tick = (power, text = "") => write(xOf(power), tall - 4, raised(power) + text);
    const axis = draw("g.axis",
      ...rules(left, right, GRID.map((percent) => [yOf(percent), `${percent}%`])),
      trace("first", `M${xOf(FIRST)},${top}V${bottom}`),
      ...(slim ? [0, 32, 48] : [0, 8, 24, 32, 40, 48]).map((power) => tick(power)),
      tick(FIRST, slim ? " Keras" : " Keras starts"));
    const norms = ` ‖fl(S·g) ∕ S − g‖ ∕ ‖g‖${others.length ? " (thin: of each layer)" : ""}`;
    const [x, y] = [xOf(scale), yOf(error)];
    const before = x > width - 110;
    setAttributes(picture, { width, height: tall, viewBox: `0 0 ${width} ${tall}`,
      "aria-label": `Relative error in ${limits.name} at scale ${spelled(scale)}: `
        + errorText(error) });
    setChildren(picture, [...zone, axis, ...others.map((one) => curve("other", one)),
      curve("curve", layer), trace("cursor", `M${x.toFixed(1)},${top}V${bottom + 12}`),
      write(left + 8, top + 11, `relative error${slim ? "" : norms}`,
        { class: "zone", "text-anchor": "start" }),
      draw("circle.dot", { r: 6, cx: x.toFixed(1), cy: y.toFixed(1) }),
      write(x + (before ? -13 : 13), Math.max(top + 32, y - 9), errorText(error),
        { class: "reading", "text-anchor": before ? "end" : "start" })]);
    slider.set(scale, `${spelled(scale)} = ${2 ** scale}`);
    setText(shown, raised(scale) + (scale <= 24 ? ` = ${counted(2 ** scale)}` : ""));
  }
  return { element, update };
}
