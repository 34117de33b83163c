// The controls: the format, the loss scale with its best range, and the code to copy.

const FIXED_SCALES = [1, 8, 128, 512, 1024, 32768];

// The Python call that reproduces the state; arguments at their defaults are left out.
function constructorText(state) {
  const words = ["gradients"];
  if (state.format !== "float16") words.push(`format="${state.format}"`);
  if (state.scale !== 0) words.push(`log2_scale=${state.scale}`);
  if (state.growth !== 20) words.push(`growth_steps=${state.growth}`);
  if (state.tab !== "gradients") words.push(`tab="${state.tab}"`);
  return `ScaleScope(${words.join(", ")})`;
}

// What is above the tabs. on: {format(name)}. → {element, update(state)}
function makeToolbar(names, state, on) {
  const select = makeSelect(names.map((name) => [name, name]), state.format, on.format);
  const copy = makeCopy(() => constructorText(state));
  const note = make("span", { class: "note" });
  const element = make("div", { class: "toolbar" },
    make("div", { class: "options" }, labelled("format", select), note, copy.button), copy.line);
  function update(words) {
    setText(note, words);
    copy.update();
  }
  return { element, update };
}

// Where an exponent stands on the slider's track, in percent.
const along = (scale) => `${(Math.max(0, Math.min(LARGEST_SCALE, scale)) / LARGEST_SCALE) * 100}%`;

// A bar under the slider, from scale to scale; open where it goes on beyond the slider.
function makeSpan(name) {
  const element = make("div", { class: `span ${name}` });
  let drawn; // nothing yet; null is no range
  function update(range) {
    if (range === drawn) return;
    drawn = range;
    const shown = range && range.to >= 0 && range.from <= LARGEST_SCALE;
    setProperty(element, "hidden", !shown);
    if (!shown) return;
    element.style.left = along(range.from);
    element.style.right = `calc(100% - ${along(range.to)})`;
    element.classList.toggle("earlier", range.from < 0);
    element.classList.toggle("later", range.to > LARGEST_SCALE);
  }
  return { element, update };
}

// The loss scale: slider, best range, chips. on: {scale(exponent)}. → {element, update}
function makeScale(on) {
  const shown = make("output", { class: "scale-text" });
  const slider = make("input", { type: "range", class: "slider", min: 0, max: LARGEST_SCALE,
    step: 1, "aria-label": "loss scale", oninput: () => on.scale(Number(slider.value)) });
  const both = makeSpan("both");
  const tight = makeSpan("tight");
  const ticks = Array.from({ length: LARGEST_SCALE / 4 + 1 }, (_, index) => {
    const tick = make("span", { class: "tick" }, raised(index * 4));
    tick.style.left = along(index * 4);
    return tick;
  });
  const chips = FIXED_SCALES.map((scale) => make("button", { type: "button", class: "chip",
    "data-scale": scale, onclick: () => on.scale(Math.log2(scale)) }, String(scale)));
  const chipBox = make("div", { class: "chips", role: "toolbar", "aria-label": "fixed scales" },
    ...chips);
  roveAmong(chipBox, chips);
  const bestText = make("span", {});
  const tightText = make("span", {});
  const bestLine = make("p", { class: "best" }, make("span", { class: "key both" }), bestText);
  const tightLine = make("p", { class: "best" }, make("span", { class: "key tight" }), tightText);
  const element = make("div", { class: "scale" },
    make("div", { class: "scale-head" },
      make("span", { class: "scale-name", "aria-hidden": "true" }, "loss scale"), shown, chipBox),
    slider,
    make("div", { class: "track", "aria-hidden": "true" }, both.element, tight.element, ...ticks),
    make("div", { class: "bests" }, bestLine, tightLine));

  function update(scale, best, layer, limits) {
    setProperty(slider, "value", String(scale));
    setOne(slider, "aria-valuetext", `${spelled(scale)} = ${2 ** scale}`);
    setText(shown, `${raised(scale)} = ${2 ** scale}`);
    for (const chip of chips) {
      setOne(chip, "aria-pressed", String(Number(chip.dataset.scale) === 2 ** scale));
    }
    both.update(best.both);
    tight.update(best.tight);
    setText(bestText, describeBest(best, layer, limits) + beyond(best.both));
    setText(tightText, describeTight(best, layer));
    setProperty(tightLine, "hidden", tightText.textContent === "");
    bestLine.classList.toggle("none", !best.both);
    tightLine.classList.toggle("none", !best.tight);
  }
  return { element, update };
}

// A remark where the slider does not reach all of a range.
function beyond(range) {
  if (!range) return "";
  if (range.from > LARGEST_SCALE || range.to < 0) return " The slider does not reach it.";
  const sides = [range.from < 0 && "left", range.to > LARGEST_SCALE && "right"].filter(Boolean);
  return sides.length ? ` It continues ${sides.join(" and ")} of the slider.` : "";
}
