// What somebody types as a number, read exactly. Limits, words and sentences are those of
// course_utils/entry.py.

/** An entry that cannot be read; the message is one sentence for the learner. */
class EntryError extends Error {}

const Entries = (() => {
  const { finite, infinity, nan } = Exact;
  const LONGEST = 2000; // characters
  const TEN = 5000; // powers beyond these are far outside every format
  const TWO = 20000;
  const PI = "3.1415926535897932384626433832795028841971";
  const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g; // of code units that are one character
  const BLANKS = " \t\r\n\u00a0";
  const DECIMAL = /^(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?$/;
  const POWER_OF_TWO = /^2(?:\^|\*\*)([+-]?[0-9]+)$/;
  const CODE = /^0(?:[xX][0-9a-fA-F]+|[bB][01]+)$/;
  const ACCEPTED = "a decimal number such as 0.1 or -6.5e-8, a power such as 2^-24, pi, inf or nan";

  const quote = (text) => {
    const characters = Array.from(text.slice(0, 100));
    const shown = characters.length > 40 ? characters.slice(0, 37).join("") + "..." : text;
    return `"${shown.replace(/(?! )[\p{C}\p{Z}]/gu, "?")}"`;
  };

  const bounded = (digits, limit) => Math.max(-limit, Math.min(limit, Number(digits)));

  // The entry without the blanks around it.
  const trimmed = (text) => {
    let [from, to] = [0, text.length];
    while (from < to && BLANKS.includes(text[from])) from += 1;
    while (from < to && BLANKS.includes(text[to - 1])) to -= 1;
    const entry = text.slice(from, to);
    const count = entry.length - (entry.match(PAIRS) ?? []).length;
    if (count > LONGEST) {
      const [given, most] = [count, LONGEST].map((n) => n.toLocaleString("en-US"));
      throw new EntryError(
        `The entry has ${given} characters: give at most ${most}.`,
      );
    }
    return entry;
  };

  // Whether a text is meant as a code ("0x…", "0b…"), to be read with parseCode.
  function isCode(text) {
    return /^[ \t\r\n\u00a0]*[+-]?0[xb]/i.test(text);
  }

  function parse(text) {
    const entry = trimmed(text);
    const plain = entry.replaceAll("−", "-");
    const negative = plain.startsWith("-");
    const body = plain.replace(/^[+-]/, "");
    if (/^nan$/i.test(body)) return nan(negative);
    if (/^(?:inf|infinity|∞)$/i.test(body)) return infinity(negative);
    const power = POWER_OF_TWO.exec(body);
    if (power) {
      const e = bounded(power[1], TWO);
      return e < 0 ? finite(negative, 1n, 1n << BigInt(-e)) : finite(negative, 1n << BigInt(e), 1n);
    }
    const decimal = DECIMAL.exec(body === "π" || /^pi$/i.test(body) ? PI : body);
    if (!decimal) throw new EntryError(complaint(entry));
    const fraction = decimal[2] || decimal[3] || "";
    const digits = BigInt((decimal[1] || "") + fraction);
    const ten = bounded(decimal[4] || 0, TEN) - fraction.length;
    return ten < 0
      ? finite(negative, digits, 10n ** BigInt(-ten))
      : finite(negative, digits * 10n ** BigInt(ten), 1n);
  }

  const complaint = (entry) => {
    if (entry === "") return `The entry is empty: give ${ACCEPTED}.`;
    if (entry.includes(",") && /^[+\-−]?[0-9]/.test(entry)) {
      return `${quote(entry)} has a comma: write a point for decimals and nothing for thousands.`;
    }
    if (isCode(entry)) {
      return `${quote(entry)} is a code and not a number: give it to decode, with its format.`;
    }
    return `${quote(entry)} is not a number: give ${ACCEPTED}.`;
  };

  return { CODE, quote, trimmed, isCode, parse };
})();
