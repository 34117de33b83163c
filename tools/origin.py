"""Which notebooks are the course's own: what somebody worked in goes nowhere.

Whoever works through a blank notebook in JupyterLab stores guesses, answers and outputs
in it. Two questions tell it from the course's, and need no Git, which a ZIP lacks:

- `worked_in`: was a cell run, or an exercise's stub filled in? A maintainer's edit is
  neither, so the commands that keep the notebooks stop here.
- `strange`: is it, cell by cell, what its solved copy was made of? That holds for an
  edit too, once it is solved, so what hands notebooks out stops at anything else.
"""

from tools.canonical_form import code_cells, read, solution_form, tags_of

STUBS = ("prediction", "exercise-")  # how a stub's id or tag begins


def solved_copy(path):
    return path.parent / "solved" / path.name


def given(cell):
    """Return what a cell holds in the blank notebook: of a solved exercise, its stub."""
    return cell.metadata.get("stub", cell.source)


def worked_in(path):
    """Return what shows that somebody worked in a blank notebook, or ""."""
    try:
        cells = code_cells(read(path))
    except ValueError:  # it is none: its faults say so
        return ""
    if any(cell.outputs or cell.execution_count for cell in cells):
        return "its cells were run"
    for cell in cells:
        names = [cell.get("id", ""), *tags_of(cell)]
        if any(name.startswith(STUBS) for name in names) and "..." not in cell.source:
            return f"{cell.get('id')!r} is filled in"
    return ""


def changes(wanted, solved):
    """Return in what a solved copy does not follow from its blank notebook, of which this
    is the solution form. A lesson's has no solutions.
    """
    if [cell.id for cell in wanted.cells] != [cell.get("id") for cell in solved.cells]:
        return ["its cells are not those of the blank notebook"]
    return [
        f"cell {new.id!r} does not follow from the blank notebook"
        for new, old in zip(wanted.cells, solved.cells, strict=True)
        if (new.cell_type, given(new)) != (old.cell_type, given(old))
        or tags_of(new) != tags_of(old)
        or ("stub" in new.metadata and new.source != old.source)
    ]


def ran_once(solved):
    counts = [cell.execution_count for cell in code_cells(solved)]
    return counts == list(range(1, len(counts) + 1))


def strange(path, with_copy=False):
    """Return why the course does not hand out this notebook of its folder, or "".

    `with_copy` asks the same of its solved copy.
    """
    if not solved_copy(path).exists():
        return "it has no solved copy"
    try:
        wanted, solved = solution_form(read(path), path.name), read(solved_copy(path))
    except ValueError as error:
        return str(error)
    if reason := worked_in(path):
        return reason
    if changes(wanted, solved):
        return "its solved copy was made of other cells"
    if with_copy and not ran_once(solved):
        return "its solved copy was not run whole"
    return ""


def stop_at(paths, reason, cure):
    """End the command with one message, if there is a reason against some of these
    notebooks.
    """
    found = [(path.stem, reason(path)) for path in paths]
    named = [f"{name} ({why})" for name, why in found if why]
    if named:
        raise SystemExit(
            "Nothing was written, since these notebooks are not as the course has "
            f"them: {', '.join(named)}. {cure}"
        )


def way_back(folder):
    """Return how to get the course's own notebooks into this folder, and keep one's
    own.
    """
    if (folder / ".git").exists():
        return (
            "`git stash push -- notebooks` puts the course's own there, and `git stash "
            "pop` brings these back; what Git does not know, move elsewhere."
        )
    return "Unpack the course once more, into another folder, and run this there."
