// The codec of the formats: exact values to bit patterns and back. No DOM.
//
// A code is the bit pattern of a format as a BigInt. Codes leave JavaScript as hex strings: a
// Number would lose bits of long ones. For what a Value is, see values.js; entries.js reads texts,
// and throws EntryError.

const makeCodec = (() => {
  const { strip, scaled, floorLog2, finite, infinity, nan } = Exact;
  const { negate, add, sub, mul, div, compare, exact, short, number } = Exact;
  const { CODE, quote, trimmed, isCode, parse } = Entries;
  const ROUNDINGS = ["nearest_even", "nearest_away", "toward_zero", "up", "down"];

  // formatList: one row per format, as Python derives them:
  // {name, bits, exponent_bits, fraction_bits, bias, has_infinity, largest_code, nan_code}.
  function makeCodec(formatList) {
    const formats = new Map();
    for (const row of formatList) {
      formats.set(row.name, {
        name: row.name,
        bits: row.bits,
        exponentBits: row.exponent_bits,
        fractionBits: row.fraction_bits,
        bias: row.bias,
        hasInfinity: row.has_infinity,
        largest: BigInt(row.largest_code),
        nanCode: row.nan_code === null ? null : BigInt(row.nan_code),
        signBit: 1n << BigInt(row.bits - 1),
      });
    }

    const formatOf = (name) => {
      const format = formats.get(name);
      if (!format) throw new RangeError(`There is no format ${name}.`);
      return format;
    };

    const noNan = (format) =>
      new EntryError(`${format.name} has no NaN: choose a number, or a format that has NaN.`);

    // Too large: infinity, else NaN, else the largest value.
    const tooLarge = (format) =>
      format.hasInfinity ? format.largest + 1n : (format.nanCode ?? format.largest);

    const magnitude = (value, format, rounding, saturate) => {
      if (value.kind === "nan") {
        if (format.nanCode === null) throw noNan(format);
        return format.nanCode;
      }
      if (value.kind === "infinity") return saturate ? format.largest : tooLarge(format);
      if (value.num === 0n) return 0n;
      const lowest = 1 - format.bias;
      const e = Math.max(floorLog2(value.num, value.den), lowest);
      const { whole, rest, unit } = scaled(value.num, value.den, 2n, format.fractionBits - e);
      const towardZero =
        rounding === "toward_zero" || (rounding === "up" && value.negative) ||
        (rounding === "down" && !value.negative);
      let away = rest > 0n && !towardZero;
      if (rounding === "nearest_even" || rounding === "nearest_away") {
        const toTie = 2n * rest - unit;
        away = toTie > 0n || (toTie === 0n && (rounding === "nearest_away" || whole % 2n === 1n));
      }
      // The leading bit of `whole` adds one to the exponent field; so does a carry out of it.
      const field = BigInt(e - lowest) << BigInt(format.fractionBits);
      const code = field + whole + (away ? 1n : 0n);
      if (code <= format.largest) return code;
      return saturate || towardZero ? format.largest : tooLarge(format);
    };

    function encode(value, formatName, rounding = "nearest_even", saturate = false) {
      if (!ROUNDINGS.includes(rounding)) throw new RangeError(`There is no rounding ${rounding}.`);
      const format = formatOf(formatName);
      const code = magnitude(value, format, rounding, saturate);
      return value.negative ? code | format.signBit : code;
    }

    function decode(code, formatName) {
      const format = formatOf(formatName);
      const { bits, exponentBits, fractionBits, bias, signBit, largest } = format;
      const text = code.toString(2).padStart(bits, "0");
      const negative = (code & signBit) !== 0n;
      const size = code & (signBit - 1n);
      const exponentField = Number(size >> BigInt(fractionBits));
      const fractionField = size & ((1n << BigInt(fractionBits)) - 1n);
      // The value is significand * 2**step, and 2**step is the unit in the last place.
      const step = Math.max(exponentField, 1) - bias - fractionBits;
      const hidden = exponentField ? 1n << BigInt(fractionBits) : 0n;
      const significand = hidden + fractionField;
      let kind = exponentField ? "normal" : size ? "subnormal" : "zero";
      let value = power(negative, significand, step);
      if (size > largest) {
        kind = format.hasInfinity && size === largest + 1n ? "infinity" : "nan";
        value = kind === "nan" ? nan(negative) : infinity(negative);
      }
      return {
        format: formatName,
        code,
        sign: text.slice(0, 1),
        exponent: text.slice(1, 1 + exponentBits),
        fraction: text.slice(1 + exponentBits),
        hex: `0x${code.toString(16).toUpperCase().padStart(Math.ceil(bits / 4), "0")}`,
        kind,
        value,
        ulp: size > largest ? null : power(false, 1n, step),
      };
    }

    // significand * 2**step as a Value in lowest terms, so that long sums stay small.
    const power = (negative, significand, step) => {
      if (step >= 0 || significand === 0n) {
        return finite(negative, significand << BigInt(Math.max(step, 0)), 1n);
      }
      const [odd, twos] = strip(significand, 2n);
      const up = Math.max(0, twos + step);
      return finite(negative, odd << BigInt(up), 1n << BigInt(Math.max(0, -step - twos)));
    };

    // The neighbors as nextafter gives them, so −0 is passed on the way up; null for none.
    function step(code, formatName, down) {
      const format = formatOf(formatName);
      const size = code & (format.signBit - 1n);
      const last = format.hasInfinity ? format.largest + 1n : format.largest;
      if (size > last) return null; // NaN
      const signOfDirection = down ? format.signBit : 0n;
      if (size === 0n) return 1n | signOfDirection;
      if ((code & format.signBit) !== signOfDirection) return code - 1n; // toward zero
      return size === last ? null : code + 1n;
    }

    function next(code, formatName) {
      return step(code, formatName, false);
    }

    function previous(code, formatName) {
      return step(code, formatName, true);
    }

    function parseCode(text, formatName) {
      const format = formatOf(formatName);
      const entry = trimmed(text);
      if (!CODE.test(entry)) {
        throw new EntryError(`${quote(entry)} is not a code: give text like 0x3C00 or 0b0110.`);
      }
      const code = BigInt(entry);
      if (code >> BigInt(format.bits) !== 0n) {
        const largest = ((1n << BigInt(format.bits)) - 1n).toString(16).toUpperCase();
        throw new EntryError(
          `${format.name} has ${format.bits} bits, so its codes go from 0 to 0x${largest}: ` +
            `${quote(entry)} is outside.`,
        );
      }
      return code;
    }

    return {
      formats, ROUNDINGS, isCode, parse, parseCode, encode, decode, next, previous,
      add, sub, mul, div, negate, compare, exact, short, number,
    };
  }

  return makeCodec;
})();
