// The long sum: one number added many times, in accumulators of three formats.

const ACCUMULATORS = ["float16", "bfloat16", "float32"];
const MOST_ADDITIONS = 1000000;
const SLICE_MS = 4; // of work per frame, so that the page never waits

/**
 * Add `value` to an accumulator `times` times, rounding after every addition, in few steps: while
 * the sum stays between two powers of two it grows by the same amount each time.
 * Yields {done, code} points, the first and last included; a last point with `stalled` says
 * after how many additions nothing changes any more.
 */
function* accumulate(codec, format, mode, value, times) {
  const encode = (exactly) => codec.encode(exactly, format, mode.rounding, mode.saturate);
  const at = (code) => codec.decode(code, format).value;
  const addend = at(encode(value));
  let code = encode(ZERO);
  let before = null; // the last growth
  let done = 0;
  yield { done, code };
  while (done < times) {
    const next = encode(codec.add(at(code), addend, mode.rounding));
    const same = next === code || codec.compare(at(next), at(code)) === 0;
    if (same || at(next).kind !== "finite") {
      // Infinity and NaN never change either, and they come with this addition.
      const stays = at(code).kind === "finite" && !same;
      yield { done: done + (stays ? 1 : 0), code: next, stalled: true };
      return;
    }
    const growth = codec.sub(at(next), at(code));
    // Sums between the same two powers of two are multiples of one ULP, also in ties: what they
    // grow by twice, they grow by until they leave.
    const together = codec.decode(next, format).exponent === codec.decode(code, format).exponent;
    const steady = together && before !== null && codec.compare(growth, before) === 0;
    const jump = steady ? steadySteps(codec, format, at(next), growth, times - done - 1) : 0;
    done += 1 + jump;
    code = jump
      ? encode(codec.add(at(next), codec.mul(growth, dyadic(BigInt(jump)))))
      : next;
    before = jump || !together ? null : growth;
    yield { done, code };
  }
}

/** How many more times `growth` can be added before the sum leaves its power of two. */
function steadySteps(codec, format, sum, growth, most) {
  if (isZero(sum) || sum.negative !== growth.negative) return 0;
  const code = codec.encode(magnitude(sum), format);
  const { fractionBits, largest } = codec.formats.get(format);
  const { ulp } = codec.decode(code, format);
  const left = largest - code;
  const toPower = BigInt.asUintN(fractionBits, -code); // codes up to the next power of two
  const room = toPower < left ? toPower : left;
  const perStep = floorDivide(magnitude(growth), ulp);
  if (perStep === 0n || room === 0n) return 0;
  // One step short of the end, where the last one is rounded for real.
  const steps = room / perStep - 1n;
  return Number(steps < 0n ? 0n : steps < BigInt(most) ? steps : BigInt(most));
}

/** The long-sum panel; say(text) speaks. → {element, update(mode), show()} */
function makeSum(codec, say) {
  const number = make("input", { type: "text", class: "operand", value: "1.0", spellcheck: "false",
    autocomplete: "off" });
  const times = make("input", { type: "text", class: "operand", value: "10000",
    inputmode: "numeric", autocomplete: "off" });
  const button = make("button", { type: "button", class: "chip", onclick: () => run() },
    "Add them up");
  const message = make("p", { class: "message", role: "status" });
  const lines = make("ul", { class: "sums-list" });
  const chart = makeChart(codec);
  const element = make("div", { class: "long-sum", role: "group", "aria-label": "long sum" },
    make("h3", {}, "A long sum"),
    make("div", { class: "operation" }, labelled("add", number), labelled("this many times", times),
      button),
    message, make("div", { class: "sum-results" }, lines, chart.element));
  let mode = { rounding: "nearest_even", saturate: false };
  let turn = 0; // a newer run ends an older one
  let asked = false; // for a sum that can be calculated

  function read() {
    const count = times.value.trim();
    times.removeAttribute("aria-invalid");
    number.removeAttribute("aria-invalid");
    if (!/^[0-9]{1,7}$/.test(count) || Number(count) < 1 || Number(count) > MOST_ADDITIONS) {
      times.setAttribute("aria-invalid", "true");
      setText(message, "Write how many times as a whole number from 1 to 1000000.");
      return null;
    }
    try {
      const value = codec.parse(number.value);
      if (value.kind === "finite") return { value, count: Number(count) };
      number.setAttribute("aria-invalid", "true");
      setText(message, "Write a finite number to add up, such as 1.0 or 0.1.");
    } catch (error) {
      if (!(error instanceof EntryError)) throw error;
      number.setAttribute("aria-invalid", "true");
      setText(message, codec.isCode(number.value) ? CODES_GO_ELSEWHERE : error.message);
    }
    return null;
  }

  function run() {
    turn += 1;
    setText(message, "");
    lines.replaceChildren();
    chart.clear();
    const task = read();
    asked = Boolean(task);
    if (!task) return;
    const mine = turn;
    const known = ACCUMULATORS.filter((name) => codec.formats.has(name));
    const runs = known.map((name) => ({
      name, points: [], steps: accumulate(codec, name, mode, task.value, task.count) }));
    function slice() {
      if (mine !== turn) return;
      const start = performance.now();
      for (const one of runs) {
        while (!one.ended && performance.now() - start < SLICE_MS) {
          const { value, done } = one.steps.next();
          if (done) one.ended = true;
          else one.points.push(value);
        }
      }
      if (runs.every((one) => one.ended)) finish(task, runs);
      else requestAnimationFrame(slice);
    }
    slice();
  }

  function finish(task, runs) {
    const truth = codec.mul(task.value, dyadic(BigInt(task.count)));
    const told = runs.map(({ name, points }) => outcome(name, points.at(-1), task, truth));
    lines.replaceChildren(
      make("li", {}, make("strong", {}, "true sum"), ` ${readable(codec, truth, 20)}`),
      ...told.map(([name, text]) => make("li", { "data-format": name },
        make("strong", {}, name), ` ${text}`)));
    chart.update(task, truth, runs);
    say(told.map((words) => words.join(" ")).join(". "));
  }

  /** What became of a sum: [format, words]. */
  function outcome(name, last, task, truth) {
    const { value } = codec.decode(last.code, name);
    const result = readable(codec, value, 16, 9);
    if (value.kind === "infinity") {
      return [name, `overflows to ${result} with addition ${last.done}`];
    }
    if (last.stalled && isZero(value) && !isZero(truth)) {
      return [name, `stays 0: ${readable(codec, task.value, 14, 6)} rounds to 0 in ${name}`];
    }
    if (last.stalled && last.done < task.count && !isZero(value)) {
      return [name, `stalls at ${result} after ${last.done} addition${last.done === 1 ? "" : "s"}`];
    }
    const exactly = codec.compare(value, truth) === 0 ? ", exactly" : "";
    return [name, `reaches ${result}${exactly}`];
  }

  return {
    element,
    update(next) {
      const changed = next.rounding !== mode.rounding || next.saturate !== mode.saturate;
      mode = { ...next };
      if (changed && asked) run();
    },
    show() {
      run();
      element.scrollIntoView({ block: "nearest" });
    },
  };
}
