// Small helpers that build and update elements. Text goes in as text nodes, never as markup.

const SVG = "http://www.w3.org/2000/svg";

/** Set attributes: on… adds a listener, true and false set or remove, null leaves out. */
function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === false || value === null) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? "" : value);
  }
  return node;
}

/** An HTML element: make("p", { class: "note" }, "text", otherNode). */
function make(tag, attributes = {}, ...children) {
  const node = setAttributes(document.createElement(tag), attributes);
  node.append(...children);
  return node;
}

/** An SVG element. */
function draw(tag, attributes = {}, ...children) {
  const node = setAttributes(document.createElementNS(SVG, tag), attributes);
  node.append(...children);
  return node;
}

/** Change an element's text; an unchanged text costs nothing. */
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Change one attribute; null removes it. */
function setOne(node, name, value) {
  if (value === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/** Set a property only where it changes: the same value too would make the browser work. */
function setProperty(node, name, value) {
  if (node[name] !== value) node[name] = value;
}

/** A power of two with a raised exponent: the parts of "2⁻²⁴". */
function powerOfTwo(exponent) {
  return ["2", make("sup", {}, String(exponent).replace("-", "−"))];
}

/** A label and its control in one line. */
function labelled(text, control, className = "labelled") {
  return make("label", { class: className }, make("span", {}, text), control);
}

/** A select with [value, text] choices; `change` gets the chosen value. */
function makeSelect(choices, chosen, change) {
  const select = make("select", { onchange: () => change(select.value) });
  for (const [value, text] of choices) select.append(make("option", { value }, text));
  select.value = chosen;
  return select;
}
