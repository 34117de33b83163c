"""The tables of XProf, the program behind TensorBoard's Profile tab, without a browser."""

import json

import pandas as pd


def xprof_tables(trace, tool: str = "framework_op_stats") -> list[pd.DataFrame]:
    """What XProf makes of a trace, for comparing with the tables of this package.

    Seen on XProf 2.24: it finds no steps in a trace of Keras 3's TensorBoard callback, counts
    operations that allocate memory more than once, gives no time for operations that run
    eagerly, and calls what was in memory before the trace "unused preallocated device memory".

    Args:
        trace: what `record` or `open_trace` returned.
        tool: "framework_op_stats", "overview_page", "input_pipeline_analyzer", "kernel_stats", …

    Returns:
        The tool's tables with their columns named as XProf does (`operation`, `total_self_time`
        in microseconds, …), without tables that have no columns.

    Raises:
        ValueError: XProf is not installed, or cannot read this trace with this tool.

    Example:
        ops = profiling.xprof_tables(trace)[0]
    """
    try:
        from xprof.convert import raw_to_tool_data
    except ImportError:
        raise ValueError(
            "The package xprof is not installed: install it with `pip install xprof`, or use the "
            "tables of `profiling`, which do without it."
        ) from None
    files = [str(path) for path in sorted(trace.folder.glob("*.xplane.pb"))]
    try:
        data, _ = raw_to_tool_data.xspace_to_tool_data(files, tool, {})
        tables = json.loads(data)
        tables = [tables] if isinstance(tables, dict) else tables
        return [_frame(table) for table in tables if table["cols"]]
    except Exception as error:  # XProf raises whatever its C++ part raised.
        raise ValueError(
            f"XProf makes no tables of this trace with the tool {tool!r} "
            f"({type(error).__name__}): choose another tool, or record the trace again."
        ) from None


def _frame(table):
    columns = [column["id"] for column in table["cols"]]
    rows = [[cell.get("v") for cell in row["c"]] for row in table["rows"]]
    return pd.DataFrame(rows, columns=columns)
