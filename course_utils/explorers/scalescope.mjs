// ScaleScope: one gradient and all of them against a format's range. State lives in here, per host.

import { rangeOf } from "./bands.mjs";
import { makeBathtub } from "./bathtub.mjs";
import { makeChart } from "./chart.mjs";
import { labelled, make, makeSelect, makeTabs, setProperty, setText } from "./dom.mjs";
import { explore } from "./drawing.mjs";
import { makeFollow, rounded } from "./follow.mjs";
import { makePlayer } from "./player.mjs";
import { clamp } from "./plot.mjs";
import { errorAt, survive } from "./survival.mjs";
import { describeRest, describeSurvival, errorText, shortName } from "./words.mjs";

// A gradient that float16 loses without a scale, if there is one; its fraction is 1001 1001 1…
const tellingOne = ({ first, counts }) => rounded(
  1.6 * 2 ** (counts.length ? clamp(-27, first, first + counts.length - 1) : -27));

// Build one ScaleScope from the host's data.
function buildScope({ layers, formats, growth, tab }, set) {
  const [whole] = layers;
  const state = { limits: formats[0], scale: 0, growth, tab, layer: whole,
    followed: tellingOne(whole) };
  const ranges = new Map(formats.map((limits) => [limits, rangeOf(whole, limits)]));

  const select = makeSelect(formats.map(({ name }) => [name, name]), state.limits.name,
    (chosen) => set({ limits: formats.find(({ name }) => name === chosen) }));
  const which = makeSelect(layers.map(({ name }, index) => [index, shortName(name)]), 0,
    (index) => set({ layer: layers[index] }));
  const ofLayer = labelled("gradients of", which);
  setProperty(ofLayer, "hidden", layers.length === 1);
  const bathtub = makeBathtub((scale) => set({ scale }));
  const player = makePlayer(set, growth);
  const tabs = makeTabs({
    gradients: { title: "You set S", element: bathtub.element },
    controller: { title: "A controller sets S", element: player.element },
  }, (name) => set({ tab: name }));
  const chart = makeChart((octave) => set({ followed: rounded(2 ** octave) }));
  const rest = make("span");
  const follow = makeFollow((followed) => set({ followed }));
  const toolbar = make("div.options", labelled("format", select), ofLayer);
  const picture = make("div.picture", chart.element,
    make("p.note", rest, make("span", "size after scaling · press to follow another gradient")));

  function look(width) {
    const { layer, limits, followed } = state;
    tabs.choose(state.tab);
    let { scale } = state;
    let words = "";
    if (state.tab === "controller") {
      ({ scale, words } = player.update({ layer, limits, growth: state.growth, width }));
    } else player.stop();
    const counts = survive(layer, limits, scale);
    const error = errorAt(layer, limits, scale);
    const label = describeSurvival(counts, limits.name, scale, error);
    if (!words) {
      bathtub.update({ layer, others: layers.filter((one) => one !== layer), limits, scale, error,
        width });
    }
    chart.update({ layer, limits, range: ranges.get(limits), scale, counts, width, label,
      size: Math.log2(Math.abs(followed)) });
    layers.forEach((one, index) => {
      const its = errorAt(one, limits, scale);
      setText(which.options[index], shortName(one.name) + (its === null ? ""
        : ` · ${errorText(its)}`));
    });
    setText(rest, describeRest(counts));
    const fate = follow.update({ limits, scale, followed });
    return words || `${fate} ${label}`;
  }
  return { state, look, parts: [toolbar, tabs.element, picture, follow.element] };
}

explore("scalescope", CSS, buildScope);
