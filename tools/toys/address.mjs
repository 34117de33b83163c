// A page whose address keeps what its explorer shows: behind the "#" stands what differs from the
// page's first state. It works the explorer's controls, as a reader would, so that what they
// cannot show is no state.

const SETTLED_MS = 700; // without a change: by then an explorer has marked a wrong entry
const LONGEST = 4000; // letters of an address
const QUOTED = 40; // letters of what could not be read

// What a reader does to a control.
export function act(control, type, property, value) {
  control[property] = value;
  control.dispatchEvent(new Event(type, { bubbles: true, composed: type === "input" }));
}
export function choose(menu, index) {
  if (index >= 0 && index !== menu.selectedIndex) act(menu, "change", "selectedIndex", index);
}
export function write(field, text) {
  act(field, "input", "value", text);
  field.dispatchEvent(new Event("blur")); // a complaint comes at once
}

// What the explorer in a shadow root shows, [[key, text]]. Its button copies the page's address
// later on, so its own way is kept.
const ways = new Map();
function wayIn(root) {
  if (!ways.has(root)) ways.set(root, root.querySelector(".link").address);
  return ways.get(root);
}
export const ownPairs = (root) => [...new URLSearchParams(wayIn(root)().split("#")[1])];

const encode = (text) => encodeURIComponent(text).replaceAll("%2F", "/");
const spell = (pairs) => pairs.map((pair) => pair.map(encode).join("=")).join("&");
function parse(end) {
  const decode = (text) => decodeURIComponent(text.replaceAll("+", " "));
  return end.split("&").map((part) => {
    const at = part.indexOf("=");
    return at < 0 ? [decode(part), ""] : [part.slice(0, at), part.slice(at + 1)].map(decode);
  });
}
const isSame = (one, other) => one === other || Number(one) === Number(other);

// Keep the address of the explorers in these shadow roots, of which one is seen. `read()` gives
// what they show, [[key, text]]; `short(pair)` a pair as it stands in the address, from an address
// or from `read`; `show(key, text)` works the controls, for the last key first; `replaces(key,
// other)` says which keys exclude each other.
export function keepAddress({ roots, read, show, short = (pair) => pair,
  replaces = (key, other) => key === other }) {
  const told = document.querySelector("main > .told");
  const now = () => new Map(read().map(short));
  const first = now();
  let timer = 0;
  let isNew = true; // what a reader does now has no entry in the history yet
  let isReading = false;
  let kept = ""; // the end of the address, of what is shown

  const end = () => spell([...now()].filter(([key, text]) => first.get(key) !== text));
  const addressOf = (text) => location.href.split("#")[0] + (text && `#${text}`);
  const isWrong = () => roots.some((root) => root.querySelector("[aria-invalid=true]"));

  // Show these pairs, and the first state's where there are none. → which of them could not be.
  function showAll(given) {
    const rest = [...first].filter(([key]) => !given.some(([other]) => replaces(key, other)));
    const order = [...first.keys()];
    const whole = [...rest, ...given]
      .sort(([one], [other]) => order.indexOf(other) - order.indexOf(one));
    for (const [key, text] of whole) if (isWrong() || now().get(key) !== text) show(key, text);
    const shown = now();
    const bad = given.findIndex(([key, text], index) => !text || !shown.has(key)
      || !isSame(shown.get(key), text) || given.findIndex(([other]) => other === key) < index);
    return bad < 0 && isWrong() ? 0 : bad;
  }
  function open() {
    const text = location.hash.slice(1);
    let wrong;
    isReading = true;
    try {
      if (text.length > LONGEST) throw new RangeError("too long");
      const given = text ? parse(text) : [];
      const bad = showAll(given.map(short));
      if (bad >= 0) wrong = given[bad].join("=");
    } catch {
      wrong = text;
    }
    if (wrong !== undefined) showAll([]);
    isReading = false;
    const letters = [...wrong ?? ""];
    const quoted = letters.length > QUOTED ? `${letters.slice(0, QUOTED).join("")}…` : wrong;
    told.textContent = wrong === undefined ? ""
      : `The address asks for “${quoted}”, which this page cannot show, so here is its first state.`;
    kept = end();
    isNew = true;
  }

  // A change gets an entry in the history; what goes on while one holds the mouse is written over.
  function settle() {
    clearTimeout(timer);
    timer = 0;
    const text = end();
    if (isWrong() || text === kept) return;
    history[isNew ? "pushState" : "replaceState"](null, "", addressOf(text));
    isNew = false;
    kept = text;
    told.textContent = "";
  }
  function wait({ target, type }) {
    if (isReading) return;
    // Some tools press and choose without a mouse or keys; sliders and fields go on.
    const isChoice = type === "click" || !target.matches("[type=range], [type=text]");
    if (!timer && isChoice && !type.startsWith("pointer")) isNew = true;
    clearTimeout(timer);
    timer = setTimeout(settle, SETTLED_MS);
  }
  function begin(event) {
    const [target] = event.composedPath();
    if (event.repeat || (event.type === "keydown" && target.matches?.("[type=text]"))) return;
    if (timer && event.type === "pointerdown") { // several keys are one change
      for (const root of roots) {
        if (root.activeElement?.matches("[type=text]")) {
          root.activeElement.dispatchEvent(new Event("blur")); // its complaint comes at once
        }
      }
      settle();
    }
    isNew = true;
  }
  for (const root of roots) {
    for (const type of ["input", "change", "click", "keyup", "pointerup"]) {
      root.addEventListener(type, wait, true);
    }
    root.addEventListener("pointermove", (event) => { if (event.buttons) wait(event); }, true);
    wayIn(root);
    root.querySelector(".link").address = () => addressOf(isWrong() ? kept : end());
  }
  for (const type of ["pointerdown", "keydown"]) addEventListener(type, begin, true);
  addEventListener("hashchange", () => {
    clearTimeout(timer);
    timer = 0;
    open();
  });
  // A link to a state of this page stands below the picture.
  addEventListener("click", ({ target }) => {
    if (target.matches("a[href^='#']")) scrollTo(0, 0);
  });
  if (location.hash) open();
  return wait;
}
