"""Cells of a notebook, run one by one in names that a test gives."""

import contextlib
import io
import linecache

from tools.canonical_form import COURSE, read


class Cells:
    """The cells of one notebook by id.

    Example: `names = Cells("06_training_loop").run("network", "right-loop")`.
    """

    def __init__(self, notebook):
        cells = read(COURSE / "notebooks" / f"{notebook}.ipynb").cells
        self.sources = {cell.id: cell.source for cell in cells}

    def run(self, *ids, names=None, replaced=(), until=None):
        """Runs cells as Jupyter does, so that `inspect.getsource` finds their
        functions.

        Args:
            names: what they find, and add to; new ones if None.
            replaced: pairs (old, new) of text, each of which has to be there.
            until: where the source ends, for a cell that defines first and then runs for long.
        """
        names = {} if names is None else names
        names.setdefault("__name__", "__main__")
        for id in ids:
            source = self.sources[id]
            for old, new in (*replaced, *([(until, "\0")] if until else [])):
                assert old in source, (id, old)
                source = source.replace(old, new)
            source, name = source.partition("\0")[0] + "\n", f"<cell {id}>"
            linecache.cache[name] = (
                len(source),
                None,
                source.splitlines(keepends=True),
                name,
            )
            exec(compile(source, name, "exec"), names)
        return names

    def printed(self, *ids, **options):
        """What cells print, as a list of lines without the empty ones."""
        out = io.StringIO()
        bars = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(bars):
            self.run(*ids, **options)
        return [line for line in out.getvalue().splitlines() if line.strip()]
