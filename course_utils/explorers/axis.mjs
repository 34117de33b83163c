// What stands around a line of octaves: powers of two below it, the names of the bands above.

import { bandsOf, write } from "./bands.mjs";
import { draw } from "./dom.mjs";
import { raised } from "./words.mjs";

export const ROW = 15; // pixels, of the names
const [TICK, LETTER] = [48, 7.1]; // pixels: between two powers of two, and for a letter

// The octaves below a plot {left, width, step, bottom}, as powers of two.
export function drawAxis(range, plot, label) {
  const { left, width, step, bottom: y } = plot;
  const every = [1, 2, 4, 8, 16, 32, 64].find((gap) => gap * step >= TICK);
  const group = draw("g", { class: "axis" }, draw("path", { d: `M${left},${y}h${width}` }));
  for (let octave = Math.ceil(range.low / every) * every; octave <= range.high; octave += every) {
    const x = left + (octave - range.low) * step;
    if (x > left + width - 10 || x < left + 8) continue;
    group.append(draw("path", { d: `M${x},${y}v4` }), write(x, y + 17, raised(octave)));
  }
  group.append(write(left + width, y + 32, label, { class: "small", "text-anchor": "end" }));
  return group;
}

// The bands' names above it, in as many rows of ROW pixels as keep them apart, with room for so
// many letters more. → {group, rows, texts}, the last by the band's name
export function placeTitles(limits, range, plot, more = 0) {
  const ends = []; // per row, where its last title ends
  const titles = bandsOf(limits, range).map((band) => {
    const half = ((band.title.length + more) * LETTER) / 2;
    const place = plot.left + ((band.from + band.to) / 2 - range.low) * plot.step;
    const middle = Math.max(plot.left + half, Math.min(plot.left + plot.width - half, place));
    let row = ends.findIndex((end) => end < middle - half - 8);
    if (row < 0) row = ends.length;
    ends[row] = middle + half;
    return { ...band, place, middle, row };
  });
  const group = draw("g", { class: "titles" });
  const texts = new Map();
  const rows = Math.max(1, ends.length);
  for (const { name, title, place, middle, row } of titles) {
    const y = ROW * (rows - row);
    if (row) {
      group.prepend(draw("path", { class: "leader", d: `M${place},${y + 3}V${rows * ROW + 8}` }));
    }
    texts.set(name, draw("text", { class: `title ${name}`, x: middle, y }, title));
    group.append(texts.get(name));
  }
  return { group, rows, texts };
}
