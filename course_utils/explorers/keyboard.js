// The key guard. JupyterLab listens on the document, where it sees the host and not the field or
// button in its shadow root: it would take the letters a learner types for its own shortcuts, and
// cut the cell on "x".

const isForTheNotebook = (event) => {
  const command = event.ctrlKey || event.metaKey;
  if (event.key === "Escape") return true;
  if (event.key === "Enter") return command || event.shiftKey;
  return command && event.key.toLowerCase() === "s";
};

// Keep keys inside an explorer, except those that save, run the cell or leave it. Nothing is
// prevented: Tab moves the focus and Ctrl+C copies. Listeners on elements inside run before this.
function guardKeys(shadowRoot) {
  for (const type of ["keydown", "keypress", "keyup"]) {
    shadowRoot.addEventListener(type, (event) => {
      if (!isForTheNotebook(event)) event.stopPropagation();
    });
  }
}
