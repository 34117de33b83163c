// ScaleScope: one gradient and all of them against a format's range. State lives in here, per host.

import { rangeOf } from "./bands.mjs";
import { makeBathtub } from "./bathtub.mjs";
import { makeChart } from "./chart.mjs";
import { labelled, make, makeTabs, setProperty, setText } from "./dom.mjs";
import { explore, makeMenu } from "./drawing.mjs";
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

  const format = makeMenu(formats.map(({ name }) => name), (index) =>
    set({ limits: formats[index] }));
  const which = makeMenu(layers.map(({ name }) => shortName(name)), (index) =>
    set({ layer: layers[index] }));
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
  const toolbar = make("div.options", labelled("format", format), ofLayer);
  const picture = make("div.picture", chart.element,
    make("p.note", rest, make("span", "size after scaling · press to follow another gradient")));

  function look(width) {
    const view = { ...state, layers, width, range: ranges.get(state.limits) };
    const { layer, limits, tab: name } = view;
    tabs.choose(name);
    if (name === "controller") Object.assign(view, player.update(view));
    else player.stop();
    const { scale } = view;
    view.counts = survive(layer, limits, scale);
    view.error = errorAt(layer, limits, scale);
    view.label = describeSurvival(view.counts, limits.name, scale, view.error);
    if (name === "gradients") bathtub.update(view);
    chart.update(view);
    layers.forEach((one, index) => {
      const error = errorAt(one, limits, scale);
      setText(which.options[index], shortName(one.name)
        + (error === null ? "" : ` · ${errorText(error)}`));
    });
    setText(rest, describeRest(view.counts));
    const fate = follow.update(view);
    return view.words ?? `${fate} ${view.label}`;
  }
  return { state, look, parts: [toolbar, tabs.element, picture, follow.element] };
}

explore("scalescope", CSS, buildScope);
