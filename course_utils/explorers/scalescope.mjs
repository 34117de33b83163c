// ScaleScope: one gradient and all of them against a format's range. State lives in here, per host.

import { SLIM, rangeOf } from "./bands.mjs";
import { makeBathtub } from "./bathtub.mjs";
import { makeChart } from "./chart.mjs";
import {
  attach, labelled, make, makeSelect, makeSpeaker, makeTabs, setProperty, setText,
} from "./dom.mjs";
import { makeFollow, rounded } from "./follow.mjs";
import { makePlayer } from "./player.mjs";
import { errorAt, survive } from "./survival.mjs";
import { describeRest, describeSurvival, errorText, shortName } from "./words.mjs";

const WIDE = 840; // pixels: the controls stand beside the tabs

// A gradient that float16 loses without a scale, if there is one; its fraction is 1001 1001 1…
const tellingOne = ({ first, counts }) => rounded(
  1.6 * 2 ** (counts.length ? Math.max(first, Math.min(first + counts.length - 1, -27)) : -27));

// Build one ScaleScope from the host's data.
function build(data) {
  const { layers } = data;
  const [whole] = layers;
  const formats = new Map(data.formats.map((limits) => [limits.name, limits]));
  const state = { format: "float16", scale: 0, growth: data.growth, tab: data.tab, layer: whole,
    followed: tellingOne(whole) };
  const ranges = new Map([...formats.values()].map((limits) => [limits, rangeOf(whole, limits)]));
  let width = 640;

  const speaker = makeSpeaker();
  const set = (change) => {
    Object.assign(state, change);
    refresh();
  };
  const select = makeSelect([...formats.keys()].map((name) => [name, name]), state.format,
    (name) => set({ format: name }));
  const which = makeSelect(layers.map(({ name }, index) => [String(index), shortName(name)]), "0",
    (index) => set({ layer: layers[index] }));
  const chosen = labelled("gradients of", which);
  const toolbar = make("div.options", labelled("format", select), chosen);
  const bathtub = makeBathtub((scale) => set({ scale }));
  const player = makePlayer({ growth: (growth) => set({ growth }), scale: show });
  const tabs = makeTabs({
    gradients: { title: "You set S", element: bathtub.element },
    controller: { title: "A controller sets S", element: player.element },
  }, (tab) => set({ tab }));
  const chart = makeChart((octave) => set({ followed: rounded(2 ** octave) }));
  const rest = make("span");
  const follow = makeFollow((followed) => set({ followed }));
  const element = make("div.explorer.scalescope", toolbar, tabs.element,
    make("div.picture", chart.element,
      make("p.note", rest,
        make("span", "size after scaling · press to follow another gradient"))),
    follow.element, speaker.element);

  // All that the scale moves, whoever set it.
  function show(scale, words = "") {
    const { layer, followed } = state;
    const limits = formats.get(state.format);
    const range = ranges.get(limits);
    const found = survive(layer, limits, scale);
    const error = errorAt(layer, limits, scale);
    const label = describeSurvival(found, limits.name, scale, error);
    if (state.tab === "gradients") {
      bathtub.update({ layer, others: layers.filter((one) => one !== layer), limits, scale, error,
        width });
    }
    chart.update({ layer, limits, range, scale, found, width, label,
      size: Math.log2(Math.abs(followed)) });
    layers.forEach((one, index) => {
      const its = errorAt(one, limits, scale);
      setText(which.options[index], shortName(one.name) + (its === null ? ""
        : ` · ${errorText(its)}`));
    });
    setText(rest, describeRest(found));
    const fate = follow.update({ limits, scale, followed });
    speaker.say(words || `${fate} ${label}`);
  }
  function refresh() {
    const { layer, tab, growth } = state;
    const limits = formats.get(state.format);
    tabs.choose(tab);
    if (tab === "controller") player.update({ layer, limits, growth, width });
    else {
      player.stop();
      show(state.scale);
    }
  }
  function fit(next) {
    width = next;
    element.style.setProperty("--width", `${width}px`);
    element.classList.toggle("slim", width < SLIM);
    element.classList.toggle("wide", width >= WIDE);
    refresh();
  }
  setProperty(chosen, "hidden", layers.length === 1);
  refresh();
  return { element, measured: tabs.element, fit };
}

attach("scalescope", CSS, build);
