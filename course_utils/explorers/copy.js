// The Python call that reproduces what an explorer shows.

/**
 * "Copy as code": the button, and the line that shows what was copied.
 * text() gives the call at this moment. → {button, line, update()}
 */
function makeCopy(text) {
  const shown = make("input", {
    type: "text", readonly: true, class: "code", "aria-label": "code" });
  const said = make("span", { role: "status" });
  const line = make("div", { class: "copied", hidden: true }, shown, said);
  const button = make("button", { type: "button", class: "copy", onclick: async () => {
    line.hidden = false;
    shown.value = text();
    try {
      await navigator.clipboard.writeText(shown.value);
      setText(said, "copied");
    } catch {
      // No permission, or no clipboard on a page without a secure origin.
      shown.focus();
      shown.select();
      setText(said, "press Ctrl+C or ⌘C to copy");
    }
  } }, "Copy as code");
  function update() {
    if (line.hidden || shown.value === text()) return;
    shown.value = text();
    setText(said, "");
  }
  return { button, line, update };
}
