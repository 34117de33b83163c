// The histogram over the bands: it slides with the scale, and the bands stand still. Around it
// stand its axes, and the ruler of surviving bits.

import { ROW, drawAxis, placeTitles } from "./axis.mjs";
import { SLIM, bandsOf, clipped, drawBands, slanted, write } from "./bands.mjs";
import { draw, setAttributes, setOne, setText } from "./dom.mjs";
import { CLASSES, bitsKept, splitOctave } from "./survival.mjs";
import { part, percent, raised } from "./words.mjs";

const PLOT = { height: 200, right: 6, ruler: 26 }; // pixels

// The upright axis; `top` is the share at its upper end, 0 where there are no values.
function drawUpright(top, { plot, width }) {
  const { left, top: y, height } = plot;
  const group = draw("g", { class: "axis" });
  if (width >= SLIM) {
    group.append(draw("text", { "text-anchor": "middle",
      transform: `translate(${left - 41},${y + height / 2})rotate(-90)` }, "share of all values"));
  }
  for (const share of [0, 0.5, 1]) {
    const at = y + height * (1 - share);
    group.append(draw("path", { d: `M${left - 4},${at}h4` }));
    if (!top && share) continue;
    group.append(write(left - 6, at + 4, share ? percent(share * top).replace(" ", "") : "0",
      { "text-anchor": "end" }));
  }
  return group;
}

// Bits of the significand that survive, octave by octave.
function drawRuler({ limits, range, plot }) {
  const { left, width, step } = plot;
  const floor = plot.bottom + 42 + PLOT.ruler;
  const placeOf = (octave) => left + (octave - range.low) * step;
  const bits = (octave) => bitsKept(octave, limits);
  let d = `M${left},${floor}`;
  for (let octave = range.low; octave < range.high; octave += 1) {
    d += `V${(floor - (bits(octave) / limits.precision) * PLOT.ruler).toFixed(1)}`
      + `H${placeOf(octave + 1).toFixed(1)}`;
  }
  const group = draw("g", { class: "ruler" }, draw("path", { class: "steps", d: `${d}V${floor}z` }),
    draw("path", { class: "floor", d: `M${left},${floor}h${width}` }));
  const label = (octave, text) => group.append(write(placeOf(octave), floor + 13, text));
  for (const { name, from, to } of bandsOf(limits, range)) {
    const middle = (from + to) / 2;
    if (name === "normal") label(middle, String(limits.precision));
    else if (name === "subnormal") {
      const every = Math.ceil((limits.precision > 12 ? 22 : 15) / step);
      for (let octave = to - 1; octave >= from; octave -= every) {
        label(octave + 0.5, String(bits(octave)));
      }
    } else if ((to - from) * step >= 22) label(middle, "0");
  }
  group.append(write(left + width, floor + 27, "bits of the significand that survive",
    { class: "small", "text-anchor": "end" }));
  return group;
}

// The smallest of some round shares that is not below the given one.
function roundShare(share) {
  const grain = 10 ** Math.floor(Math.log10(Math.max(share, 1e-9)));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((digit) => digit * grain)
    .find((round) => round >= share * 0.9999);
}

