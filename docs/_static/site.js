// A table that is wider than its page is marked, and each of its cells knows its column's name: on a phone site.css
// shows a row as a card. What scrolls can have the focus, so that keys scroll it.
const tables = document.querySelectorAll(".content table.docutils");
for (const table of tables) {
  const names = [...table.querySelectorAll("thead th")].map((name) => name.innerText.trim());
  for (const row of table.tBodies[0].rows)
    [...row.cells].forEach((cell, column) => {
      if (column && names[column] && cell.innerText.trim()) cell.dataset.label = names[column];
    });
}
const mark = () => {
  for (const table of tables) {
    table.classList.remove("cards");
    table.classList.toggle("cards", table.offsetWidth > table.parentElement.clientWidth);
  }
  for (const box of document.querySelectorAll(".content :is(pre, table, .table-wrapper, .cell_output)"))
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
};
addEventListener("resize", mark);
mark();
// Sphinx's captions of the navigation are headings of no level.
for (const caption of document.querySelectorAll(".caption[role=heading]")) caption.ariaLevel = 2;
// An explorer that has a page knows where it lies: the button copies a whole link.
const root = new URL(document.documentElement.dataset.content_root, location);
for (const host of document.querySelectorAll(".content :is([data-floatlab], [data-scalescope], [data-softmaxcliff])")) {
  const link = host.shadowRoot?.querySelector(".link");
  if (link) {
    const ending = link.address;
    link.address = () => new URL(ending(), root).href;
  }
}
// Where to paste an error: on the page of what people ask, and on the search's own (phrases.js).
const asked = document.querySelector("#what-people-ask > p");
const found = document.getElementById("search-results");
if (asked || found) {
  const form = document.createElement("form");
  form.action = "search.html";
  form.className = "paste";
  form.innerHTML = `${found ? "<h1>Search</h1>" : ""}
    <label for="pasted">An error text, whole or in part, or a question</label>
    <textarea id="pasted" name="q" rows="3"></textarea><button>Search this site</button>`;
  if (found) found.before(form);
  else asked.after(form);
}
const box = document.querySelector(".sidebar-search");
if (box) box.placeholder = "Search, or paste an error";
