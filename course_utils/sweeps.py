"""The same measurement over many settings: batch sizes, seeds, matrix sizes."""

import time

import keras
import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from course_utils import hardware
from course_utils.benchmark import POLICIES, compare_policies
from course_utils.stepping import Trainee, batches, rounds


def batch_sweep(
    build_model, x, y, batch_sizes, policies=POLICIES, seconds: float = 20
) -> pd.DataFrame:
    """Throughput and peak memory of one step at growing batch sizes.

    Args and errors are those of `compare_policies`; `seconds` is for all batch
    sizes together. A batch size that runs out of memory ends the sweep.

    Returns:
        A DataFrame with policy, batch_size, step_ms, samples_per_s, peak_mb.
    """
    tables = []
    for size in batch_sizes:
        try:
            share = seconds / len(batch_sizes)
            result = compare_policies(build_model, x, y, policies, size, share)
        except Exception as error:
            # TensorFlow says it in the class, JAX in the message.
            said = f"{type(error).__name__} {error}".upper().replace("_", "")
            if "RESOURCEEXHAUSTED" not in said or not tables:
                raise
            print(f"Batch size {size} does not fit into this device's memory: the sweep ends here.")
            break
        tables.append(result.table.reset_index().assign(batch_size=size))
        if any("interrupted" in note for note in result.notes):
            break
    sweep = pd.concat(tables, ignore_index=True)
    sweep["samples_per_s"] = sweep["batch_size"] / sweep["step_ms"] * 1e3
    return sweep[["policy", "batch_size", "step_ms", "samples_per_s", "peak_mb"]]


def loss_curves(
    build_model,
    x,
    y,
    policies=POLICIES,
    seeds=(0, 1, 2),
    batch_size: int = 128,
    seconds: float = 20,
) -> pd.DataFrame:
    """The loss of every step, for each policy and seed, all with the same number of steps.

    The first seed sets how many steps fit into its share of the time; the others
    follow with as many. A seed sets the initial weights; all runs see the same batches.

    Returns:
        A DataFrame with policy, seed, step, loss.
    """
    trainees = [Trainee(build_model, policy) for policy in policies]
    rows, count = [], None
    share = seconds / len(seeds)
    try:
        for seed in seeds:
            source = batches(x, y, batch_size, seed=0)
            for trainee in trainees:
                trainee.restart(seed)
            for number in rounds(share, f"seed {seed}", at_least=3, exactly=count):
                xb, yb = next(source)
                done = [(t.policy, seed, number, t.step(xb, yb).loss) for t in trainees]
                rows += done
            count = number + 1
    except KeyboardInterrupt:
        print("Interrupted: the curves show what was trained until then.")
    return pd.DataFrame(rows, columns=["policy", "seed", "step", "loss"])


def matmul_rates(
    sizes, dtypes=("float32", "bfloat16", "float16"), seconds: float = 6
) -> pd.DataFrame:
    """How fast this device multiplies two square matrices, by size and dtype.

    Args:
        sizes: matrix sizes n; a product takes 2·n³ floating-point operations.
        dtypes: dtypes of both factors and of the product. bfloat16 is left out, and a sentence
            says so, where it would end the process.
        seconds: time for all of it; each case is run at least three times.

    Returns:
        A DataFrame with size, dtype, gflops (median), q1 and q3 (quartiles).
    """
    if "bfloat16" in dtypes and hardware.bfloat16_ends_the_process():
        dtypes = [dtype for dtype in dtypes if dtype != "bfloat16"]
        print("Left out: with this ONEDNN_MAX_CPU_ISA a bfloat16 product ends the process.")
    cases = [(n, dtype) for n in sizes for dtype in dtypes]
    rows = []
    try:
        for n, dtype in tqdm(cases, desc="matrix products", leave=False):
            a = keras.ops.cast(keras.random.uniform((n, n), seed=0), dtype)
            times = []
            deadline = time.perf_counter() + seconds / len(cases)
            while len(times) < 4 or (time.perf_counter() < deadline and len(times) < 1000):
                start = time.perf_counter()
                # Reading one element back forces the device to finish.
                float(keras.ops.cast(keras.ops.matmul(a, a)[0, 0], "float32"))
                times.append(time.perf_counter() - start)
            q3, median, q1 = np.quantile(times[1:], (0.25, 0.5, 0.75))
            rate = 2e-9 * n**3
            rows.append((n, dtype, rate / median, rate / q1, rate / q3))
    except KeyboardInterrupt:
        print("Interrupted: the table holds the cases measured until then.")
    return pd.DataFrame(rows, columns=["size", "dtype", "gflops", "q1", "q3"])
