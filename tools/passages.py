"""What the site's search finds phrases in: the words of every page, passage by passage.

A passage is what stands under one heading, or an entry of a list of questions. Sphinx
calls `setup` (docs/conf.py), and docs/_static/phrases.js, on the search page alone, reads
the file that is written.
"""

import json
import re

from docutils import nodes

from tools import toys

FILE = "_static/passages.js"
# Pages whose lists are entries of their own, each with an address.
LISTED = ("ask", "glossary")
# A notebook's outputs are tables and numbers; of them people paste what went wrong.
PASTED = re.compile(r"Error|Warning| does not | cannot ")
# Answers of exercises are no place to be sent to, lessons are cells of the notebooks, what
# lies in data is told in them, and the pages of one explorer are none of Sphinx's
# (tools/site.py).
LEFT_OUT = ("guide/", "notebooks/workshop", "notebooks/lightning", "data/")
LEFT_OUT += tuple(toys.TITLES)


def note(app, doctree):
    """Keep a page's passages; give the entries of its lists addresses first."""
    name = app.env.docname
    if name.startswith(LEFT_OUT):
        return
    if name in LISTED:
        for number, item in enumerate(doctree.findall(nodes.list_item), 1):
            item["ids"].append(f"entry-{number}")
    noted(app.env)[name] = list(passages_of(doctree))


def noted(env):
    """The passages of the pages that this process has read."""
    if not hasattr(env, "passages"):
        env.passages = {}
    return env.passages


def merge(app, env, names, other):
    """Take over what another process has read."""
    noted(env).update(noted(other))


def words_of(node):
    """A node's text in one line; of an output only lines about what went wrong."""
    texts = node.findall(nodes.Text)
    text = "".join(one for one in texts if not isinstance(one.parent, nodes.raw))
    if isinstance(node, nodes.literal_block) and "output" in " ".join(node["classes"]):
        text = " ".join(line for line in text.splitlines() if PASTED.search(line))
    return " ".join(text.split())


def is_apart(node):
    """Whether a node holds no words of its section's."""
    return (
        not isinstance(node, nodes.Element)
        or isinstance(node, nodes.section | nodes.title | nodes.raw | nodes.Invisible)
        or "cell_input" in node.get("classes", ())
        or isinstance(node, nodes.list_item)
        and any(id.startswith("entry-") for id in node["ids"])
    )


def blocks(node):
    """The blocks of text below a node that belong to its passage."""
    for child in node.children:
        if is_apart(child):
            continue
        if isinstance(child, nodes.TextElement):
            yield child
        else:
            yield from blocks(child)


def passages_of(doctree):
    """(Heading, address, words) of each passage of a page."""
    for place in doctree.findall():
        listed = isinstance(place, nodes.list_item)
        if not (isinstance(place, nodes.section) or listed and is_apart(place)):
            continue
        titles = nodes.emphasis | nodes.strong if listed else nodes.title
        heading = words_of(
            next(node for node in place.findall() if isinstance(node, titles))
        )
        words = " ".join(filter(None, map(words_of, blocks(place))))
        yield heading, place["ids"][0], words.removeprefix(heading).strip()


def write(app, failure):
    """Write the passages of all pages beside the search's script."""
    if failure:
        return
    pages = [
        (name, app.env.titles[name].astext(), rows)
        for name, rows in sorted(noted(app.env).items())
    ]
    text = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
    (app.outdir / FILE).write_text(f"const PASSAGES = {text};\n", encoding="utf-8")


def on_search(app, page, template, context, doctree):
    """Load what finds phrases on the search page alone."""
    if page == "search":
        for name in ("passages.js", "phrases.js"):
            app.add_js_file(name, loading_method="defer")


def setup(app):
    app.connect("doctree-read", note)
    app.connect("env-merge-info", merge)
    app.connect("html-page-context", on_search)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
