// The histogram over the bands: it slides with the scale, and the bands stand still. A line marks
// where the followed gradient lies, and an arrow shows how the scale brought it there.

import {
  ROW, SHARE, drawAxis, drawTitles, layTitles, makeStrip,
} from "./bands.mjs";
import { draw, setAttributes } from "./dom.mjs";
import {
  ENDING, STARTING, clamp, fillPicture, makePicture, scaleLinear, trace, whilePressed, write,
} from "./plot.mjs";
import { part, raised } from "./words.mjs";

const [CHART_LEFT, CHART_HEIGHT, CHART_ROOM] = [8, 150, 34]; // pixels

// The chart; pick(octave) is called where the reader presses, with the place before scaling.
// → {element, update({layer, limits, range, scale, counts, width, followed, label})}
export function makeChart(pick) {
  const element = makePicture("chart");
  const strips = new Map(); // by layer
  let octaveAtPlace; // before scaling
  whilePressed(element, (x) => pick(octaveAtPlace(x)));

  function update({ layer, limits, range, scale, counts, width, followed, label }) {
    const right = width - CHART_LEFT;
    const placeOf = scaleLinear(range.low, range.high, CHART_LEFT, right);
    octaveAtPlace = (x) => scaleLinear(CHART_LEFT, right, range.low, range.high)(x) - scale;
    const plot = { left: CHART_LEFT, width: right - CHART_LEFT, step: placeOf(1) - placeOf(0) };
    const shares = Object.fromEntries(Object.entries(counts).map(([name, count]) =>
      [name, part(count, counts.nonzero)]));
    const { titles, rows } = layTitles(limits, range, plot, SHARE);
    const top = ROW * rows + 8;
    plot.bottom = top + CHART_HEIGHT;
    if (!strips.has(layer)) strips.set(layer, makeStrip(layer, CHART_HEIGHT, CHART_ROOM, 7));
    const strip = strips.get(layer);
    strip.update({ limits, range, scale, width: plot.width });
    setAttributes(strip.element, { x: CHART_LEFT, y: top, width: plot.width });
    // Where the bars were without a scale, cut off at the plot's left end.
    const steps = strip.heights.flatMap((high, index) => {
      const [from, to] = [0, 1].map((more) => placeOf(layer.first + index + more));
      return to <= CHART_LEFT ? []
        : [`${Math.max(CHART_LEFT, from)},${(plot.bottom - high).toFixed(1)}H${to.toFixed(1)}`];
    });
    const size = Math.log2(Math.abs(followed));
    const [from, to] = [size, size + scale].map((octave) =>
      clamp(placeOf(octave), CHART_LEFT, right));
    const head = Math.sign(to - from) * Math.min(5, Math.abs(to - from));
    const end = to > width - 70;
    const name = write((to + (end ? -8 : 8)).toFixed(1), top + 15,
      scale ? `${raised(scale)}·g` : "g", { class: "halo", ...(end ? ENDING : STARTING) });
    fillPicture(element, { width, height: plot.bottom + 22, label, nodes: [strip.element,
      trace("outline", steps.length ? `M${steps.join("L")}` : ""), drawAxis(range, plot, ""),
      drawTitles(titles, rows, shares),
      draw("g.arrow", trace("", scale
        ? `M${from},${top + 22}H${to}m${-head},-4l${head},4l${-head},4` : ""), name),
      trace("marker", `M${to.toFixed(2)},${top}V${plot.bottom}m-5,8l5,-8l5,8z`)] });
  }
  return { element, update };
}
