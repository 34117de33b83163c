// The histogram over the bands: it slides with the scale, and the bands stand still. A line marks
// where the followed gradient lies, and an arrow shows how the scale brought it there.

import { ROW, drawAxis, placeTitles } from "./axis.mjs";
import { clamp, makeStrip, whilePressed, write } from "./bands.mjs";
import { draw, setAttributes, setChildren } from "./dom.mjs";
import { ENDING, STARTING, trace } from "./plot.mjs";
import { part, scaleText } from "./words.mjs";

const PLOT = { left: 8, height: 150, room: 34 }; // pixels
const FARTHEST = 999; // octaves: a scale may be 0 or infinite
const SHARE = 12; // letters

// The chart; pick(octave) is called where the reader presses, with the place before scaling.
// → {element, update({layer, limits, range, scale, found, width, size, label})}, `size` being the
// followed gradient's place as a power of two.
export function makeChart(pick) {
  const element = draw("svg.chart", { role: "img" });
  const { left, height, room } = PLOT;
  const strips = new Map(); // by layer
  let octaveAt = () => null;
  whilePressed(element, (x) => {
    const octave = octaveAt(x);
    if (octave !== null) pick(octave);
  });

  function update({ layer, limits, range, scale, found, width, size, label }) {
    const [shift, inner] = [clamp(scale, -FARTHEST, FARTHEST), width - 2 * left];
    const step = inner / (range.high - range.low);
    const placeOf = (octave) => left + (octave - range.low) * step;
    octaveAt = (x) => (Math.abs(shift) === FARTHEST ? null
      : range.low + (x - left) / step - shift);
    const plot = { left, width: inner, step };
    const { group, rows, texts } = placeTitles(limits, range, plot, SHARE);
    const top = ROW * rows + 8;
    plot.bottom = top + height;
    const tall = plot.bottom + 22;
    if (!strips.has(layer)) strips.set(layer, makeStrip(layer, height, room, 7));
    const strip = strips.get(layer);
    strip.update({ limits, range, scale: shift, width: inner });
    setAttributes(strip.element, { x: left, y: top, width: inner });
    for (const [name, title] of texts) { // the band's share behind its name
      const x = Number(title.getAttribute("x")) + (title.textContent.length - SHARE) * 3.55;
      setAttributes(title, { x });
      group.append(draw("text.share", { x: x + 7, y: title.getAttribute("y") },
        part(found[name], found.nonzero)));
    }
    // Where the bars were without a scale, cut off at the plot's left end.
    const steps = strip.heights.flatMap((high, index) => {
      const [from, to] = [0, 1].map((more) => placeOf(layer.first + index + more));
      return to <= left ? []
        : [`${Math.max(left, from)},${(plot.bottom - high).toFixed(1)}H${to.toFixed(1)}`];
    });
    const [from, to] = [size, size + shift].map((octave) =>
      clamp(placeOf(octave), left, width - left));
    const head = Math.sign(to - from) * Math.min(5, Math.abs(to - from));
    const end = to > width - 70;
    const name = write((to + (end ? -8 : 8)).toFixed(1), top + 15,
      shift ? `${scaleText(2 ** scale)}·g` : "g", end ? ENDING : STARTING);
    setAttributes(element, { width, height: tall, viewBox: `0 0 ${width} ${tall}`,
      "aria-label": label });
    setChildren(element, [strip.element,
      trace("outline", steps.length ? `M${steps.join("L")}` : ""), drawAxis(range, plot, ""), group,
      draw("g.arrow", trace("", shift
        ? `M${from},${top + 22}H${to}m${-head},-4l${head},4l${-head},4` : ""), name),
      trace("marker", `M${to.toFixed(2)},${top}V${plot.bottom}m-5,8l5,-8l5,8z`)]);
  }
  return { element, update };
}
