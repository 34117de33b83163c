// ScaleScope: one gradient and all of them against a format's range. State lives in here, per host.

import { makeLink } from "./address.mjs";
import { rangeOf } from "./bands.mjs";
import { makeBathtub } from "./bathtub.mjs";
import { makeChart } from "./chart.mjs";
import { labelled, make, setText } from "./dom.mjs";
import { explore, makeMenu } from "./drawing.mjs";
import { makeFollow, rounded } from "./follow.mjs";
import { clamp } from "./plot.mjs";
import { errorAt, survive } from "./survival.mjs";
import { describeRest, describeSurvival, errorText, shortName } from "./words.mjs";

// A gradient that float16 loses without a scale, if there is one; its fraction is 1001 1001 1…
const tellingOne = ({ first, counts }) => rounded(
  1.6 * 2 ** (counts.length ? clamp(-27, first, first + counts.length - 1) : -27));

// Build one ScaleScope from the host's data.
function buildScope({ layers, formats }, set) {
  const [whole] = layers;
  const state = { limits: formats[0], scale: 0, layer: whole, followed: tellingOne(whole) };
  const ranges = new Map(formats.map((limits) => [limits, rangeOf(whole, limits)]));

  const format = makeMenu(formats.map(({ name }) => name), (index) =>
    set({ limits: formats[index] }));
  const which = makeMenu(layers.map(({ name }) => shortName(name)), (index) =>
    set({ layer: layers[index] }));
  const ofLayer = labelled("gradients of", which);
  ofLayer.hidden = layers.length === 1;
  const bathtub = makeBathtub((scale) => set({ scale }));
  const chart = makeChart((octave) => set({ followed: rounded(2 ** octave) }));
  const rest = make("span");
  const follow = makeFollow((followed) => set({ followed }));
  const toolbar = make("div.options", labelled("format", format), ofLayer);
  const picture = make("div.picture", chart.element,
    make("p.note", rest, make("span", "size after scaling · press to follow another gradient")));

  function look(width) {
    const { layer, limits, scale } = state;
    const view = { ...state, layers, width, range: ranges.get(limits),
      counts: survive(layer, limits, scale), error: errorAt(layer, limits, scale) };
    view.label = describeSurvival(view.counts, limits.name, scale, view.error);
    bathtub.update(view);
    chart.update(view);
    layers.forEach((one, index) => setText(which.options[index],
      `${shortName(one.name)} · ${errorText(errorAt(one, limits, scale))}`));
    setText(rest, describeRest(view.counts));
    return `${follow.update(view)} ${view.label}`;
  }
  return { state, look, parts: [toolbar, bathtub.element, picture, follow.element,
    makeLink("bathtub.html", () => ({ scale: state.scale, format: state.limits.name,
      of: state.layer.name, follow: state.followed }))] };
}

explore("scalescope", CSS, buildScope);
