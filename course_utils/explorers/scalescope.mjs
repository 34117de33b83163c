// ScaleScope: gradients against a format's range. State lives in here, per host.

import { LARGEST_SCALE, SLIM, rangeOf, rangeOfAll } from "./bands.mjs";
import { makeChart } from "./chart.mjs";
import { attach, labelled, make, makeSelect, makeSpeaker, makeTabs, setText } from "./dom.mjs";
import { makeLadder, makeOctaves, makeReadout, makeScale } from "./panels.mjs";
import { makePlayer } from "./player.mjs";
import { ALL_SCALES, addUp, bestScales, survive } from "./survival.mjs";
import { describeSurvival } from "./words.mjs";

// Build one ScaleScope from the host's data.
function build(data) {
  const { layers } = data;
  const whole = addUp(layers);
  const formats = new Map(data.formats.map((limits) => [limits.name, limits]));
  const state = { format: "float16", scale: 0, growth: data.growth, tab: data.tab };
  const known = new Map(); // format → what does not depend on the scale
  let width = 640;

  const speaker = makeSpeaker();
  const set = (change) => {
    Object.assign(state, change);
    refresh();
  };
  const select = makeSelect([...formats.keys()].map((name) => [name, name]), state.format,
    (name) => set({ format: name }));
  const note = make("span", { class: "note" });
  const toolbar = make("div", { class: "toolbar" },
    make("div", { class: "options" }, labelled("format", select), note));
  const scale = makeScale((to) => set({ scale: to }));
  const chart = makeChart(whole);
  const readout = makeReadout();
  const parts = [...(layers.length > 1 ? [makeLadder(layers)] : []), makeOctaves(whole)];
  const player = makePlayer(whole, {
    growth: (steps) => set({ growth: steps }), say: speaker.say });
  const panel = make("div", { class: "gradients" }, scale.element,
    make("div", { class: "picture" }, chart.element), readout.element,
    ...parts.map((one) => one.element));
  const tabs = makeTabs({
    gradients: { title: "Gradients", element: panel },
    controller: { title: "Controller", element: player.element },
  }, (tab) => set({ tab }));
  const element = make("div", { class: "explorer scalescope" },
    toolbar, tabs.element, speaker.element);

  function factsOf(name) {
    if (!known.has(name)) {
      const limits = formats.get(name);
      known.set(name, { limits, range: rangeOf(whole, limits), best: bestScales(whole, limits),
        farRange: rangeOfAll(whole, limits), farBest: bestScales(whole, limits, ALL_SCALES) });
    }
    return known.get(name);
  }
  function refresh() {
    const { limits, range, best, farRange, farBest } = factsOf(state.format);
    // A remark where the bands lie outside the picture.
    const always = best.tight && best.tight.from <= 0 && best.tight.to >= LARGEST_SCALE;
    setText(note, always
      ? `All of it is inside the normal range of ${limits.name} at every scale here.` : "");
    tabs.choose(state.tab);
    if (state.tab === "controller") {
      player.update({ limits, range: farRange, best: farBest, growth: state.growth, width });
      return;
    }
    player.stop();
    const found = survive(whole, limits, state.scale);
    const label = describeSurvival(found, limits.name, state.scale);
    const view = { limits, range, scale: state.scale, found, width, label };
    scale.update(state.scale, best, whole, limits);
    for (const part of [chart, ...parts]) part.update(view);
    readout.update(found);
    speaker.say(label);
  }
  function fit(next) {
    if (Math.floor(next) === width) return;
    width = Math.floor(next);
    element.classList.toggle("slim", width < SLIM);
    refresh();
  }
  refresh();
  return { element, measured: tabs.element, fit };
}

attach("scalescope", CSS, build);
