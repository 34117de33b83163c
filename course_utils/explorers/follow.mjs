// One gradient on its way: scaled, rounded to the bits of a format, and divided again.

import { makeBits } from "./bits.mjs";
import { NEAREST, makeFormat, read } from "./codec.mjs";
import { make, makeEntry, setChildren, setOne, setText } from "./dom.mjs";
import { errorText, numberText, raised } from "./words.mjs";

// Three digits of a number as it is written: what is shown is what is followed.
export const rounded = (value) => Number(value.toPrecision(3));

// choose(number) asks for another gradient. → {element, update({limits, scale, followed})}, which
// gives what becomes of it, in words.
export function makeFollow(choose) {
  let current = null; // the gradient that is followed
  function take(text) {
    const number = read(text)?.near;
    const wrong = !Number.isFinite(number) || number === 0;
    const entry = text.trim() ? `"${text.trim()}"` : "An empty field";
    tell(wrong ? `${entry} is not a gradient to follow: `
      + "give a finite number other than 0, such as 6e-8, -1.5 or 2^-24. "
      + `The pictures still show g = ${current}.` : null);
    if (!wrong) choose(number);
  }
  const { field, message, tell } = makeEntry("gradient to follow", take,
    (stale) => element.classList.toggle("wrong", stale));
  field.maxLength = 40;
  field.addEventListener("blur", () => { if (!field.ariaInvalid) show(); });
  const caption = (...content) => make("div.caption", ...content);
  const [times, over, kind, scaled, back] = [caption(), caption(), make("span"),
    make("b.scaled"), make("b.back")];
  const told = make("b");
  const digits = make("div", { role: "img" });
  const element = make("div.follow", { role: "group", "aria-label": "one gradient" },
    make("div.station.start",
      caption(make("span.here", { "aria-hidden": "true" }, "▲ "), "one gradient g"), field),
    make("div.station.way", times, scaled), message,
    make("div.station.bits", caption("stored as ", kind), digits),
    make("div.station.end", over, back, " ", told));
  const formats = new Map(); // what was shown: {format, strip}
  function show() {
    field.value = current;
    tell(null);
  }

  function update({ limits, scale, followed }) {
    const isNew = current !== followed;
    current = followed;
    if (isNew && element.getRootNode().activeElement !== field) show();
    if (!formats.has(limits)) {
      const format = makeFormat(limits);
      formats.set(limits, { format, strip: makeBits(format) });
    }
    const { format, strip } = formats.get(limits);
    const stored = format.round(followed * 2 ** scale, NEAREST);
    strip.show(stored);
    setChildren(digits, [strip.element]);
    const text = `${stored.sign} ${stored.exponent} ${stored.fraction}`;
    const result = stored.value / 2 ** scale;
    const off = Math.abs(result / followed - 1) * 100;
    const isLost = stored.kind === "zero" || !Number.isFinite(result);
    const words = isLost ? "lost" : off ? `${errorText(off)} off` : "exact";
    const name = stored.kind.replace("nan", "NaN");
    setOne(digits, "aria-label", text);
    setOne(kind, "class", `kind ${stored.kind}`);
    setOne(told, "class", isLost ? "told lost" : "told");
    setText(kind, name);
    setText(times, `× ${raised(scale)} =`);
    setText(over, `÷ ${raised(scale)} =`);
    setText(scaled, numberText(followed * 2 ** scale));
    setText(back, numberText(result, 5));
    setText(told, words);
    return `${numberText(followed)} is stored as ${text}, ${name}; divided again ${words}.`;
  }
  return { element, update };
}
