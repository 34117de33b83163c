// What a scale does, in numbers: the shares, and the table of octaves.

const TILES = [["already", "already zero", "alreadyZero"], ["zero", "rounded to zero",
  "roundedToZero"], ["subnormal", "subnormal", "subnormal"], ["normal", "normal", "normal"],
  ["overflow", "overflow", "overflow"]];

// The shares of all values, and of the sum of squares. → {element, update(found)}
function makeReadout() {
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
    make("dl", { class: "tiles" }, ...tiles.map((one) => one.element), lost.element), count);
  function update(found) {
    TILES.forEach(([, , key], index) => setText(tiles[index].value,
      part(found[key], found.total)));
    setText(lost.value, percent(found.normLost));
    const bad = found.nonfinite
      ? ` ${plural(found.nonfinite, "value")} of them (${part(found.nonfinite, found.total)}) `
        + "came in as NaN or infinity: no scale mends that." : "";
    setText(count, `Shares of all ${plural(found.total, "value")}; the last is the share of the `
      + `squared norm ‖g‖² that is rounded to zero.${bad}`);
  }
  return { element, update };
}

// The table of octaves in a <details>. It is built when it is opened. → {element, update}
function makeTable(layer) {
  const body = make("tbody", {});
  const head = make("thead", {}, make("tr", {}, ...["size |g|", "values", "at this scale"].map(
    (text) => make("th", { scope: "col" }, text))));
  const caption = make("caption", {});
  const element = make("details", { class: "octaves", ontoggle: () => refresh() },
    make("summary", {}, "Table of octaves"),
    make("div", { class: "scroller", tabindex: 0, role: "region",
      "aria-label": "table of octaves" }, make("table", {}, caption, head, body)));
  let cells = null;
  let view = null;
  function build() {
    const row = (size, count) => {
      const cell = make("td", {});
      body.append(make("tr", {}, make("th", { scope: "row" }, size),
        make("td", {}, counted(count)), cell));
      return cell;
    };
    setText(row("0", layer.zeros), "already zero");
    cells = layer.counts.map((count, index) => {
      const octave = layer.first + index;
      return count ? row(`${raised(octave)} to ${raised(octave + 1)}`, count) : null;
    });
    if (layer.infinities) setText(row("∞", layer.infinities), "infinity at every scale");
    if (layer.nans) setText(row("NaN", layer.nans), "NaN at every scale");
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
  function update(next) {
    view = next;
    refresh();
  }
  return { element, update };
}
