"""What the blank notebooks ask: {notebook: {tag: the text of its cell}}, in `CELLS`."""

from tools.canonical_form import COURSE, read, tags_of

CELLS = {
    path.name[:2]: {
        tag: cell.source for cell in read(path).cells for tag in tags_of(cell)
    }
    for path in sorted((COURSE / "notebooks").glob("[0-9]*.ipynb"))
}
