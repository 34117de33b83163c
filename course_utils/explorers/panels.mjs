// What stands around the histogram: the loss scale above it, and below it the shares, the layers
// and the table of octaves.

import { BANDS, LARGEST_SCALE, SLIM, makeStrip } from "./bands.mjs";
import { make, makeChips, makeTable, setOne, setProperty, setText } from "./dom.mjs";
import { KEPT, splitOctave, survive } from "./survival.mjs";
import {
  counted, describeBest, describeTight, part, percent, plural, raised, shortName, spelled,
} from "./words.mjs";

const FIXED_SCALES = [1, 8, 128, 512, 1024, 32768];
const TILES = [["already", "already zero", "alreadyZero"],
  ["zero", "rounded to zero", "roundedToZero"],
  ...["subnormal", "normal", "overflow"].map((name) => [name, name, name])];
const STRIP_HEIGHT = 24;
const MOST_ROWS = 20; // more layers scroll

// Where an exponent stands on the slider's track, in percent.
const along = (scale) => `${(Math.max(0, Math.min(LARGEST_SCALE, scale)) / LARGEST_SCALE) * 100}%`;

// A kind of best scales: a bar under the slider, open where it goes on beyond it, and a sentence
// with the bar's key. → {span, line, update(range, text)}
function makeBest(name) {
  const span = make("div", { class: `span ${name}` });
  const words = make("span", {});
  const line = make("p", { class: "best" }, make("span", { class: `key ${name}` }), words);
  function update(range, text) {
    setText(words, text);
    setProperty(line, "hidden", text === "");
    line.classList.toggle("none", !range);
    const shown = Boolean(range) && range.to >= 0 && range.from <= LARGEST_SCALE;
    setProperty(span, "hidden", !shown);
    if (!shown) return;
    setOne(span, "style", `left: ${along(range.from)}; right: calc(100% - ${along(range.to)})`);
    span.classList.toggle("earlier", range.from < 0);
    span.classList.toggle("later", range.to > LARGEST_SCALE);
  }
  return { span, line, update };
}

// A remark where the slider does not reach all of a range.
function beyond(range) {
  if (!range) return "";
  if (range.from > LARGEST_SCALE || range.to < 0) return " The slider does not reach it.";
  const sides = [range.from < 0 && "left", range.to > LARGEST_SCALE && "right"].filter(Boolean);
  return sides.length ? ` It continues ${sides.join(" and ")} of the slider.` : "";
}

// The loss scale: slider, best range, chips. choose(exponent) asks for one.
// → {element, update(scale, best, layer, limits)}
export function makeScale(choose) {
  const shown = make("output", { class: "scale-text" });
  const slider = make("input", { type: "range", class: "slider", min: 0, max: LARGEST_SCALE,
    step: 1, "aria-label": "loss scale", oninput: () => choose(Number(slider.value)) });
  const [both, tight] = [makeBest("both"), makeBest("tight")];
  const ticks = Array.from({ length: LARGEST_SCALE / 4 + 1 }, (_, index) =>
    make("span", { class: "tick", style: `left: ${along(index * 4)}` }, raised(index * 4)));
  const chips = makeChips("fixed scales", FIXED_SCALES.map((scale) => [
    [String(scale)], () => choose(Math.log2(scale)), { "data-scale": scale }]));
  const element = make("div", { class: "scale" },
    make("div", { class: "scale-head" },
      make("span", { class: "scale-name", "aria-hidden": "true" }, "loss scale"), shown,
      chips.element),
    slider,
    make("div", { class: "track", "aria-hidden": "true" }, both.span, tight.span, ...ticks),
    make("div", { class: "bests" }, both.line, tight.line));

  function update(scale, best, layer, limits) {
    setProperty(slider, "value", String(scale));
    setOne(slider, "aria-valuetext", `${spelled(scale)} = ${2 ** scale}`);
    setText(shown, `${raised(scale)} = ${2 ** scale}`);
    for (const chip of chips.chips) {
      setOne(chip, "aria-pressed", String(Number(chip.dataset.scale) === 2 ** scale));
    }
    both.update(best.both, describeBest(best, layer, limits) + beyond(best.both));
    tight.update(best.tight, describeTight(best, layer));
  }
  return { element, update };
}

