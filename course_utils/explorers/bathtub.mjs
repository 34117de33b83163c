// The bathtub: the relative rounding error of all gradients against the loss scale, which is set on
// its axis.

import { LAST_SCALE, SLIM, hatching, makeSlider, whilePressed, write } from "./bands.mjs";
import { draw, make, setAttributes, setOne, setText } from "./dom.mjs";
import { errorAt, overflowFrom } from "./survival.mjs";
import { counted, errorText, raised, spelled } from "./words.mjs";

const TUB = { left: 48, right: 12, top: 6, height: 128, below: 44 }; // pixels
const GRID = [0.01, 0.1, 1, 10, 100]; // percent; infinity stands above
const FIRST = 15; // the scale that Keras begins with, as an exponent

// The bathtub with its slider. choose(exponent) asks for a scale.
// → {element, update({layer, others, limits, scale, error, width})}
export function makeBathtub(choose) {
  const shown = make("output", { class: "scale-text" });
  const slider = makeSlider("loss scale", 0, LAST_SCALE, choose);
  const picture = draw("svg", { class: "tub", role: "img" });
  const [line, dot] = [draw("path", { class: "cursor" }), draw("circle", { class: "dot", r: 6 })];
  const value = write(0, 0, "", { class: "reading" });
  const element = make("div", { class: "bathtub" },
    make("div", { class: "scale-head" },
      make("span", { class: "scale-name", "aria-hidden": "true" }, "loss scale S ="), shown),
    make("div", { class: "tub-box" }, picture, slider.element));
  const { left, top, height } = TUB;
  const bottom = top + height;
  let built = {};
  const xOf = (scale) => left + (scale / LAST_SCALE) * built.inner;
  const yOf = (error) => {
    const decades = Math.log10(Math.max(GRID[0], Math.min(100, error)) / GRID[0]);
    return error === Infinity ? top : bottom - (decades / 4) * (height - 16);
  };
  whilePressed(picture, (x) => {
    const scale = Math.round(((x - left) / built.inner) * LAST_SCALE);
    choose(Math.max(0, Math.min(LAST_SCALE, scale)));
  });

  // The errors at every scale as a line, which goes up where something overflows.
  function curve(layer, limits) {
    const wall = overflowFrom(layer, limits);
    const points = [];
    for (let scale = 0; scale <= LAST_SCALE && scale < wall; scale += 1) {
      points.push(`${xOf(scale).toFixed(1)},${yOf(errorAt(layer, limits, scale)).toFixed(1)}`);
    }
    const up = wall > LAST_SCALE ? "" : `H${xOf(wall - 0.5).toFixed(1)}V${top}`;
    return points.length ? `M${points.join("L")}${up}` : "";
  }

  function build({ layer, others, limits, width }) {
    const inner = width - left - TUB.right;
    built = { layer, limits, width, inner };
    const [slim, tall] = [width < SLIM, bottom + TUB.below];
    setAttributes(picture, { width, height: tall, viewBox: `0 0 ${width} ${tall}` });
    const tick = (scale, text) => write(xOf(scale), tall - 4, `${raised(scale)}${text}`);
    const axis = draw("g", { class: "axis" },
      ...GRID.flatMap((error) => [
        draw("path", { class: "grid", d: `M${left},${yOf(error)}h${inner}` }),
        write(left - 6, yOf(error) + 4, `${error}%`, { "text-anchor": "end" })]),
      draw("path", { class: "first", d: `M${xOf(FIRST)},${top}V${bottom}` }),
      ...(slim ? [0, 32, 48] : [0, 8, 24, 32, 40, 48]).map((scale) => tick(scale, "")),
      tick(FIRST, slim ? " Keras" : " Keras starts"));
    const wall = Math.max(0, overflowFrom(layer, limits) - 0.5);
    const zone = [];
    if (wall < LAST_SCALE) {
      const box = { x: xOf(wall), y: top, width: xOf(LAST_SCALE) - xOf(wall), height };
      zone.push(draw("rect", { class: "band overflow", ...box }), ...hatching("overflow", box));
      if (box.width > 80) {
        zone.push(write(box.x + box.width / 2, top + height / 2,
          layer.nans + layer.infinities ? "not finite" : "overflow", { class: "zone" }));
      }
    }
    const norms = ` ‖fl(S·g) ∕ S − g‖ ∕ ‖g‖${others.length ? " (thin: of each layer)" : ""}`;
    picture.replaceChildren(...zone, axis,
      ...others.map((one) => draw("path", { class: "other", d: curve(one, limits) })),
      draw("path", { class: "curve", d: curve(layer, limits) }),
      line, write(left + 8, top + 11, `relative error${slim ? "" : norms}`,
        { class: "zone", "text-anchor": "start" }), dot, value);
    setOne(line, "d", `M0,${top}V${bottom + 12}`);
  }

  function update(view) {
    const { limits, scale, error, width } = view;
    if (["layer", "limits", "width"].some((name) => built[name] !== view[name])) build(view);
    slider.set(scale, `${spelled(scale)} = ${2 ** scale}`);
    setText(shown, raised(scale) + (scale <= 24 ? ` = ${counted(2 ** scale)}` : ""));
    const [x, y] = [xOf(scale).toFixed(1), yOf(error).toFixed(1)];
    setOne(line, "transform", `translate(${x},0)`);
    setOne(dot, "transform", `translate(${x},${y})`);
    const before = x > width - 110;
    setText(value, errorText(error));
    setAttributes(value, { x: Number(x) + (before ? -13 : 13), y: Math.max(top + 32, y - 9),
      "text-anchor": before ? "end" : "start" });
    setOne(picture, "aria-label", `Relative error in ${limits.name} at scale ${spelled(scale)}: `
      + errorText(error));
  }
  return { element, update };
}
