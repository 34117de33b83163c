"""What a class handed in: read from files and folders, and made into a board."""

import glob
import sys
from pathlib import Path

from course_utils.exercises import hand_ins as data
from course_utils.report import MARK


def run(paths: list[str], out: Path, csv: Path | None = None) -> int:
    """Reads reports, writes the board, says what was left out: 0, or 1 if there is no
    board.
    """
    reports, left_out = read(paths, out, csv or out)
    for name, why in left_out.items():
        print(f"Left out {name}: {why}.", file=sys.stderr)
    try:
        if not reports:
            raise ValueError(
                "There is no hand-in and no lab report in what was given, so no board was made."
            )
        from course_utils.report import board  # late: it loads pandas and matplotlib

        page = board.html(reports, left_out)
        data.write(page, out, "class board", f"{MARK}class board")
        if csv:
            table = board.rows(reports).to_csv(index=False, lineterminator="\n")
            data.write(table, csv, "table of a class", ",".join(board.COLUMNS))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{out} shows {len(reports)} of {len(reports) + len(left_out)} files.")
    return 0


def read(paths: list[str], *made: Path) -> tuple[dict, dict]:
    """The reports in files and folders, {name: data}, and what was left out, {name:
    why}; what is `made` of them does not count.
    """
    files = {file.absolute(): file for text in paths for file in _files(text)}
    for file in made:
        files.pop(file.absolute(), None)
    reports: dict = {}
    left_out: dict = {}
    for file in files.values():
        name = str(data.plain(str(file)))
        while name in reports or name in left_out:
            name += "*"
        try:
            if file.suffix == ".ipynb":
                raise data.NoReport(
                    "it is a notebook: ask for the file that its last cell writes, hand-in-….json"
                )
            report = data.read(file)
            twins = [other for other, each in reports.items() if each == report]
            if twins:
                raise data.NoReport(f"it is the same as {twins[0]}")
            reports[name] = report
        except data.NoReport as error:
            left_out[name] = str(error)
    return reports, left_out


def _files(text):
    if Path(text).is_dir():
        text = f"{glob.escape(text)}/**"
    # Windows leaves the stars to us. Hidden files, the system's or checkpoints, match none;
    # of whatever else is there the board tells.
    found = map(Path, sorted(glob.glob(text, recursive=True)) or [text])
    return [file for file in found if not file.is_dir()]
