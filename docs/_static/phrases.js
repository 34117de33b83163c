// The search of the site for a text of three words or more, such as a pasted error: the passages (passages.js, written by
// tools/passages.py) that share the longest phrase with it come first. Numbers, addresses, shapes and paths are no words, as
// they differ from one reader to the next. One or two words are left to Sphinx's own search.
const LONG_ENOUGH = 3;
// Below this a phrase says nothing, such as "that does not": the logarithm of one passage in three thousand.
const HEAVY_ENOUGH = 8;
const SHOWN = 6;
const WORDS = /(?:[\w.~:{}-]*[\\/]){2,}[\w.~:{}-]*|\d[\w.,]*|[a-z_]\w*/gi;

// The words of a text, and where they stand in it: dense_3 is dense, and None is a shape's.
const read = (text) =>
  [...text.matchAll(WORDS)]
    .filter(([found]) => /^[a-z_]\w*$/i.test(found))
    .map(({ 0: found, index }) => ({
      word: found.toLowerCase().replace(/_\d+$/, ""),
      from: index,
      to: index + found.length,
    }))
    .filter(({ word }) => word !== "none");

const passages = PASSAGES.flatMap(([page, title, rows]) =>
  rows.map(([heading, id, body]) => {
    const text = `${heading} ${body}`;
    return { page, title, heading, id, text, head: heading.length, words: read(text) };
  }),
);
const pagesWith = new Map();
for (const { words } of passages)
  for (const word of new Set(words.map((one) => one.word))) pagesWith.set(word, (pagesWith.get(word) ?? 0) + 1);
// What a word says: much if it is rare on the site.
const weight = (word) => Math.log((passages.length + 1) / pagesWith.get(word));

// The heaviest run of words that a passage shares with the words asked for, as {weight, length, last}.
const longest = (words, places) => {
  let best = { weight: 0, length: 0, last: 0 };
  let before = new Map();
  words.forEach(({ word }, last) => {
    const here = new Map();
    for (const place of places.get(word) ?? []) {
      const run = before.get(place - 1) ?? { weight: 0, length: 0 };
      const longer = { weight: run.weight + weight(word), length: run.length + 1, last };
      here.set(place, longer);
      if (longer.weight > best.weight) best = longer;
    }
    before = here;
  });
  return best;
};

// The passages for a text, best first, and whether they share a phrase with it or words alone.
const find = (text) => {
  const places = new Map();
  read(text).forEach(({ word }, place) => places.set(word, [...(places.get(word) ?? []), place]));
  const all = passages.map((passage) => {
    const words = new Set(passage.words.map((one) => one.word).filter((word) => places.has(word)));
    const shared = [...words].sort((a, b) => weight(b) - weight(a));
    // A long passage has more words by chance.
    const sum = shared.reduce((total, word) => total + weight(word), 0) / Math.log(20 + passage.words.length);
    return { passage, run: longest(passage.words, places), shared, sum };
  });
  const said = all.filter(({ run }) => run.length >= LONG_ENOUGH && run.weight >= HEAVY_ENOUGH);
  // What a heading quotes is answered below it.
  const worth = ({ passage, run }) => run.weight * (passage.words[run.last].to <= passage.head ? 1.25 : 1);
  said.sort((a, b) => worth(b) - worth(a) || b.sum - a.sum);
  const near = said.filter(({ run }) => run.weight >= said[0].run.weight / 2);
  if (near.length) return { phrase: true, found: near.slice(0, SHOWN) };
  const alike = all.filter(({ shared }) => shared.filter((word) => weight(word) > 1).length > 1);
  return { phrase: false, found: alike.sort((a, b) => b.sum - a.sum).slice(0, SHOWN) };
};

const element = (tag, ...children) => {
  const made = document.createElement(tag);
  made.append(...children);
  return made;
};

// A passage as an entry of the list: its heading leads to the phrase, which stands below in its place.
const entry = ({ passage, run, shared }, phrase) => {
  const { page, title, heading, id, text, words } = passage;
  const link = element("a", heading);
  link.href = `${page}.html#${id}`;
  if (!phrase) return element("li", link, ` · ${title}`, element("p", `Shared: ${shared.slice(0, 8).join(", ")}.`));
  const from = words[run.last - run.length + 1].from;
  const to = words[run.last].to;
  // Browsers that know it mark the phrase; a dash has a meaning there.
  link.href += `:~:text=${encodeURIComponent(text.slice(from, to)).replaceAll("-", "%2D")}`;
  const [start, end] = [Math.max(0, from - 80), Math.min(text.length, to + 120)];
  const before = (start ? "… " : "") + text.slice(start, from);
  const after = text.slice(to, end) + (end < text.length ? " …" : "");
  return element("li", link, ` · ${title}`, element("p", before, element("mark", text.slice(from, to)), after));
};

const show = (text) => {
  const { phrase, found } = find(text);
  const said = element("p");
  said.setAttribute("role", "status");
  const list = element("ol", ...found.map((one) => entry(one, phrase)));
  list.className = "phrases";
  document.getElementById("search-results").append(said, list);
  if (phrase) said.append(`The longest phrase that your text shares with this site has ${found[0].run.length} words.`);
  else if (found.length) said.append("No page says three of your words in a row, as far as they tell anything. These share words:");
  else said.append("No page shares more than a word with your text. Try the name of the operation or function in it.");
};

// Sphinx calls this with what was asked, when the page has been read.
const sphinx = Search.performSearch;
Search.performSearch = (text) => {
  document.querySelector("textarea[name=q]").value = text;
  if (read(text).length < LONG_ENOUGH) sphinx(text);
  else show(text);
};
