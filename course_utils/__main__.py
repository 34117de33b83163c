"""The course's commands, `python -m course_utils bench`, `sums`, `examine` and the like."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  (before what an older Python cannot read)
    sys.exit(
        "The course needs Python 3.11, 3.12 or 3.13, and this is {}.{}: run `make lab` in the "
        "course's folder (on Windows what docs/platforms.md says), then this command with "
        ".venv/bin/python (on Windows .venv\\Scripts\\python).".format(
            *sys.version_info
        )
    )

import argparse
import gc
import json
from pathlib import Path

from course_utils import check, records, session


def main(arguments: list[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m course_utils", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    bench = commands.add_parser(
        "bench", help="measure this device and write the result as JSON"
    )
    bench.add_argument(
        "--seconds",
        type=seconds,
        default=60,
        help="time for the CNN's steps (60); in all it takes some three times as long",
    )
    bench.add_argument(
        "--parts",
        nargs="+",
        choices=records.PARTS,
        default=records.PARTS,
        help="what to measure (everything)",
    )
    bench.add_argument(
        "--no-xla", action="store_true", help="even where Keras would choose XLA"
    )
    sums = commands.add_parser(
        "sums", help="say in which dtype each operation adds up on this device"
    )
    sums.add_argument(
        "--all", action="store_true", help="in graphs and under XLA too (two minutes)"
    )
    # the linter reads what follows it
    commands.add_parser(
        "examine", help="look for mixed-precision mistakes in a saved model or a script"
    )
    class_board = commands.add_parser(
        "class-board", help="put what a class handed in side by side on one page"
    )
    class_board.add_argument(
        "reports", nargs="+", help="the .json and .html files, or folders of them"
    )
    class_board.add_argument(
        "--csv", type=_file, help="a table to write too, for a learning platform"
    )
    class_board.add_argument(
        "--out",
        type=_file,
        default=Path("class_board.html"),
        help="the page to write (class_board.html)",
    )
    drill = commands.add_parser(
        "drill", help="give each of two replicas an overflow, and judge the training"
    )
    drill.add_argument(
        "script",
        type=argparse.FileType(encoding="utf-8"),
        help="its function `drill` returns strategy, model, optimizer, step and batch",
    )
    drill.add_argument(
        "--devices",
        action="store_true",
        help="in one process with two devices, as for MirroredStrategy (two processes)",
    )
    drill.add_argument(
        "--seconds", type=seconds, default=10, help="that nobody may wait longer (10)"
    )
    drill.add_argument(
        "--certificate", type=_file, help="a file to write too, to be handed in"
    )
    own = "a new one in data/measurements/own"
    for each, default in ((bench, own), (sums, "none"), (drill, "no picture")):
        each.add_argument(
            "--output", type=_file, help=f"the file to write (default: {default})"
        )
    for each in (bench, sums):
        each.add_argument(
            "--name", help="what to call this device (default: its own name)"
        )
    commands.add_parser(
        "check", help="say whether this machine has what the course needs"
    )
    arguments = sys.argv[1:] if arguments is None else arguments
    examines = arguments[:1] == ["examine"]
    options = parser.parse_args(arguments[:1] if examines else arguments)
    try:
        if examines:
            from mixed_precision_lint import command

            return command.main(arguments, "course_utils.precision:slow_here")
        return _run(options)
    except session.SetupError as error:
        print(error, file=sys.stderr)
    except ModuleNotFoundError as error:
        print(
            f"The package {error.name} is not installed in {sys.executable}: run `make lab` in the "
            "course's folder (on Windows what docs/platforms.md says), then "
            f"`{check.PYTHON} -m course_utils {options.command}`.",
            file=sys.stderr,
        )
    except KeyboardInterrupt:
        return 130  # as shells tell it
    return 2 if examines else 1  # 1 says that examine found something


def _run(options):
    """Runs the command; what loads NumPy or more is imported late, for `check`."""
    if options.command == "check":
        return check.run()
    if options.command == "class-board":
        from course_utils.report import collection

        return collection.run(options.reports, options.out, options.csv)
    session.setup()
    if options.command == "drill":
        from course_utils.distributed import drill
        from course_utils.report import certificates

        processes = 1 if options.devices else 2
        script = Path(options.script.name)
        return certificates.issue(
            drill.run(script, processes, options.seconds),
            script.name,
            f"processes: {processes}",
            options.seconds,
            options.output,
            options.certificate,
        )
    return _sums(options) if options.command == "sums" else _bench(options)


def _sums(options):
    """Prints who adds up in what, and writes the record if a file is named."""
    from course_utils.precision import sums

    table = sums.survey(sums.MODES if options.all else ("eager",))
    if len(table):
        print(sums.side_by_side(table).to_string())
    if options.output:
        sum_record = sums.record(table, options.name)
        print(f"Written to {records.save(sum_record, options.output)}")
    return 0


def _bench(options):
    """Measures, prints the tables and writes the file; the result is never lost."""
    from course_utils import roofline
    from course_utils.benchmark import measure  # loads Keras and its backend

    compiler = False if options.no_xla else "auto"
    measurement = measure.record(
        options.seconds, options.name, options.parts, roofline.network(), compiler
    )
    if not any(
        rows and rows[0].get("steps", 1) for rows in map(measurement.get, options.parts)
    ):
        none = "No step was measured to its end, so nothing was written."
        print(*measurement["notes"], none, sep="\n", file=sys.stderr)
        return 1
    for model in records.MODELS:
        rows = records.table([measurement], model)
        if len(rows):
            print(f"\n{model}\n{rows.to_string(index=False)}")
    for roof in measurement.get("ceilings", []):
        unit = "GB/s" if roof["figure"] in ("memory", "cache") else "TFLOP/s"
        print(f"{roof['figure']}, {roof['case']}: {roof['value']:.3g} {unit}")
    print(*measurement["notes"], sep="\n")
    try:
        print(f"Written to {records.save(measurement, options.output)}")
    except OSError as error:
        print(json.dumps(measurement))
        print(f"It could not be written, so it stands above: {error}", file=sys.stderr)
        return 1
    return 0


def _file(text):
    """A path that can be written to, checked before a minute of measuring."""
    if Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a folder: give the name of a file")
    return Path(text)


def seconds(text: str) -> float:
    """The time that an option gives, from 1 second to an hour."""
    if not 1 <= float(text) <= 3600:
        raise argparse.ArgumentTypeError(f"{text} is not from 1 to 3600")
    return float(text)


if __name__ == "__main__":
    status = main()
    gc.freeze()  # one more search for garbage took two seconds
    sys.exit(status)
