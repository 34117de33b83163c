// A button that copies a link: a page, and behind "#" what an explorer shows there.

import { make } from "./dom.mjs";

// The button for an explorer that has a page; texts() gives its state, {key: text}. A page that
// knows where it lies gives another `address`.
export function makeLink(page, texts) {
  const told = make("p", { role: "status", style: "overflow-wrap: anywhere" });
  const link = make("div.link",
    make("button.chip", { onclick: copy }, `Copy link: ${page}#…`), told);
  link.address = () => `${page}#${new URLSearchParams(texts())}`;

  async function copy() {
    const address = link.address();
    try {
      await navigator.clipboard.writeText(address);
      told.textContent = `Copied: ${address}`;
    } catch {
      told.textContent = `Copying is not allowed here. The link is ${address}`;
    }
  }
  return link;
}
