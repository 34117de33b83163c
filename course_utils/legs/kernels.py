"""What the legs showed: their steps, and the kernels that oneDNN reported for them."""

PRODUCTS = ("convolution", "inner_product", "matmul", "gemm_api")
COLUMNS = ["leg", "policy", "step_ms", "speedup", "kernels", "note"]
KERNELS = ["leg", "policy", "operation", "kernel", "dtype", "calls", "ms"]
MARK = "@step "  # in a leg's output, before the lines of that step


def table(outcomes: dict):
    """The legs of `measure` as a DataFrame: leg, policy, step_ms, speedup, kernels, note.

    step_ms is the median; speedup is against float32 in the same leg; kernels names those of
    oneDNN's kernels for products that took most of the products' time, with the dtype of their
    input and the calls a step. A leg or policy without a result has NaN, and a note says why.
    """
    import pandas as pd

    named, unknown, rows = kernels(outcomes), float("nan"), []
    for leg, outcome in outcomes.items():
        if outcome.problem:
            rows.append([leg, "", unknown, unknown, "", outcome.problem])
            continue
        times = {row["policy"]: row["step_ms"] for row in outcome.result}
        for row in outcome.result:
            mine = named[(named["leg"] == leg) & (named["policy"] == row["policy"])]
            speedup = times.get("float32", unknown) / row["step_ms"]
            line = [leg, row["policy"], row["step_ms"], speedup, _most(mine)]
            rows.append([*line, row["note"]])
    return pd.DataFrame(rows, columns=COLUMNS)


def kernels(outcomes: dict):
    """What oneDNN reported in the legs of `measure`: a row per operation, kernel and dtype.

    Read from the lines of ONEDNN_VERBOSE. calls and ms (by oneDNN's own clock) are means over
    the timed steps. "gemm_api" is oneDNN's plain product, which TensorFlow's own (Eigen) kernels
    call inside, for small blocks that they have converted to float32 first where needed.

    Returns:
        A DataFrame: leg, policy, operation, kernel, dtype (of the input), calls, ms; the longest
        first in each leg and policy. Empty where oneDNN reports nothing.
    """
    import pandas as pd

    sums, steps = {}, {}
    for leg, outcome in outcomes.items():
        policy = None
        for line in outcome.printed.splitlines():
            if line.startswith(MARK):
                policy = line.removeprefix(MARK).strip()
                steps[leg, policy] = steps.get((leg, policy), 0) + 1
            elif policy and (found := _kernel(line)):
                *what, ms = found
                calls, so_far = sums.get((leg, policy, *what), (0, 0.0))
                sums[(leg, policy, *what)] = calls + 1, so_far + ms
    rows = []
    for (leg, policy), number in steps.items():
        mine = [(key, n, ms) for key, (n, ms) in sums.items() if key[:2] == (leg, policy)]
        for key, n, ms in sorted(mine, key=lambda row: -row[2]):
            rows.append([*key, n / number, ms / number])
    return pd.DataFrame(rows, columns=KERNELS)


def _kernel(line):
    """(operation, kernel, dtype, ms) of one of ONEDNN_VERBOSE's lines, or None."""
    parts = line.split(",")
    if parts[0] != "onednn_verbose" or "exec" not in parts[:6] or "graph" in parts[:4]:
        return None
    at = parts.index("exec")
    try:
        operation, kernel, memory, ms = parts[at + 2], parts[at + 3], parts[at + 5], parts[-1]
        # "src:bf16::blocked:acdb::f0 wei:…"; in the lines of gemm_api "src_f32::blocked:ab:f0 …".
        dtype = memory.replace("_", ":", 1).split(":")[1]
        return operation, kernel or operation, dtype, float(ms)
    except (IndexError, ValueError):
        return None


def _most(mine, share=0.8):
    """The kernels for products that took so much of the products' time, in words."""
    mine = mine[mine["operation"].isin(PRODUCTS)]
    if mine.empty:
        return ""
    # A convolution's gradient names two kernels, "brg_conv_bwd:… + brg_conv_fwd:…".
    short = mine["kernel"].str.split("+").str[0]
    mine = mine.assign(kernel=short).groupby(["dtype", "kernel"], as_index=False)[["calls", "ms"]]
    mine = mine.sum().sort_values("ms", ascending=False)
    before = mine["ms"].cumsum().shift(fill_value=0) / mine["ms"].sum()
    shown = mine[before < share].itertuples()
    return "; ".join(f"{row.dtype} {row.kernel} ×{row.calls:.0f}" for row in shown)
