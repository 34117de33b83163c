// ScaleScope: gradients against a format's range. State lives in here, per host.

// Build one ScaleScope into a shadow root from the host's data.
function startScaleScope(root, data) {
  const formats = new Map(data.formats.map((limits) => [limits.name, limits]));
  const layers = data.layers.map(unpack);
  const whole = addUp(layers);
  const state = { format: data.format, scale: data.scale, growth: data.growth, tab: data.tab };
  const known = new Map(); // format → what does not depend on the scale
  let width = 640;
  let started = false; // nothing is said while the page loads

  const speaker = makeSpeaker();
  let said = "";
  const say = (text) => {
    if (started && text !== said) speaker.say(text);
    said = text;
  };
  const set = (change) => {
    Object.assign(state, change);
    refresh();
  };
  const toolbar = makeToolbar([...formats.keys()], state, { format: (format) => set({ format }) });
  const scale = makeScale({ scale: (exponent) => set({ scale: exponent }) });
  const chart = makeChart(whole);
  const readout = makeReadout();
  const ladder = layers.length > 1 ? makeLadder(layers) : null;
  const table = makeTable(whole);
  const player = makePlayer(whole, { growth: (growth) => set({ growth }), say });
  const panel = make("div", { class: "gradients" }, scale.element,
    make("div", { class: "picture" }, chart.element), readout.element,
    ...(ladder ? [ladder.element] : []), table.element);
  const tabs = makeTabs({
    gradients: { title: "Gradients", element: panel },
    controller: { title: "Controller", element: player.element },
  }, (tab) => set({ tab }));
  const box = make("div", { class: "scalescope" }, toolbar.element, tabs.element,
    speaker.element);
  root.append(make("style", {}, CSS), box);
  guardKeys(root);

  function factsOf(format) {
    if (!known.has(format)) {
      const limits = formats.get(format);
      known.set(format, { limits, range: rangeOf(whole, limits), best: bestScales(whole, limits),
        farRange: rangeOfAll(whole, limits), farBest: bestScales(whole, limits, ALL_SCALES) });
    }
    return known.get(format);
  }
  // A remark where the bands lie outside the picture.
  function remark({ limits, best }) {
    const { tight } = best;
    const always = tight && tight.from <= 0 && tight.to >= LARGEST_SCALE;
    return always ? `All of it is inside the normal range of ${limits.name} at every scale here.`
      : "";
  }

  function refresh() {
    const facts = factsOf(state.format);
    const { limits, range, best } = facts;
    toolbar.update(remark(facts));
    tabs.choose(state.tab);
    if (state.tab === "controller") {
      player.update({ limits, range: facts.farRange, best: facts.farBest, growth: state.growth,
        width });
      return;
    }
    player.stop();
    const found = survive(whole, limits, state.scale);
    const label = describeSurvival(found, limits.name, state.scale);
    const view = { limits, range, scale: state.scale, found, width, label };
    scale.update(state.scale, best, whole, limits);
    chart.update(view);
    readout.update(found);
    ladder?.update(view);
    table.update(view);
    say(label);
  }

  function fit(next) {
    const rounded = Math.floor(next);
    if (!rounded || rounded === width) return;
    width = rounded;
    box.classList.toggle("slim", width < SLIM);
    refresh();
  }
  refresh();
  fit(tabs.element.clientWidth);
  new ResizeObserver(([entry]) => fit(entry.contentRect.width)).observe(tabs.element);
  started = true;
}

for (const host of document.querySelectorAll("[data-scalescope]")) {
  if (host.shadowRoot) continue;
  const data = JSON.parse(host.querySelector('script[type="application/json"]').textContent);
  startScaleScope(host.attachShadow({ mode: "open" }), data);
}
