// What stands around a line of octaves: powers of two below it, the names of the bands above.

import { bandsOf, write } from "./bands.mjs";
import { draw } from "./dom.mjs";
import { ENDING, multiples, ticks, trace } from "./plot.mjs";
import { raised } from "./words.mjs";

export const ROW = 15; // pixels, of the names
const [TICK, LETTER] = [48, 7.1]; // pixels: between two powers of two, and for a letter

// The octaves below a plot {left, width, step, bottom}, as powers of two.
export function drawAxis(range, plot, label) {
  const { left, width, step, bottom: y } = plot;
  const every = [1, 2, 4, 8, 16, 32, 64].find((gap) => gap * step >= TICK);
  const marks = multiples(every, range.low, range.high)
    .map((octave) => [left + (octave - range.low) * step, raised(octave)])
    .filter(([x]) => x >= left + 8 && x <= left + width - 10);
  return draw("g.axis", trace("", `M${left},${y}h${width}`), ...ticks(y, marks),
    write(left + width, y + 32, label, { class: "small", ...ENDING }));
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
  const group = draw("g.titles");
  const texts = new Map();
  const rows = Math.max(1, ends.length);
  for (const { name, title, place, middle, row } of titles) {
    const y = ROW * (rows - row);
    if (row) {
      group.prepend(trace("leader", `M${place},${y + 3}V${rows * ROW + 8}`));
    }
    texts.set(name, draw(`text.title.${name}`, { x: middle, y }, title));
    group.append(texts.get(name));
  }
  return { group, rows, texts };
}
