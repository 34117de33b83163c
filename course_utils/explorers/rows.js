// One row per format: its bits as buttons, its value, its error, and steps to its neighbours.

const FIELDS = ["sign", "exponent", "fraction"];
const FIELD_KEYS = { s: "sign", e: "exponent", f: "fraction", m: "fraction" };

/** What a screen reader says about a bit; `place` counts from 0 at the field's right end. */
function bitLabel(field, place, format) {
  if (field === "sign") return "sign bit, 1 for negative";
  if (field === "exponent") return `exponent bit ${place}, weight ${2 ** place}`;
  return `fraction bit ${place}, weight 2^${place - format.fractionBits}`;
}

/** The buttons of one field, under the field's letter and width. */
function makeField(field, format, bits) {
  const width = { sign: 1, exponent: format.exponentBits, fraction: format.fractionBits }[field];
  const cells = make("span", { class: "cells" });
  for (let place = width - 1; place >= 0; place -= 1) {
    const bit = make("button", {
      type: "button",
      class: `bit ${field}`,
      tabindex: "-1",
      "data-index": bits.length,
      "aria-pressed": "false",
      "aria-label": bitLabel(field, place, format),
    });
    bits.push(bit);
    cells.append(bit);
  }
  const letter = field[0].toUpperCase();
  const tag = field === "sign" ? letter : `${letter} ${width}`;
  const label = make("span", { class: "tag", "aria-hidden": "true" }, tag);
  return make("span", { class: `field ${field}` }, label, cells);
}

/**
 * A row for one format.
 * on: {select(), set(index, length, bit), step(direction), light(index | null)} of this row.
 * → {element, bits, update(view), light(lit)}
 */
function makeRow(format, on) {
  const bits = [];
  const [sign, exponent, fraction] = FIELDS.map((field) => makeField(field, format, bits));
  const lead = make("span", { class: "lead", title: "the leading bit, which is not stored" }, "1");
  const ghost = make("span", { class: "ghost", "aria-hidden": "true" }, lead,
    make("span", { class: "point" }, "."));
  const strip = make("div", { class: "strip" },
    make("span", { class: "left" }, sign, exponent),
    make("span", { class: "right" }, ghost, fraction));
  const stepper = (direction, face, text) => make("button", {
    type: "button", class: "step", tabindex: "-1", title: `${text} to the next value (${face})`,
    "aria-label": `${text} in ${format.name}`, onclick: () => on.step(direction),
  }, face);
  const parts = {
    name: make("button", { type: "button", class: "name", tabindex: "-1", onclick: on.select },
      format.name),
    hex: make("code", { class: "hex" }),
    kind: make("span", { class: "kind" }),
    value: make("span", { class: "value" }),
    error: make("span", { class: "error" }),
    previous: stepper(-1, "↓", "step down"),
    next: stepper(1, "↑", "step up"),
  };
  const element = make("div", { class: "row", role: "group", "data-format": format.name },
    make("div", { class: "head" }, parts.name, parts.hex),
    strip,
    make("div", { class: "facts" }, parts.value, parts.kind, parts.error,
      make("span", { class: "steps" }, parts.previous, parts.next)));
  element.classList.toggle("short", format.bits <= 8);
  element.setAttribute("aria-label", `${format.name}, ${format.bits} bits`);

  let current = 0; // the bit that Tab reaches
  bits[0].tabIndex = 0;
  function rove(index) {
    bits[current].tabIndex = -1;
    current = Math.max(0, Math.min(bits.length - 1, index));
    bits[current].tabIndex = 0;
  }

  const firstOf = { sign: 0, exponent: 1, fraction: 1 + format.exponentBits };
  const moves = {
    ArrowLeft: () => current - 1,
    ArrowRight: () => current + 1,
    Home: () => 0,
    End: () => bits.length - 1,
  };
  element.addEventListener("keydown", (event) => {
    if (!event.target.matches(".bit") || event.ctrlKey || event.metaKey || event.altKey) return;
    const field = FIELD_KEYS[event.key.toLowerCase()];
    const target = field ? firstOf[field] : moves[event.key]?.();
    if (target !== undefined) {
      rove(target);
      bits[current].focus();
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      on.step(event.key === "ArrowUp" ? 1 : -1);
    } else return;
    event.preventDefault();
  });
  element.addEventListener("focusin", (event) => {
    if (!event.target.matches(".bit")) return;
    rove(Number(event.target.dataset.index));
    on.select();
    on.light(current);
  });
  element.addEventListener("focusout", () => on.light(null));
  element.addEventListener("pointerover", (event) => {
    if (event.target.matches(".bit")) on.light(Number(event.target.dataset.index));
    else on.light(event.target.matches(".lead") ? "lead" : null);
  });
  element.addEventListener("pointerleave", () => on.light(null));
  paintBits(element, bits, on.set);

  function update({ stored, error, selected, refusal }) {
    element.classList.toggle("selected", selected);
    setOne(parts.name, "aria-pressed", selected);
    element.classList.toggle("refused", Boolean(refusal));
    const text = stored ? stored.sign + stored.exponent + stored.fraction : "";
    bits.forEach((bit, index) => setOne(bit, "aria-pressed", String(text[index] === "1")));
    setText(lead, stored?.kind === "normal" ? "1" : stored?.value.kind === "finite" ? "0" : "");
    setText(parts.hex, stored ? stored.hex : "–");
    setText(parts.kind, stored ? (stored.kind === "nan" ? "NaN" : stored.kind) : "refused");
    setOne(parts.kind, "data-kind", stored ? stored.kind : "refused");
    setText(parts.value, refusal ?? stored.text);
    setOne(parts.value, "title", stored?.whole ?? null);
    setText(parts.error, error?.text ?? "");
    setOne(parts.error, "data-kind", error?.kind ?? "same");
    setOne(parts.previous, "disabled", stored?.previous ? null : "");
    setOne(parts.next, "disabled", stored?.next ? null : "");
  }

  function light(lit) {
    bits.forEach((bit, index) => bit.classList.toggle("lit", lit.has(index)));
    ghost.classList.toggle("lit", lit.has("lead"));
  }

  return { element, bits, update, light };
}

