// The layers, one row each: where a format's range is too narrow for all of them at once.

const STRIP_HEIGHT = 24;
const MOST_ROWS = 20; // more of them scroll

// The ladder of several layers. → {element, update({limits, range, scale, width})}
function makeLadder(layers) {
  const heads = ["layer", "against the bands", "rounded to zero", "of ‖g‖² lost", "overflow"];
  const rows = layers.map((layer) => {
    const strip = makeStrip(layer, STRIP_HEIGHT);
    const cells = ["zero", "lost", "overflow"].map((name) => make("td", { class: name }));
    const bad = layer.nans + layer.infinities;
    const name = make("th", { scope: "row", title: layer.name },
      ...breakable(shortName(layer.name)));
    if (bad) name.append(make("small", {}, ` ${counted(bad)} NaN or infinite`));
    const element = make("tr", {}, name, make("td", { class: "strip-cell" }, strip.element),
      ...cells);
    return { layer, strip, cells, element };
  });
  const caption = make("caption", {});
  const table = make("table", {}, caption, make("thead", {}, make("tr", {},
    ...heads.map((text) => make("th", { scope: "col" }, text)))),
  make("tbody", {}, ...rows.map(({ element }) => element)));
  const long = layers.length > MOST_ROWS;
  const element = make("div", { class: long ? "ladder scroller" : "ladder",
    tabindex: long ? 0 : null, role: "region", "aria-label": "layers" }, table);
  let stripWidth = 0;
  let measured = null;

  function update({ limits, range, scale, width }) {
    if (measured !== width && width) {
      measured = width;
      stripWidth = Math.round(Math.max(70, width - (width < SLIM ? 262 : 440)));
      element.style.setProperty("--strip", `${stripWidth}px`);
    }
    setText(caption, `Each layer in ${limits.name} at scale ${raised(scale)}`);
    for (const { layer, strip, cells } of rows) {
      strip.update({ limits, range, scale, width: stripWidth });
      const found = survive(layer, limits, scale);
      setText(cells[0], part(found.roundedToZero, found.total));
      setText(cells[1], percent(found.normLost));
      setText(cells[2], part(found.overflow, found.total));
      cells[1].classList.toggle("bad", found.normLost >= KEPT);
      cells[2].classList.toggle("bad", found.overflow > 0);
    }
  }
  return { element, update };
}
