// What stands around the histogram: its axes, and the ruler of surviving bits.

const PLOT = { height: 200, row: 15, right: 6, ruler: 26, tick: 48, letter: 7.1 }; // pixels

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
    group.append(draw("text", { x: left - 6, y: at + 4, "text-anchor": "end" },
      share ? percent(share * top).replace(" ", "") : "0"));
  }
  return group;
}

// The octaves below the plot, as powers of two.
function drawAxis({ range, plot }) {
  const { left, width, step, bottom: y } = plot;
  const every = [1, 2, 4, 8, 16, 32, 64].find((gap) => gap * step >= PLOT.tick);
  const group = draw("g", { class: "axis" }, draw("path", { d: `M${left},${y}h${width}` }));
  for (let octave = Math.ceil(range.low / every) * every; octave <= range.high; octave += every) {
    const x = left + (octave - range.low) * step;
    if (x > left + width - 10 || x < left + 8) continue;
    group.append(draw("path", { d: `M${x},${y}v4` }),
      draw("text", { x, y: y + 17, "text-anchor": "middle" }, raised(octave)));
  }
  group.append(draw("text", { class: "small", x: left + width, y: y + 32,
    "text-anchor": "end" }, "size of a gradient after scaling"));
  return group;
}

// Bits of the significand that survive, octave by octave.
function drawRuler({ limits, range, plot }) {
  const floor = plot.bottom + 42 + PLOT.ruler;
  const group = draw("g", { class: "ruler" });
  const placeOf = (octave) => plot.left + (octave - range.low) * plot.step;
  const bits = (octave) => bitsKept(octave, limits);
  let d = `M${plot.left},${floor}`;
  for (let octave = range.low; octave < range.high; octave += 1) {
    d += `V${(floor - (bits(octave) / limits.precision) * PLOT.ruler).toFixed(1)}`
      + `H${placeOf(octave + 1).toFixed(1)}`;
  }
  group.append(draw("path", { class: "steps", d: `${d}V${floor}z` }),
    draw("path", { class: "floor", d: `M${plot.left},${floor}h${plot.width}` }));
  const write = (octave, text) => group.append(draw("text", {
    x: placeOf(octave), y: floor + 13, "text-anchor": "middle" }, text));
  for (const { name, from, to } of bandsOf(limits, range)) {
    const middle = (from + to) / 2;
    if (name === "normal") write(middle, String(limits.precision));
    else if (name === "subnormal") {
      const every = Math.ceil((limits.precision > 12 ? 22 : 15) / plot.step);
      for (let octave = to - 1; octave >= from; octave -= every) {
        write(octave + 0.5, String(bits(octave)));
      }
    } else if ((to - from) * plot.step >= 22) write(middle, "0");
  }
  group.append(draw("text", { class: "small", x: plot.left + plot.width, y: floor + 27,
    "text-anchor": "end" }, "bits of the significand that survive"));
  return group;
}
