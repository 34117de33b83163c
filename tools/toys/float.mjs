// FloatLab's page: "#f16=65519.999&round=even&saturate=true&rows=f32.bf16", in any order.

import { ROUNDINGS } from "../../course_utils/explorers/entries.mjs";
import { act, choose, keepAddress, ownPairs, write } from "./address.mjs";

const { shadowRoot: root } = document.querySelector("[data-floatlab]");
const find = (selector) => root.querySelector(selector);
const boxes = [...root.querySelectorAll(".formats input")];
const [field, codes] = [find(".entry"), find(".entry-codes select")];
const rounding = find(".options select");
const saturate = find(".check input");

const brief = (name) => name.replace("float", "f").replace(/^(nearest|toward)_/, "");
const shortNames = boxes.map(({ value }) => brief(value));
const isFormat = (key) => shortNames.includes(key);

// Names of Python's, or short ones, as short ones.
function short([key, text]) {
  if (key === "rounding" || key === "round") return ["round", brief(text)];
  if (key === "rows") {
    const places = text.split(/[,.]/).map((name) => shortNames.indexOf(brief(name)));
    return [key, places.sort((one, other) => one - other).map((at) => shortNames[at]).join(".")];
  }
  if (key === "saturate") return [key, text];
  return [brief(key), text.trim().replaceAll(" ", "+")]; // a plus sign is a space to some
}
function show(key, text) {
  if (key === "rows") {
    const wanted = text.split(".");
    const isWanted = ({ value }) => wanted.includes(brief(value));
    for (const box of [...boxes.filter(isWanted), ...boxes.filter((one) => !isWanted(one))]) {
      if (box.checked !== isWanted(box)) box.click();
    }
  } else if (key === "round") {
    choose(rounding, Object.keys(ROUNDINGS).findIndex((name) => brief(name) === text));
  } else if (key === "saturate") {
    if (text === "true" || text === "false") act(saturate, "change", "checked", text === "true");
  } else if (isFormat(key)) {
    const box = boxes[shortNames.indexOf(key)];
    if (!box.checked) box.click(); // a link may ask for a row that the page opens without
    choose(codes, [...codes.options].findIndex(({ value }) => brief(value) === key));
    write(field, text);
  }
}

// A number is that of a row that is shown: rows are the last key.
keepAddress({ roots: [root], read: () => ownPairs(root), show, short,
  replaces: (key, other) => key === other || (isFormat(key) && isFormat(other)) });
