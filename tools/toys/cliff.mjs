// SoftmaxCliff's page: "#scale=15&batch=32&output=false-alarm". The page has the explorer three
// times, of which one is seen: the softmax, as measured, and a sigmoid's two mistakes.

import { act, choose, keepAddress, ownPairs } from "./address.mjs";

const hosts = [...document.querySelectorAll("[data-softmaxcliff]")];
const roots = hosts.map(({ shadowRoot }) => shadowRoot);
const menu = document.querySelector(".output");
const place = (menuOf, text) => [...menuOf.options].findIndex(({ value }) => value === text);
let seen = 0;

function show(key, text) {
  if (key === "output") choose(menu, place(menu, text));
  if (key === "scale") act(roots[seen].querySelector(".slider"), "input", "value", text);
  if (key === "batch") {
    const batch = roots[seen].querySelector("select");
    choose(batch, place(batch, text));
  }
}
// Another output keeps scale and batch.
menu.addEventListener("change", () => {
  const before = ownPairs(roots[seen]);
  seen = menu.selectedIndex;
  hosts.forEach((host, index) => host.classList.toggle("away", index !== seen));
  for (const [key, text] of before) show(key, text);
});
const read = () => [...ownPairs(roots[seen]), ["output", menu.value]];
menu.addEventListener("change", keepAddress({ roots, read, show }));
