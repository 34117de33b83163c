// Small helpers that build and update elements. Text goes in as text nodes, never as markup.

const SPEAK_AFTER_MS = 400;
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

/** A live region that says only the last of several quick messages. */
function makeSpeaker() {
  const element = make("p", { class: "spoken", role: "status", "aria-live": "polite" });
  let timer = 0;
  function say(text) {
    clearTimeout(timer);
    timer = setTimeout(() => setText(element, text), SPEAK_AFTER_MS);
  }
  return { element, say };
}

/**
 * One tab stop for a group of buttons: the arrow keys, Home and End move the focus among them.
 * `chosen(index)` is called when they do.
 */
function roveAmong(group, buttons, chosen = () => {}) {
  const settle = (to) => buttons.forEach((button, index) => {
    setProperty(button, "tabIndex", index === to ? 0 : -1);
  });
  group.addEventListener("focusin", ({ target }) => {
    if (buttons.includes(target)) settle(buttons.indexOf(target));
  });
  group.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(event.target);
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const targets = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: -1 };
    if (!(event.key in targets)) return;
    const to = (targets[event.key] + buttons.length) % buttons.length;
    chosen(to);
    buttons[to].focus();
    event.preventDefault();
  });
  settle(0);
  return settle;
}

/** Tabs for {name: {title, element}}. → {element, choose(name)}; chosen(name) asks for one. */
function makeTabs(panels, chosen) {
  const names = Object.keys(panels);
  const tabs = names.map((name) => make("button", { type: "button", role: "tab", class: "tab",
    "data-tab": name, onclick: () => chosen(name) }, panels[name].title));
  const list = make("div", { role: "tablist", class: "tabs", "aria-label": "views" }, ...tabs);
  const settle = roveAmong(list, tabs, (index) => chosen(names[index]));
  const bodies = names.map((name) => setAttributes(panels[name].element, {
    role: "tabpanel", "aria-label": panels[name].title }));
  function choose(chosenName) {
    names.forEach((name, index) => {
      setOne(tabs[index], "aria-selected", String(name === chosenName));
      setProperty(bodies[index], "hidden", name !== chosenName);
    });
    settle(names.indexOf(chosenName));
  }
  return { element: make("section", { class: "tabbed" }, list, ...bodies), choose };
}

/** A button that opens a small panel above what follows; Escape and leaving it close it. */
function makePopup(name, face, ...content) {
  const summary = make("summary", {}, ...face);
  const popup = make("details", { class: `popup ${name}` }, summary,
    make("div", { class: "boxes" }, ...content));
  popup.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !popup.contains(relatedTarget)) popup.open = false;
  });
  popup.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !popup.open) return; // then it is the notebook's key
    popup.open = false;
    summary.focus();
    event.preventDefault();
    event.stopPropagation();
  });
  return popup;
}
