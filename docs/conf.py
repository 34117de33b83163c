"""The web site's settings; `make site` writes its pages' sources and calls Sphinx with
them.
"""

project = "Mixed Precision, Measured"
author = "the authors of the course"
copyright = author
html_title = project
html_theme = "furo"
extensions = ["myst_nb", "sphinx_copybutton", "tools.passages"]
# Readers' machines run nothing, and ask nobody for anything: outputs are those that are
# stored, explorers bring their own scripts, and the widgets' manager would come from
# elsewhere.
nb_execution_mode = "off"
nb_ipywidgets_js = {}
nb_merge_streams = True
nb_mime_priority_overrides = [("html", "text/html", 5)]
myst_enable_extensions = ["html_image"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sphinx = False
html_copy_source = False
copybutton_selector = "div.cell_input div.highlight pre"
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
html_show_search_summary = False  # it would fetch pages, which a file may not


def setup(app):
    """Say what `make site` is at, a line for each step."""

    def reading(app, env, names):
        print(f"2 of 3: reading {len(names)} pages", flush=True)

    def writing(app, builder):
        print("3 of 3: writing them", flush=True)

    app.connect("env-before-read-docs", reading)
    app.connect("write-started", writing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