// The shares of all values, and of the sum of squares. → {element, update(found)}
export function makeReadout() {
  const tile = (name, title) => {
    const value = make("dd", {});
    return { value, element: make("div", { class: `tile ${name}`, "data-class": name },
      make("dt", {}, make("span", { class: `swatch ${name}`, "aria-hidden": "true" }), title),
      value) };
  };
  const tiles = TILES.map(([name, title]) => tile(name, title));
  const lost = tile("lost", "of ‖g‖² lost");
  const count = make("p", { class: "note" });
  const element = make("div", { class: "readout" },
    make("dl", { class: "tiles" }, ...[...tiles, lost].map((one) => one.element)), count);
  function update(found) {
    const of = (number) => part(number, found.total);
    TILES.forEach(([, , key], index) => setText(tiles[index].value, of(found[key])));
    setText(lost.value, percent(found.normLost));
    const bad = found.nonfinite ? ` ${plural(found.nonfinite, "value")} of them `
      + `(${of(found.nonfinite)}) came in as NaN or infinity: no scale mends that.` : "";
    setText(count, `Shares of all ${plural(found.total, "value")}; the last is the share of the `
      + `squared norm ‖g‖² that is rounded to zero.${bad}`);
  }
  return { element, update };
}

// The layers, one row each: where a format's range is too narrow for all of them at once.
// → {element, update({limits, range, scale, width})}
export function makeLadder(layers) {
  const { table, body, caption } = makeTable(null, ["layer", "against the bands", "rounded to zero",
    "of ‖g‖² lost", "overflow"]);
  const rows = layers.map((layer) => {
    const strip = makeStrip(layer, STRIP_HEIGHT);
    const cells = ["zero", "lost", "overflow"].map((name) => make("td", { class: name }));
    // A name may break after the marks that names are made of.
    const name = make("th", { scope: "row", title: layer.name }, ...shortName(layer.name)
      .split(/(?<=[/_.:-])/).flatMap((piece) => [make("wbr"), piece]));
    const bad = layer.nans + layer.infinities;
    if (bad) name.append(make("small", {}, ` ${counted(bad)} NaN or infinite`));
    body.append(make("tr", {}, name, make("td", { class: "strip-cell" }, strip.element), ...cells));
    return { layer, strip, cells };
  });
  const long = layers.length > MOST_ROWS;
  const element = make("div", { class: long ? "ladder scroller" : "ladder",
    tabindex: long ? 0 : null, role: "region", "aria-label": "layers" }, table);
  let [measured, stripWidth] = [0, 0];

  function update({ limits, range, scale, width }) {
    if (measured !== width) {
      measured = width;
      stripWidth = Math.round(Math.max(70, width - (width < SLIM ? 262 : 440)));
      element.style.setProperty("--strip", `${stripWidth}px`);
    }
    setText(caption, `Each layer in ${limits.name} at scale ${raised(scale)}`);
    for (const { layer, strip, cells } of rows) {
      strip.update({ limits, range, scale, width: stripWidth });
      const found = survive(layer, limits, scale);
      const [zero, lost, over] = cells;
      setText(zero, part(found.roundedToZero, found.total));
      setText(lost, percent(found.normLost));
      setText(over, part(found.overflow, found.total));
      lost.classList.toggle("bad", found.normLost >= KEPT);
      over.classList.toggle("bad", found.overflow > 0);
    }
  }
  return { element, update };
}

// The table of octaves in a <details>. It is built when it is opened. → {element, update}
export function makeOctaves(layer) {
  const { table, body, caption } = makeTable(null, ["size |g|", "values", "at this scale"]);
  const element = make("details", { class: "octaves", ontoggle: () => refresh() },
    make("summary", {}, "Table of octaves"),
    make("div", { class: "scroller", tabindex: 0, role: "region",
      "aria-label": "table of octaves" }, table));
  let cells = null;
  let view = null;
  function build() {
    const row = (size, count, text = "") => {
      const cell = make("td", {}, text);
      body.append(make("tr", {}, make("th", { scope: "row" }, size),
        make("td", {}, counted(count)), cell));
      return cell;
    };
    row("0", layer.zeros, "already zero");
    cells = layer.counts.map((count, index) => {
      const octave = layer.first + index;
      return count ? row(`${raised(octave)} to ${raised(octave + 1)}`, count) : null;
    });
    if (layer.infinities) row("∞", layer.infinities, "infinity at every scale");
    if (layer.nans) row("NaN", layer.nans, "NaN at every scale");
  }
  function refresh() {
    if (!element.open || !view) return;
    if (!cells) build();
    const { limits, scale } = view;
    setText(caption, `Octaves of |g|, and what they become in ${limits.name} at ${raised(scale)}`);
    cells.forEach((cell, index) => {
      if (!cell) return;
      const split = splitOctave(layer, index, limits, scale);
      const kinds = BANDS.map(([, title], place) => [split[place], title]).filter(([n]) => n);
      setText(cell, kinds.length === 1 ? kinds[0][1]
        : kinds.map(([count, title]) => `${counted(count)} ${title}`).join(", "));
    });
  }
  return { element, update: (next) => { view = next; refresh(); } };
}
