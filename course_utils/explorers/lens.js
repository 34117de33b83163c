// The lens: the number line around x, cut into the bins that round to one value each.

const LENS = { lane: 26, main: 48, labels: 24, head: 100, top: 34, grain: 32n };
const SLIDE = 8; // pixels sideways, before a finger moves x: it may be about to scroll the page

/**
 * The lens tab. on: {move(value)} when x is dragged or moved by keys.
 * → {element, update({x, selected, shown, mode})}
 */
function makeLens(codec, on) {
  const svg = draw("svg", { class: "lens", role: "group", "aria-label": "number line around x" });
  const note = make("p", { class: "note" });
  const element = make("div", { class: "lens-panel" }, svg, note);
  const lanes = draw("g");
  const line = draw("path", { class: "x-line", "aria-hidden": "true" });
  const flag = draw("text", {
    class: "x-text", "text-anchor": "middle", y: 12, "aria-hidden": "true" });
  const knob = draw("g", {
    role: "slider", tabindex: "0", class: "knob", "aria-label": "x, the number to round" },
    draw("circle", { r: 11, class: "halo" }), draw("circle", { r: 7 }));
  svg.append(lanes, line, flag, knob);
  let view = null; // what update got
  let piece = null; // the window {low, high, unit, format}
  let width = 640;

  const inside = () => width - LENS.head - 10;
  const share = (value) => nearNumber(
    codec.div(codec.sub(value, piece.low), codec.sub(piece.high, piece.low)));
  const placeOf = (value) => LENS.head + share(value) * inside();

  function choosePiece() {
    const { x, selected } = view;
    if (piece?.format === selected && piece.held) return;
    if (piece?.format === selected) {
      const at = share(x);
      if (at > 0.08 && at < 0.92) return;
    }
    const last = codec.decode(codec.formats.get(selected).largest, selected);
    const limit = codec.add(last.value, codec.mul(last.ulp, TWO));
    const far = codec.compare(magnitude(x), limit) > 0;
    const end = x.negative ? codec.negate(last.value) : last.value;
    piece = { ...windowAround(codec, selected, far ? end : x), format: selected };
  }

  /** The value that a finite x becomes in a format. */
  function becomes(name) {
    const { rounding, saturate } = view.mode;
    return codec.decode(codec.encode(view.x, name, rounding, saturate), name).value;
  }
  function isHere(bin, stored) {
    if (bin.value && stored.kind === "finite") return codec.compare(bin.value, stored) === 0;
    const below = bin.from === null; // beyond the negative end
    return !bin.value && stored.kind !== "finite" && below === view.x.negative;
  }

  /**
   * One lane: its bins in two tints, a tick per value, and labels where there is room.
   * → {lane, bin}: the lane for redraw, and the bin of x in the main one.
   */
  function drawLane(name, top, height, isMain) {
    const [left, right] = [LENS.head, LENS.head + inside()];
    const middleOf = top + height / 2 + 4;
    const box = { x: left, y: top, width: right - left, height };
    const marks = [["text", { x: 0, y: middleOf, class: "lane-name" }, name]];
    const drawn = {
      lane: ["g", { class: isMain ? "lane main" : "lane", "data-lane": name }, marks] };
    const bins = binsBetween(codec, name, view.mode, piece.low, piece.high);
    if (bins === null) {
      const note = ["text", { y: middleOf, class: "lane-note" }, "too dense to draw"];
      marks.push(["rect", { ...box, class: "dense" }]);
      if (placeText(note, (left + right) / 2, left, right)) marks.push(note);
      return drawn;
    }
    const stored = becomes(name);
    const digits = digitsBetween(codec, name, piece);
    const clip = (place) => Math.max(left, Math.min(right, place));
    const fills = ["", ""];
    const labels = [];
    let [beyond, ticks, here] = ["", "", ""];
    for (const bin of bins) {
      const from = bin.from === null ? left : clip(placeOf(bin.from));
      const to = bin.to === null ? right : clip(placeOf(bin.to));
      if (to <= from) continue;
      const shape = rectangle(from, to, top, height);
      const tick = bin.value ? placeOf(bin.value) : NaN;
      if (bin.value) fills[bin.odd] += shape;
      else beyond += shape;
      const mine = isHere(bin, stored);
      if (mine && isMain) {
        here = shape;
        drawn.bin = bin;
      }
      if (tick >= left && tick <= right) {
        ticks += `M${tick.toFixed(1)},${top + height}v${isMain ? -14 : -5}`;
      }
      labels.push({ bin, from, to, tick, mine });
    }
    marks.push(
      ["path", { class: "even", d: fills[0] }], ["path", { class: "odd", d: fills[1] }],
      ["path", { class: "beyond", d: beyond }], ["rect", { ...box, class: "lane-box" }],
      ["path", { class: "here", d: here }], ["path", { class: "ticks", d: ticks }]);
    labels.sort((one, other) => Number(other.mine) - Number(one.mine));
    const taken = [];
    for (const { bin, from, to, tick, mine } of labels) {
      const text = bin.value ? tickText(bin.value, digits) : bin.text;
      const label = ["text", { y: middleOf,
        class: `bin-text${bin.value ? "" : " beyond-text"}${mine ? " here-text" : ""}` }, text];
      const half = text.length * 3.8 + 3;
      if (isMain && bin.value) {
        const place = Math.max(left, Math.min(width - half, tick));
        const free = taken.every((other) => Math.abs(other.place - place) > other.half + half + 4);
        if (!(tick >= left - 1 && tick <= right + 1) || !free) continue;
        taken.push({ place, half });
        Object.assign(label[1], { x: place, y: top + height + 17 });
      } else {
        const wide = to - from >= 2 * half + 4;
        const placed = (wide && placeText(label, (from + to) / 2, from, to, half))
          || (mine && !isMain && placeText(label, (from + to) / 2, left, right, half));
        if (!placed) continue;
      }
      marks.push(label);
    }
    return drawn;
  }

  /** A tick's number, in digits that tell it from the next tick's. */
  const tickText = (value, digits) =>
    readable(codec, value, value.negative ? 13 : 12, digits).replace("≈ ", "");

  /** Put a text at a place between from and to, beside the line of x; false if it fits nowhere. */
  function placeText([, attributes, text], place, from, to, half = text.length * 3.4) {
    const line = placeOfX();
    let at = Math.max(LENS.head + half, Math.min(width - half - 8, place));
    if (Math.abs(at - line) < half + 5) {
      const [before, after] = [line - half - 6, line + half + 6];
      const fits = (spot) => spot - half > from && spot + half < to;
      if (fits(after) && (after - at <= at - before || !fits(before))) at = after;
      else if (fits(before)) at = before;
      else return false;
    }
    attributes.x = at;
    return true;
  }
  function placeOfX() {
    return Math.max(LENS.head, Math.min(LENS.head + inside(), placeOf(view.x)));
  }

  const rectangle = (from, to, top, height) =>
    `M${from.toFixed(1)},${top}H${to.toFixed(1)}v${height}H${from.toFixed(1)}z`;

  function render() {
    const { x, selected, shown, mode } = view;
    const drawable = x.kind === "finite";
    svg.toggleAttribute("hidden", !drawable);
    if (!drawable) {
      const what = x.kind === "nan" ? "NaN is not" : "Infinity has no place";
      return setText(note, `${what} on the number line: enter a number to see its neighbors.`);
    }
    choosePiece();
    const others = shown.filter((name) => name !== selected);
    const below = LENS.top + LENS.main + LENS.labels;
    const height = below + others.length * LENS.lane;
    setOne(svg, "viewBox", `0 0 ${width} ${height}`);
    setOne(svg, "height", height);
    const main = drawLane(selected, LENS.top, LENS.main, true);
    redraw(lanes, [main, ...others.map((name, index) =>
      drawLane(name, below + index * LENS.lane, LENS.lane - 4, false))].map(({ lane }) => lane));
    const place = placeOfX();
    line.setAttribute("d", `M${place},18V${LENS.top + LENS.main}`
      + (others.length ? `M${place},${below}V${height - 4}` : ""));
    knob.setAttribute("transform", `translate(${place},${LENS.top - 8})`);
    const digits = digitsBetween(codec, selected, piece);
    const text = readable(codec, x, 18, Math.max(9, digits + 2));
    const name = text.startsWith("≈") ? `x ${text}` : `x = ${text}`;
    const at = share(x);
    setText(flag, at > 1 ? `${name} →` : at < 0 ? `← ${name}` : name);
    const half = flag.textContent.length * 4 + 2;
    flag.setAttribute("x", Math.max(half, Math.min(width - half, place)));
    const told = main.bin ? `${binSentence(codec, selected, mode, main.bin, digits)} ` : "";
    setText(note, `${told}Drag x, or focus it and press ← or →.`);
    describe(text, at);
    return undefined;
  }

  /** What the slider's state is, for assistive technology: x in words, its place in percent. */
  function describe(text, at) {
    const { selected } = view;
    const result = readable(codec, becomes(selected), 24);
    // ARIA wants decimals, and 6e-8 is none.
    setOne(knob, "aria-valuemin", 0);
    setOne(knob, "aria-valuemax", 100);
    setOne(knob, "aria-valuenow", Math.round(1000 * Math.max(0, Math.min(1, at))) / 10);
    setOne(knob, "aria-valuetext", `${text}, in ${selected} ${result}`);
  }

  knob.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const counts = {
      ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -16, PageUp: 16 };
    const ends = { Home: piece.low, End: piece.high };
    if (event.key in counts) {
      on.move(nudged(codec, view.selected, view.x, counts[event.key], LENS.grain));
    } else if (event.key in ends) on.move(ends[event.key]);
    else return;
    event.preventDefault();
  });

  function follow(event) {
    const box = svg.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * width;
    const part = Math.max(0, Math.min(1, (place - LENS.head) / inside()));
    const span = codec.sub(piece.high, piece.low);
    const portion = dyadic(BigInt(Math.round(part * 2 ** 20)), -20);
    const exactly = codec.add(piece.low, codec.mul(span, portion));
    const grain = codec.div(piece.unit, dyadic(LENS.grain));
    on.move(stepsFromZero(floorDivide(codec.add(exactly, codec.div(grain, TWO)), grain), grain));
  }
  let touch = null; // where a finger began, until it slides
  const slides = ({ clientX, clientY }) => {
    const [dx, dy] = [Math.abs(clientX - touch.clientX), Math.abs(clientY - touch.clientY)];
    return dx >= SLIDE && dx > dy;
  };
  const taps = ({ clientX, clientY }) =>
    Math.hypot(clientX - touch.clientX, clientY - touch.clientY) < SLIDE;
  svg.addEventListener("pointerdown", (event) => {
    const place = event.clientX - svg.getBoundingClientRect().left;
    if (event.button !== 0 || place < LENS.head - 12) return;
    event.preventDefault();
    piece.held = true;
    svg.setPointerCapture(event.pointerId);
    knob.focus({ preventScroll: true });
    touch = event.pointerType === "touch" ? event : null;
    if (!touch) follow(event);
  });
  svg.addEventListener("pointerup", (event) => {
    if (piece?.held && touch && taps(event)) follow(event);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!piece?.held || !svg.hasPointerCapture(event.pointerId)) return;
    if (touch && !slides(event)) return;
    touch = null;
    follow(event);
  });
  svg.addEventListener("lostpointercapture", () => {
    piece.held = false;
    render();
  });

  function update(next) {
    view = next;
    render();
  }
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (!now || now === width) return;
    width = now;
    if (view) render();
  }).observe(element);

  return { element, update };
}