// The chart of a histogram. → {element, update({limits, range, scale, found, width, label})}
export function makeChart(layer) {
  const element = draw("svg", { class: "chart", role: "img" });
  const most = Math.max(0, ...layer.counts);
  const peak = layer.counts.indexOf(most);
  const top = most ? roundShare((most / layer.total) * 1.16) : 0; // of the upright axis
  let built = {};
  let parts = null;
  const placeOf = (octave) => (octave - built.range.low) * built.plot.step;
  const tallOf = (count) => (top ? count / layer.total / top : 0) * built.plot.height;

  function build({ limits, range, width }) {
    const slim = width < SLIM;
    const zero = { x: slim ? 13 : 14, width: slim ? 28 : 38 };
    const left = zero.x + zero.width + (slim ? 35 : 66);
    const plot = { left, width: width - left - PLOT.right, height: PLOT.height };
    plot.step = plot.width / (range.high - range.low);
    built = { limits, range, width, plot };
    const titles = placeTitles(limits, range, plot);
    plot.top = 8 + ROW * titles.rows;
    plot.bottom = plot.top + plot.height;
    const height = plot.bottom + 22 + 18 + PLOT.ruler + 34;
    setAttributes(element, { width, height, viewBox: `0 0 ${width} ${height}` });
    const aside = (x, anchor) => write(x, plot.bottom - 6, "",
      { class: "aside", "text-anchor": anchor });
    parts = { ...drawBars(), ...drawZero(zero),
      shaft: draw("path", {}), arrowText: write(null, 10, ""),
      leftNote: aside(left + 4, "start"), rightNote: aside(left + plot.width - 4, "end") };
    parts.arrow = draw("g", { class: "arrow" }, parts.shaft, parts.arrowText);
    const { below, above } = drawBands(limits, range, plot.step, plot.height);
    const frame = clipped(left, plot.top, plot.width, plot.height,
      below, parts.ghost, parts.bars, above, parts.arrow);
    element.replaceChildren(frame, titles.group, drawUpright(top, built),
      drawAxis(range, plot, "size of a gradient after scaling"),
      drawRuler(built), parts.zeroColumn, parts.leftNote, parts.rightNote);
  }

  // A bar per octave, small ones for what differs within an octave, and where they were.
  function drawBars() {
    const { height, step } = built.plot;
    const gap = step > 6 ? 1 : 0.5;
    const boxes = layer.counts.map((count, index) => {
      const tall = count ? Math.max(1, tallOf(count)) : 0;
      return { x: placeOf(layer.first + index) + gap / 2, y: height - tall, width: step - gap,
        height: tall };
    });
    const rects = boxes.map((box) => draw("rect", { ...box, class: "bar" }));
    const minor = [0, 1, 2].map(() => draw("rect", { class: "bar", height: 0 }));
    const bars = draw("g", { class: "shift" }, ...rects, ...minor);
    const outline = boxes.map(({ y }, index) => `V${y}H${placeOf(layer.first + index + 1)}`);
    const start = boxes.length ? `M${placeOf(layer.first)},${height}` : "";
    const ghost = draw("path", { class: "ghost",
      d: start && `${start}${outline.join("")}V${height}` });
    return { bars, rects, boxes, minor, ghost };
  }

  // The zero bar has an axis of its own, from nothing to all values.
  function drawZero({ x, width }) {
    const { height, top: y } = built.plot;
    const middle = x + width / 2;
    const already = draw("rect", { class: "already", x, width });
    const rounded = clipped(x, y, width, 0,
      draw("rect", { class: "bar zero", x: 0, y: 0, width, height }),
      draw("path", { class: "stripe zero", d: slanted(width, height, 7, 0) }));
    const zeroShare = write(middle, null, "", { class: "zero-share" });
    const zeroColumn = draw("g", {},
      draw("rect", { class: "frame", x, y, width, height }), already, rounded, zeroShare,
      write(middle, y + height + 17, "zero", { class: "zero-name" }),
      write(middle, y - 5, "100%", { class: "small" }));
    return { already, rounded, zeroShare, zeroColumn };
  }

  // Color the bars by class. An octave in which two classes meet gets a small second bar.
  function color(limits, scale) {
    let used = 0;
    const { minor, rects, boxes } = parts;
    layer.counts.forEach((count, index) => {
      const split = splitOctave(layer, index, limits, scale);
      const order = [0, 1, 2, 3].sort((one, other) => split[other] - split[one]);
      setOne(rects[index], "class", `bar ${CLASSES[order[0]]}`);
      if (!split[order[1]]) return;
      const { x, y, width } = boxes[index];
      setAttributes(minor[used], { class: `bar ${CLASSES[order[1]]}`, x, y, width,
        height: Math.max(1, tallOf(split[order[1]])) });
      used += 1;
    });
    for (; used < minor.length; used += 1) setOne(minor[used], "height", 0);
  }

  function updateZero(found) {
    const { height, top: y } = built.plot;
    const tall = (count) => (found.total ? count / found.total : 0) * height;
    const [already, rounded] = [tall(found.alreadyZero), tall(found.roundedToZero)];
    setOne(parts.already, "y", y + height - already);
    setOne(parts.already, "height", already);
    setOne(parts.rounded, "y", y + height - already - rounded);
    setOne(parts.rounded, "height", rounded);
    const share = part(found.alreadyZero + found.roundedToZero, found.total).replace(" ", "");
    const long = share.length > 5 && built.width < SLIM;
    setText(parts.zeroShare, long ? share.replace("<0.01", "<1").replace(">99.99", ">99") : share);
    setOne(parts.zeroShare, "y", Math.max(y + 14, y + height - already - rounded - 5));
  }

  // The arrow from where the peak was to where it is.
  function updateArrow(scale) {
    const from = placeOf(layer.first + peak + 0.5);
    const to = from + scale * built.plot.step;
    setOne(parts.arrow, "visibility", scale && most ? null : "hidden");
    setOne(parts.shaft, "d", `M${from},15H${to}m-5,-4l5,4l-5,4`);
    setOne(parts.arrowText, "x", (from + to) / 2);
    setText(parts.arrowText, `× ${raised(scale)}`);
  }

  // Say which share of the values lies beyond the picture's ends.
  function updateAside(scale) {
    const { low, high } = built.range;
    let [less, more] = [0, 0];
    layer.counts.forEach((count, index) => {
      const octave = layer.first + index + scale;
      if (octave < low) less += count;
      if (octave >= high) more += count;
    });
    setText(parts.leftNote, less ? `◂ ${part(less, layer.total)} lie farther left` : "");
    setText(parts.rightNote, more ? `${part(more, layer.total)} lie farther right ▸` : "");
  }

  function update(view) {
    const { limits, range, width, scale, found, label } = view;
    if (built.limits !== limits || built.range !== range || built.width !== width) build(view);
    parts.bars.style.transform = `translate(${(scale * built.plot.step).toFixed(2)}px)`;
    color(limits, scale);
    updateZero(found);
    updateArrow(scale);
    updateAside(scale);
    setOne(element, "aria-label", label);
  }
  return { element, update };
}
