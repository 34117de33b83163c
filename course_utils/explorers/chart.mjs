// The histogram over the bands: it slides with the scale, and the bands stand still. A line marks
// where the followed gradient lies, and an arrow shows how the scale brought it there.

import { ROW, drawAxis, placeTitles } from "./axis.mjs";
import { makeStrip, whilePressed, write } from "./bands.mjs";
import { draw, setAttributes, setOne, setText } from "./dom.mjs";
import { part, scaleText } from "./words.mjs";

const PLOT = { left: 8, height: 150, room: 34 }; // pixels
const FARTHEST = 999; // octaves: a scale may be 0 or infinite
const SHARE = 12; // letters

// The chart; pick(octave) is called where the reader presses, with the place before scaling.
// → {element, update({layer, limits, range, scale, found, width, size, label})}, `size` being the
// followed gradient's place as a power of two.
export function makeChart(pick) {
  const element = draw("svg", { class: "chart", role: "img" });
  const { left, height, room } = PLOT;
  const strips = new Map(); // by layer
  let built = {};
  let parts = null;
  const placeOf = (octave) => left + (octave - built.range.low) * built.step;
  whilePressed(element, (x) => {
    if (Math.abs(built.scale) === FARTHEST) return;
    pick(built.range.low + (x - left) / built.step - built.scale);
  });

  function build({ layer, limits, range, width }) {
    const inner = width - 2 * left;
    const plot = { left, width: inner, step: inner / (range.high - range.low) };
    built = { layer, limits, range, width, step: plot.step };
    const { group, rows, texts } = placeTitles(limits, range, plot, SHARE);
    const top = ROW * rows + 8;
    plot.bottom = top + height;
    const tall = plot.bottom + 22;
    setAttributes(element, { width, height: tall, viewBox: `0 0 ${width} ${tall}` });
    if (!strips.has(layer)) strips.set(layer, makeStrip(layer, height, room, 7));
    const strip = strips.get(layer);
    setAttributes(strip.element, { x: left, y: top, width: inner });
    const shares = [...texts].map(([name, text]) => {
      const from = Number(text.getAttribute("x")) + (text.textContent.length - SHARE) * 3.55;
      const share = draw("text", { class: "share", x: from + 7, y: text.getAttribute("y") });
      setOne(text, "x", from);
      group.append(share);
      return [name, share];
    });
    // Where the bars were without a scale, cut off at the plot's left end.
    const steps = strip.heights.flatMap((high, index) => {
      const [from, to] = [0, 1].map((more) => placeOf(layer.first + index + more));
      return to <= left ? []
        : [`${Math.max(left, from)},${(plot.bottom - high).toFixed(1)}H${to.toFixed(1)}`];
    });
    parts = { strip, top, shares, arrow: draw("path", {}), name: write(0, top + 15, ""),
      marker: draw("path", { class: "marker", d: `M0,${top}V${plot.bottom}m-5,8l5,-8l5,8z` }) };
    element.replaceChildren(strip.element,
      draw("path", { class: "outline", d: steps.length ? `M${steps.join("L")}` : "" }),
      drawAxis(range, plot, ""), group,
      draw("g", { class: "arrow" }, parts.arrow, parts.name), parts.marker);
  }

  function update(view) {
    const { layer, limits, range, width, found, size, label } = view;
    const scale = Math.max(-FARTHEST, Math.min(FARTHEST, view.scale));
    if (["layer", "limits", "range", "width"].some((name) => built[name] !== view[name])) {
      build({ layer, limits, range, width });
    }
    built.scale = scale;
    const { top, strip } = parts;
    strip.update({ limits, range, scale, width: width - 2 * left });
    for (const [name, node] of parts.shares) setText(node, part(found[name], found.nonzero));
    const [from, to] = [size, size + scale].map((octave) =>
      Math.max(left, Math.min(width - left, placeOf(octave))));
    const head = Math.sign(to - from) * Math.min(5, Math.abs(to - from));
    setOne(parts.arrow, "d", `M${from},${top + 22}H${to}m${-head},-4l${head},4l${-head},4`);
    setOne(parts.arrow, "visibility", scale ? null : "hidden");
    const end = to > width - 70;
    setText(parts.name, scale ? `${scaleText(2 ** view.scale)}·g` : "g");
    setOne(parts.name, "x", (to + (end ? -8 : 8)).toFixed(1));
    setOne(parts.name, "text-anchor", end ? "end" : "start");
    setOne(parts.marker, "transform", `translate(${to.toFixed(2)},0)`);
    setOne(element, "aria-label", label);
  }
  return { element, update };
}
