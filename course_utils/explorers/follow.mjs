// One gradient on its way: scaled, rounded to the bits of a format, and divided again.

import { makeBits } from "./bits.mjs";
import { NEAREST, makeFormat, read } from "./codec.mjs";
import { make, makeEntry, setChildren } from "./dom.mjs";
import { errorText, numberText, raised } from "./words.mjs";

// Three digits of a number as it is written: what is shown is what is followed.
export const rounded = (value) => Number(value.toPrecision(3));

// choose(number) asks for another gradient. → {element, update({limits, scale, followed})}, which
// gives what becomes of it, in words.
export function makeFollow(choose) {
  let current = null; // the gradient that is followed
  function take(text) {
    const number = read(text);
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
  const station = (name, caption, ...content) => make(`div.station.${name}`,
    make("div.caption", ...caption), ...content);
  const start = station("start", [make("span.here", { "aria-hidden": "true" }, "▲ "),
    "one gradient g"], field);
  const element = make("div.follow", { role: "group", "aria-label": "one gradient" },
    start, make("div"), message);
  function show() {
    field.value = current;
    tell(null);
  }

  function update({ limits, scale, followed }) {
    const isNew = current !== followed;
    current = followed;
    if (isNew && element.getRootNode().activeElement !== field) show();
    const format = makeFormat(limits);
    const stored = format.round(followed * 2 ** scale, NEAREST);
    const strip = makeBits(format);
    strip.show(stored);
    const digits = `${stored.sign} ${stored.exponent} ${stored.fraction}`;
    const result = stored.value / 2 ** scale;
    const off = Math.abs(result / followed - 1) * 100;
    const isLost = stored.kind === "zero" || !Number.isFinite(result);
    const words = isLost ? "lost" : off ? `${errorText(off)} off` : "exact";
    const name = stored.kind.replace("nan", "NaN");
    setChildren(element, [start,
      station("way", [`× ${raised(scale)} =`],
        make("b.scaled", numberText(followed * 2 ** scale))),
      message,
      station("bits", ["stored as ", make(`span.kind.${stored.kind}`, name)],
        make("div", { role: "img", "aria-label": digits }, strip.element)),
      station("end", [`÷ ${raised(scale)} =`], make("b.back", numberText(result, 5)), " ",
        make(isLost ? "b.told.lost" : "b.told", words))]);
    return `${numberText(followed)} is stored as ${digits}, ${name}; divided again ${words}.`;
  }
  return { element, update };
}
