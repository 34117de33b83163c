// ScaleScope's page: "#scale=15&format=float16&of=all layers&follow=6.1e-8".

import { act, choose, keepAddress, ownPairs, write } from "./address.mjs";

const host = document.querySelector("[data-scalescope]");
const root = host.shadowRoot;
const [format, layer] = root.querySelectorAll("select");
const { layers } = JSON.parse(host.querySelector("script").textContent);

function show(key, text) {
  if (key === "scale") act(root.querySelector(".slider"), "input", "value", text);
  if (key === "follow") write(root.querySelector(".entry"), text);
  if (key === "format") choose(format, [...format.options].findIndex(({ value }) => value === text));
  if (key === "of") choose(layer, layers.findIndex(({ name }) => name === text));
}
keepAddress({ roots: [root], read: () => ownPairs(root), show });
