// The bathtub: the relative rounding error of all gradients against the loss scale, which is set on
// its axis.

import { LAST_SCALE, drawBand } from "./bands.mjs";
import { PAPER, draw, make } from "./dom.mjs";
import { makeDial } from "./drawing.mjs";
import {
  ENDING, STARTING, boxBetween, circle, clamp, fillPicture, makePicture, rules, scaleLinear,
  through, trace, whilePressed, write,
} from "./plot.mjs";
import { errorAt, overflowFrom } from "./survival.mjs";
import { counted, errorText, raised, spelled } from "./words.mjs";

const [TUB_LEFT, TUB_RIGHT, TUB_TOP, TUB_FLOOR, TUB_HEIGHT] = [48, 12, 6, 134, 178]; // pixels
const GRID = [0.01, 0.1, 1, 10, 100]; // percent; infinity stands above
const FIRST = 15; // the scale that Keras begins with, as an exponent
const SCALES = Array.from({ length: LAST_SCALE + 1 }, (_, power) => power);

const decadeAt = scaleLinear(-2, 2, TUB_FLOOR, TUB_TOP + 16);
const yOf = (error) =>
  (error === Infinity ? TUB_TOP : decadeAt(Math.log10(clamp(error, GRID[0], 100))));

// The bathtub with its slider. choose(exponent) asks for a scale.
// → {element, update({layer, layers, limits, scale, error, width})}
export function makeBathtub(choose) {
  const dial = makeDial("loss scale S =", 0, LAST_SCALE, choose, "loss scale");
  const picture = makePicture("tub");
  const element = make("div.bathtub",
    make("div.scale-head", dial.name, dial.output), make("div.tub-box", picture, dial.slider));
  let right = 0; // pixels
  whilePressed(picture, (x) =>
    choose(clamp(Math.round(scaleLinear(TUB_LEFT, right, 0, LAST_SCALE)(x)), 0, LAST_SCALE)));

  function update({ layer, layers, limits, scale, error, width }) {
    right = width - TUB_RIGHT;
    const slim = width < PAPER;
    const xOf = scaleLinear(0, LAST_SCALE, TUB_LEFT, right);
    // The errors at every scale as a line, which goes up where something overflows.
    function curve(name, one) {
      const wall = overflowFrom(one, limits);
      const way = through(SCALES.filter((power) => power < wall)
        .map((power) => [xOf(power), yOf(errorAt(one, limits, power))]));
      const up = way && wall <= LAST_SCALE ? `H${xOf(wall - 0.5).toFixed(1)}V${TUB_TOP}` : "";
      return trace(name, way + up);
    }
    const wall = Math.max(0, overflowFrom(layer, limits) - 0.5);
    const zone = [];
    if (wall < LAST_SCALE) {
      const box = boxBetween(xOf(wall), right, TUB_TOP, TUB_FLOOR);
      zone.push(...drawBand("overflow", box));
      if (box.width > 80) {
        zone.push(write(box.x + box.width / 2, (TUB_TOP + TUB_FLOOR) / 2,
          layer.nans + layer.infinities ? "not finite" : "overflow", { class: "zone halo" }));
      }
    }
    const tick = (power, text = "") => write(xOf(power), TUB_HEIGHT - 4, raised(power) + text);
    const axis = draw("g.axis",
      ...rules(TUB_LEFT, right, GRID.map((percent) => [yOf(percent), `${percent}%`])),
      trace("first", `M${xOf(FIRST)},${TUB_TOP}V${TUB_FLOOR}`),
      ...(slim ? [0, 32, 48] : [0, 8, 24, 32, 40, 48]).map((power) => tick(power)),
      tick(FIRST, slim ? " Keras" : " Keras starts"));
    const others = layers.filter((one) => one !== layer);
    const norms = ` ‖fl(S·g) ∕ S − g‖ ∕ ‖g‖${others.length ? " (thin: of each layer)" : ""}`;
    const [x, y] = [xOf(scale), yOf(error)];
    const before = x > width - 110;
    fillPicture(picture, { width, height: TUB_HEIGHT,
      label: `Relative error in ${limits.name} at scale ${spelled(scale)}: ${errorText(error)}`,
      nodes: [...zone, axis, ...others.map((one) => curve("other", one)), curve("curve", layer),
        trace("cursor", `M${x},${TUB_TOP}V${TUB_FLOOR + 12}`),
        write(TUB_LEFT + 8, TUB_TOP + 11, `relative error${slim ? "" : norms}`,
          { class: "zone halo", ...STARTING }),
        circle("dot", 6, x, y),
        write(x + (before ? -13 : 13), Math.max(TUB_TOP + 32, y - 9), errorText(error),
          { class: "reading halo", ...(before ? ENDING : STARTING) })] });
    dial.set(scale, raised(scale) + (scale <= 24 ? ` = ${counted(2 ** scale)}` : ""),
      `${spelled(scale)} = ${2 ** scale}`);
  }
  return { element, update };
}
