// The histogram over the bands: it slides with the scale, and the bands stand still.

// The smallest of some round shares that is not below the given one.
function roundShare(share) {
  const grain = 10 ** Math.floor(Math.log10(Math.max(share, 1e-9)));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((digit) => digit * grain)
    .find((round) => round >= share * 0.9999);
}

// The chart of a histogram. → {element, update({limits, range, scale, found, width, label})}
function makeChart(layer) {
  const element = draw("svg", { class: "chart", role: "img" });
  const most = Math.max(0, ...layer.counts);
  const peak = layer.counts.indexOf(most);
  const top = most ? roundShare((most / layer.total) * 1.16) : 0; // of the upright axis
  let built = {};
  let parts = null;

  function build({ limits, range, width }) {
    const slim = width < SLIM;
    const zero = { x: slim ? 13 : 14, width: slim ? 28 : 38 };
    const left = zero.x + zero.width + (slim ? 35 : 66);
    const plot = { left, width: width - left - PLOT.right, height: PLOT.height };
    plot.step = plot.width / (range.high - range.low);
    built = { limits, range, width, plot };
    const titles = placeTitles(limits, range, plot);
    plot.top = 8 + PLOT.row * titles.rows;
    plot.bottom = plot.top + plot.height;
    const height = plot.bottom + 22 + 18 + PLOT.ruler + 34;
    setAttributes(element, { width, height, viewBox: `0 0 ${width} ${height}` });
    parts = { ...drawBars(), ...drawZero(zero), ...drawArrow(), ...drawAside() };
    const { below, above } = drawBands(limits, range, plot.step, plot.height);
    const frame = clipped(plot.left, plot.top, plot.width, plot.height,
      below, parts.ghost, parts.bars, above, parts.arrow);
    element.replaceChildren(frame, titles.group, drawUpright(top, built),
      drawAxis(built), drawRuler(built),
      parts.zeroColumn, parts.leftNote, parts.rightNote);
  }

  // The bands' names above the plot, in as many rows as keep them apart.
  function placeTitles(limits, range, plot) {
    const ends = []; // per row, where its last title ends
    const bands = bandsOf(limits, range).map((band) => {
      const half = (band.title.length * PLOT.letter) / 2;
      const place = plot.left + ((band.from + band.to) / 2 - range.low) * plot.step;
      const middle = Math.max(plot.left - 36 + half, Math.min(
        plot.left + plot.width - half, place));
      let row = ends.findIndex((end) => end < middle - half - 8);
      if (row < 0) row = ends.length;
      ends[row] = middle + half;
      return { ...band, place, middle, row };
    });
    const group = draw("g", { class: "titles" });
    const rows = Math.max(1, ends.length);
    for (const { name, title, place, middle, row } of bands) {
      const y = PLOT.row * (rows - row);
      if (row) {
        group.append(draw("path", { class: "leader",
          d: `M${place},${y + 3}V${rows * PLOT.row + 8}` }));
      }
      group.append(draw("text", { class: `title ${name}`, x: middle, y }, title));
    }
    return { group, rows };
  }

  const placeOf = (octave) => (octave - built.range.low) * built.plot.step;
  const tallOf = (count) => (top ? count / layer.total / top : 0) * built.plot.height;

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
    const outline = layer.counts.map((count, index) => `V${boxes[index].y}`
      + `H${placeOf(layer.first + index + 1)}`);
    const start = layer.counts.length ? `M${placeOf(layer.first)},${height}` : "";
    const ghost = draw("path", { class: "ghost",
      d: start && `${start}${outline.join("")}V${height}` });
    return { bars, rects, boxes, minor, ghost };
  }

  // The zero bar has an axis of its own, from nothing to all values.
  function drawZero({ x, width }) {
    const { height } = built.plot;
    const y = built.plot.top;
    const already = draw("rect", { class: "already", x, width });
    const lines = draw("path", { class: "stripe zero", d: slanted(width, height, 7, 0) });
    const fill = draw("rect", { class: "bar zero", x: 0, y: 0, width, height });
    const rounded = clipped(x, y, width, 0, fill, lines);
    const text = draw("text", { class: "zero-share", x: x + width / 2, "text-anchor": "middle" });
    const zeroColumn = draw("g", {},
      draw("rect", { class: "frame", x, y, width, height }), already, rounded, text,
      draw("text", { class: "zero-name", x: x + width / 2, y: y + height + 17,
        "text-anchor": "middle" }, "zero"),
      draw("text", { class: "small", x: x + width / 2, y: y - 5, "text-anchor": "middle" },
        "100%"));
    return { already, rounded, zeroShare: text, zeroColumn };
  }

  // The arrow from where the peak was to where it is.
  function drawArrow() {
    const shaft = draw("path", {});
    const text = draw("text", { y: 10, "text-anchor": "middle" });
    const arrow = draw("g", { class: "arrow" }, shaft, text);
    return { arrow, shaft, arrowText: text };
  }

  // What lies outside the picture.
  function drawAside() {
    const { left, top: y, width, height } = built.plot;
    const note = (x, anchor) => draw("text", { class: "aside", x, y: y + height - 6,
      "text-anchor": anchor });
    return { leftNote: note(left + 4, "start"), rightNote: note(left + width - 4, "end") };
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
