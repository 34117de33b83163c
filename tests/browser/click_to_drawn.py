"""Time how long an explorer takes from a click to the drawn page, and its events, on two
sites side by side. By hand, on a quiet machine, with the site of before in OLD (`make site`
in a worktree of an older commit) and that of now in NEW:

    python tests/browser/click_to_drawn.py OLD NEW [ROUNDS]

OLD shows the explorers in pages of notebooks and on the first page, NEW in pages of their
own. The two take turns. A page is opened by a click on a link; it is drawn at the frame
after its explorer has a width, and the browser's clock starts with the click's navigation.
Events are those of test_every_explorer.py. The last column is the median of paired ratios.
"""

import statistics
import sys
from pathlib import Path

# the tests have both by their settings
sys.path += map(str, Path(__file__).resolve().parents[1:3])

from harness import FLAGS, find_chromium  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from test_every_explorer import TIMES  # noqa: E402

# The explorer, where the old site shows it, and the new page.
PLACES = {
    "floatlab, notebook": ("notebooks/01_floats.html", "float.html"),
    "floatlab, first page": ("index.html", "float.html"),
    "scalescope, notebook": ("notebooks/02_loss_scaling.html", "bathtub.html"),
    "softmaxcliff, notebook": ("notebooks/03_policy.html", "cliff.html"),
}
# Says in the console how many milliseconds after the navigation began. Playwright listens, and
# puts no script of its own into the page before.
WATCH = """(() => {
  const look = () => {
    const host = document.querySelector("[data-NAME]");
    const drawing = host?.shadowRoot?.querySelector("svg");
    if (!drawing?.getBoundingClientRect().width) return requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() => console.log("drawn", performance.now())));
  };
  look();
})()"""
EVENTS = 60


def measured(browser, path, name):
    """Milliseconds until an explorer is drawn, and the median of its events'."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    start = path.with_name("start.tmp.html")
    start.write_text(f'<!doctype html><a href="{path.name}">go</a>', encoding="utf-8")
    page.goto(start.as_uri())
    page.add_init_script(WATCH.replace("NAME", name))
    with page.expect_console_message(
        lambda said: said.text.startswith("drawn ")
    ) as said:
        page.locator("a").click()
    drawn = float(said.value.text.split()[1])
    times = page.locator(f"[data-{name}] .explorer").first.evaluate(TIMES, EVENTS)
    page.close()
    start.unlink()
    return drawn, statistics.median(times)


def main():
    old, new, *rest = sys.argv[1:]
    rounds = int(rest[0]) if rest else 15
    with sync_playwright() as playwright:
        path = find_chromium()
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for title, files in PLACES.items():
            name = title.split(",")[0]
            paths = [Path(old).resolve() / files[0], Path(new).resolve() / files[1]]
            pairs = [
                [measured(browser, path, name) for path in paths] for _ in range(rounds)
            ]
            for number, what in enumerate(("click to drawn", "event")):
                found = [[each[number] for each in pair] for pair in pairs]
                before, now = map(statistics.median, zip(*found, strict=True))
                ratio = statistics.median(new / old for old, new in found)
                print(f"{title:24}{what:16}{before:8.1f} ms{now:8.1f} ms{ratio:7.2f}")
        browser.close()


if __name__ == "__main__":
    main()
