// One gradient on its way: scaled, rounded to the bits of a format, and divided again.

import { makeBits } from "./bits.mjs";
import { NEAREST, makeFormat, read } from "./codec.mjs";
import { isCommand, make, makeComplaint, setChildren, setOne, setText } from "./dom.mjs";
import { errorText, numberText, scaleText } from "./words.mjs";

// Three digits of a number as it is written: what is shown is what is followed.
export const rounded = (value) => Number(value.toPrecision(3));

// choose(number) asks for another gradient. → {element, update({limits, scale, followed})}, which
// gives what becomes of it, in words.
export function makeFollow(choose) {
  let view = null;
  let wrong = false; // what stands in the field
  function take(number) {
    wrong = !Number.isFinite(number) || number === 0;
    const text = entry.value.trim();
    const given = text ? `"${text}"` : "An empty field";
    complaint.tell(wrong ? `${given} is not a gradient to follow: `
      + "give a finite number other than 0, such as 6e-8, -1.5 or 2^-24. "
      + `The pictures still show g = ${view.followed}.` : null);
    if (!wrong) choose(number);
  }
  const entry = make("input.entry", { type: "text", "aria-label": "gradient to follow",
    spellcheck: "false", autocomplete: "off", maxlength: 40,
    onblur: () => { if (!wrong) write(); },
    onkeydown: (event) => {
      const factor = { ArrowUp: 2, ArrowDown: 0.5 }[event.key];
      if (!factor || isCommand(event)) return;
      event.preventDefault();
      take(rounded(view.followed * factor));
      write();
    } });
  const complaint = makeComplaint(entry, (text) => take(read(text)),
    (stale) => element.classList.toggle("wrong", stale));
  const [scaled, back, told] = ["scaled", "back", "told"].map((name) => make(`b.${name}`));
  const [times, divided] = [make("span"), make("span")];
  const kind = make("span.kind");
  const bits = make("div", { role: "img" });
  const station = (name, caption, ...content) => make(`div.station.${name}`,
    make("div.caption", ...caption), ...content);
  const element = make("div.follow", { role: "group", "aria-label": "one gradient" },
    station("start", [make("span.here", { "aria-hidden": "true" }, "▲ "),
      "one gradient g"], entry),
    station("way", [times], scaled), complaint.element,
    station("bits", ["stored as ", kind], bits),
    station("end", [divided], back, " ", told));
  function write() {
    entry.value = String(view.followed);
    wrong = false;
    complaint.tell(null);
  }

  function update(next) {
    const moved = view?.followed !== next.followed;
    view = next;
    const { limits, scale, followed } = view;
    if (moved && element.getRootNode().activeElement !== entry) write();
    else if (moved) wrong = false;
    const format = makeFormat(limits);
    const stored = format.round(followed * 2 ** scale, NEAREST);
    const strip = makeBits(format);
    strip.show(stored);
    setChildren(bits, [strip.element]);
    const digits = `${stored.sign} ${stored.exponent} ${stored.fraction}`;
    const result = stored.value / 2 ** scale;
    const off = Math.abs(result / followed - 1) * 100;
    const lost = stored.kind === "zero" || !Number.isFinite(result);
    const words = lost ? "lost" : off ? `${errorText(off)} off` : "exact";
    const name = stored.kind.replace("nan", "NaN");
    setText(times, `× ${scaleText(2 ** scale)} =`);
    setText(divided, `÷ ${scaleText(2 ** scale)} =`);
    setText(scaled, numberText(followed * 2 ** scale));
    setText(kind, name);
    setOne(element, "data-kind", stored.kind);
    setText(back, numberText(result, 5));
    setText(told, words);
    told.classList.toggle("lost", lost);
    setOne(bits, "aria-label", digits);
    return `${numberText(followed)} is stored as ${digits}, ${name}; divided again ${words}.`;
  }
  return { element, update };
}
