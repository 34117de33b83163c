// Exact numbers: arithmetic on them, and their decimal digits. No DOM.
//
// A Value is an exact number; zero keeps its sign:
//   {kind: "finite", negative, num: BigInt >= 0n, den: BigInt > 0n}
//   {kind: "infinity", negative} | {kind: "nan", negative}

const Exact = (() => {
  // Integers

  const bitLength = (n) => {
    const hex = n.toString(16);
    return 4 * hex.length - 4 + 32 - Math.clz32(parseInt(hex[0], 16));
  };

  // [n / p**k, k] for the largest k that divides n > 0, in a number of steps logarithmic in k.
  const strip = (n, p) => {
    if (n % p !== 0n) return [n, 0];
    const [rest, k] = strip(n, p * p);
    return rest % p === 0n ? [rest / p, 2 * k + 1] : [rest, 2 * k];
  };

  // Whole part and remainder of num/den * base**power; the remainder counts in units of `unit`.
  const scaled = (num, den, base, power) => {
    if (power < 0) den *= base ** BigInt(-power);
    else num *= base ** BigInt(power);
    const whole = num / den;
    return { whole, rest: num - whole * den, unit: den };
  };

  // What floor(log2(num/den)) is, for num > 0.
  const floorLog2 = (num, den) => {
    const e = bitLength(num) - bitLength(den);
    const below = e < 0 ? num << BigInt(-e) < den : num < den << BigInt(e);
    return below ? e - 1 : e;
  };

  // Values

  const finite = (negative, num, den) => ({ kind: "finite", negative, num, den });
  const infinity = (negative) => ({ kind: "infinity", negative });
  const nan = (negative = false) => ({ kind: "nan", negative });
  const isZero = (a) => a.kind === "finite" && a.num === 0n;
  const signed = (a) => (a.negative ? -a.num : a.num);

  function negate(a) {
    return { ...a, negative: !a.negative };
  }

  // A sum of a and -a is +0, and −0 only where results are rounded down (IEEE 754).
  function add(a, b, rounding = "nearest_even") {
    if (a.kind === "nan" || b.kind === "nan") return nan();
    if (a.kind === "infinity" && b.kind === "infinity") {
      return a.negative === b.negative ? infinity(a.negative) : nan();
    }
    if (a.kind === "infinity") return infinity(a.negative);
    if (b.kind === "infinity") return infinity(b.negative);
    const same = a.den === b.den;
    const sum = same ? signed(a) + signed(b) : signed(a) * b.den + signed(b) * a.den;
    const zeroSign = a.negative === b.negative ? a.negative : rounding === "down";
    const negative = sum === 0n ? zeroSign : sum < 0n;
    return finite(negative, sum < 0n ? -sum : sum, same ? a.den : a.den * b.den);
  }

  function sub(a, b, rounding = "nearest_even") {
    return add(a, negate(b), rounding);
  }

  function mul(a, b) {
    if (a.kind === "nan" || b.kind === "nan") return nan();
    const negative = a.negative !== b.negative;
    if (a.kind === "infinity" || b.kind === "infinity") {
      return isZero(a) || isZero(b) ? nan() : infinity(negative);
    }
    return finite(negative, a.num * b.num, a.den * b.den);
  }

  function div(a, b) {
    if (a.kind === "nan" || b.kind === "nan") return nan();
    const negative = a.negative !== b.negative;
    if (a.kind === "infinity") return b.kind === "infinity" ? nan() : infinity(negative);
    if (b.kind === "infinity") return finite(negative, 0n, 1n);
    if (isZero(b)) return isZero(a) ? nan() : infinity(negative);
    return finite(negative, a.num * b.den, a.den * b.num);
  }

  // -1, 0 or 1; NaN, which is neither less nor equal nor greater, if an operand is NaN.
  function compare(a, b) {
    if (a.kind === "nan" || b.kind === "nan") return NaN;
    const order = (v) => (v.kind === "finite" ? 0 : v.negative ? -1 : 1);
    const difference =
      a.kind === "finite" && b.kind === "finite"
        ? signed(a) * b.den - signed(b) * a.den
        : order(a) - order(b);
    return difference < 0 ? -1 : difference > 0 ? 1 : 0;
  }

  // Digits

  // The exact decimal, ungrouped, with a true minus sign. A fraction without a finite one (1/3)
  // is cut after 17 digits and ends in "…".
  function exact(value) {
    if (value.kind !== "finite") return short(value);
    const [odd, twos] = strip(value.den, 2n);
    const [other, fives] = strip(odd, 5n);
    if (value.num % other !== 0n) return short(value, 17) + "…";
    const places = Math.max(twos, fives);
    const grown = (value.num / other) * 2n ** BigInt(places - twos) * 5n ** BigInt(places - fives);
    return withPoint(value.negative, grown.toString(), places);
  }

  // `digits` decimal digits (more where the whole part has more), rounded to nearest even;
  // scientific below 0.0001 and from 10**15.
  function short(value, digits = 9) {
    if (value.kind === "nan") return "NaN";
    const sign = value.negative ? "−" : "";
    if (value.kind === "infinity") return `${sign}infinity`;
    if (value.num === 0n) return `${sign}0`;
    const { num, den } = value;
    // The exponent of the leading digit: an estimate, then as many digits as there should be.
    let e = Math.floor((bitLength(num) - bitLength(den)) * Math.LOG10E * Math.LN2);
    for (;;) {
      const count = e >= 0 && e < 15 ? Math.max(digits, e + 1) : digits;
      const places = count - 1 - e;
      const { whole, rest, unit } = scaled(num, den, 10n, places);
      const length = whole === 0n ? 0 : whole.toString().length;
      if (length === count) {
        const up = 2n * rest > unit || (2n * rest === unit && whole % 2n === 1n);
        return written(value.negative, (up ? whole + 1n : whole).toString(), places);
      }
      e += Math.sign(length - count);
    }
  }

  const written = (negative, digits, places) => {
    const e = digits.length - 1 - places;
    if (e >= -4 && e < 15) return withPoint(negative, digits, places);
    return `${withPoint(negative, digits, digits.length - 1)}e${e < 0 ? "" : "+"}${e}`;
  };

  const withPoint = (negative, digits, places) => {
    const padded = digits.padStart(places + 1, "0");
    const point = padded.length - places;
    let end = padded.length;
    while (end > point && padded[end - 1] === "0") end -= 1;
    const fraction = end > point ? `.${padded.slice(point, end)}` : "";
    return (negative ? "−" : "") + padded.slice(0, point) + fraction;
  };

  // A JavaScript Number close to the value (about 17 digits), for drawing.
  function number(value) {
    if (value.kind === "nan") return NaN;
    if (value.kind === "infinity") return value.negative ? -Infinity : Infinity;
    return Number(short(value, 17).replace("−", "-"));
  }

  return {
    bitLength, strip, scaled, floorLog2, finite, infinity, nan,
    negate, add, sub, mul, div, compare, exact, short, number,
  };
})();
