// Helpers that build and update elements. Text goes in as text nodes, never as markup.

const COMPLAIN_AFTER_MS = 600; // without a key
// Pixels: what an A4 page leaves for an output, as shared.css says too. Where there is less, things
// move closer together.
export const PAPER = 540;
const SVG = "http://www.w3.org/2000/svg";

// Set attributes: on… adds a listener, null leaves out.
export function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else setOne(node, name, value);
  }
  return node;
}

// make("p.note", { title: "…" }, "text", otherNode) gives an HTML element, draw an SVG one: what
// follows the tag and its classes are attributes and children.
const maker = (create) => (tag, ...parts) => {
  const [name, ...classes] = tag.split(".");
  const node = create(name);
  if (classes.length) node.setAttribute("class", classes.join(" "));
  for (const part of parts) {
    if (part.constructor === Object) setAttributes(node, part);
    else node.append(part);
  }
  return node;
};
export const make = maker((name) => document.createElement(name));
export const draw = maker((name) => document.createElementNS(SVG, name));

// Change a text, one attribute (null removes it). An unchanged one costs nothing.
export function setText(node, text) {
  if (node.textContent === text) return;
  if (node.firstChild) node.firstChild.data = text;
  else node.textContent = text;
}
export function setOne(node, name, value) {
  if (value === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

// Give a node these children. One that looks like what is there already is left out: it costs no
// layout.
export function setChildren(node, children) {
  const old = [...node.childNodes];
  children.forEach((child, index) => {
    if (index >= old.length) node.append(child);
    else if (child !== old[index] && !child.isEqualNode(old[index])) old[index].replaceWith(child);
  });
  for (const child of old.slice(children.length)) child.remove();
}

// A power of two with a raised exponent: the parts of "2⁻²⁴".
export const powerOfTwo = (exponent) =>
  ["2", make("sup", String(exponent).replace("-", "−"))];

// A label and its control in one line.
export const labelled = (text, control) => make("label.labelled", make("span", text), control);

// A row of buttons of a `kind` under one name: [[face, act, attributes]], a face being a list of
// parts.
export function makeChips(name, choices, kind = "chip") {
  const chips = choices.map(([face, act, attributes]) =>
    make(`button.${kind}`, { type: "button", onclick: act, ...attributes }, ...face));
  const element = make(`div.${kind}s`, { role: "toolbar", "aria-label": name }, ...chips);
  roveAmong(element, chips);
  return { element, chips };
}

// A table with heads, of class `name`, and a text as its caption. → {table, body, caption,
// fill(rows)}, a row being the parts of its head and one text for each further cell.
export function makeTable(name, heads, text = "") {
  const [caption, body] = [make("caption", text), make("tbody")];
  const cells = heads.map((head) => make("th", { scope: "col" }, head));
  const table = make(`table.${name}`, caption, make("thead", make("tr", ...cells)), body);
  const fill = (rows) => setChildren(body, rows.map(([head, ...texts]) => make("tr",
    make("th", { scope: "row" }, ...head), ...texts.map((text) => make("td", text)))));
  return { table, body, caption, fill };
}

// A field, and below it what is wrong with it, but not while somebody types there: `read(text)`
// gets each text, and `warn(wrong)` whether the field is marked.
// → {field, message, tell(message | null)}
export function makeEntry(label, read, warn) {
  const field = make("input.entry", { type: "text", "aria-label": label,
    spellcheck: "false", autocomplete: "off", autocapitalize: "off",
    oninput: type, onchange: settle, onblur: settle });
  const message = make("p.message", { role: "status" });
  let pause = null; // the timer that runs while somebody types
  let complaint = null;
  function show() {
    const wrong = complaint !== null && pause === null;
    setText(message, wrong ? complaint : "");
    setOne(field, "aria-invalid", wrong ? "true" : null);
    warn(wrong);
  }
  function settle() {
    clearTimeout(pause);
    pause = null;
    show();
  }
  function type() {
    clearTimeout(pause);
    pause = setTimeout(settle, COMPLAIN_AFTER_MS);
    read(field.value);
  }
  function tell(next) {
    complaint = next;
    show();
  }
  return { field, message, tell };
}

// Whether a key goes with Ctrl, Alt or ⌘: then it is the browser's or the notebook's.
export const isCommand = (event) => event.ctrlKey || event.metaKey || event.altKey;

// One tab stop for a group of buttons: the arrow keys, Home and End move the focus among them.
export function roveAmong(group, buttons) {
  const settle = (to) => buttons.forEach((button, index) => {
    button.tabIndex = index === to ? 0 : -1;
  });
  group.addEventListener("focusin", ({ target }) => {
    if (buttons.includes(target)) settle(buttons.indexOf(target));
  });
  group.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(event.target);
    if (at < 0 || isCommand(event)) return;
    const targets = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: buttons.length - 1 };
    if (!(event.key in targets)) return;
    buttons[targets[event.key]]?.focus();
    event.preventDefault();
  });
  settle(0);
}
