"""The course's commands: `python -m course_utils bench`."""

import argparse
import sys

from course_utils import measurements, session


def main(arguments: list[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m course_utils", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    bench = commands.add_parser("bench", help="measure this device and write the result as JSON")
    bench.add_argument("--seconds", type=_seconds, default=60, help="time for the steps (60)")
    bench.add_argument("--output", help="the file to write (default: in data/measurements)")
    options = parser.parse_args(arguments)
    session.setup()
    measurement = measurements.record(options.seconds)
    if not measurement["cnn"][0]["steps"]:
        print("Interrupted before the first step: nothing was written.", file=sys.stderr)
        return 1
    print(measurements.table([measurement]).to_string(index=False))
    print(f"Written to {measurements.save(measurement, options.output)}")
    return 0


def _seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 1 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 1 to 3600")
    return value


if __name__ == "__main__":
    sys.exit(main())