/**
 * Let the pointer paint: the first bit is flipped, and every bit on the way gets the same value.
 * A finger that scrolls the page (it moves up or down, or its pointer is canceled) changes nothing.
 */
function paintBits(element, bits, set) {
  let stroke = null; // {pointer, x, y, last, value, waits}
  let handled = null; // the bit whose click event was already answered

  function bitAt(event) {
    const root = element.getRootNode();
    const under = root.elementFromPoint(event.clientX, event.clientY);
    return under?.matches?.(".bit") && element.contains(under) ? Number(under.dataset.index) : null;
  }
  function begin() {
    stroke.waits = false;
    set(stroke.last, stroke.last, stroke.value);
  }
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !event.target.matches(".bit")) return;
    const index = Number(event.target.dataset.index);
    // A finger's pointer belongs to its first element unless it is let go.
    if (event.target.hasPointerCapture(event.pointerId)) {
      event.target.releasePointerCapture(event.pointerId);
    }
    const value = event.target.getAttribute("aria-pressed") !== "true";
    stroke = { pointer: event.pointerId, x: event.clientX, y: event.clientY, last: index, value,
      waits: event.pointerType === "touch" };
    handled = event.target;
    if (!stroke.waits) begin();
  });
  const move = (event) => {
    if (stroke?.pointer !== event.pointerId) return;
    const [dx, dy] = [Math.abs(event.clientX - stroke.x), Math.abs(event.clientY - stroke.y)];
    if (stroke.waits && dx <= dy) return; // this may become a scroll
    const index = bitAt(event);
    if (index === null || index === stroke.last) return;
    if (stroke.waits) begin();
    set(Math.min(index, stroke.last), Math.max(index, stroke.last), stroke.value);
    stroke.last = index;
  };
  const end = (event) => {
    if (stroke?.pointer !== event.pointerId) return;
    if (stroke.waits && event.type === "pointerup" && bitAt(event) === stroke.last) begin();
    stroke = null;
  };
  element.addEventListener("pointermove", move);
  for (const type of ["pointerup", "pointercancel", "pointerleave"]) {
    element.addEventListener(type, end);
  }
  // Space, Enter and assistive technology click without a pointer.
  element.addEventListener("click", (event) => {
    if (!event.target.matches(".bit")) return;
    const index = Number(event.target.dataset.index);
    const painted = handled === event.target && event.detail > 0;
    handled = null;
    if (!painted) set(index, index, event.target.getAttribute("aria-pressed") !== "true");
  });
}
