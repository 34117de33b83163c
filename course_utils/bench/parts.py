"""The parts of a measurement. Each takes a `Job` and returns what JSON can hold."""

import json
import math

import numpy as np

from course_utils import benchmark, energy, legs, roofline, stepping, sweeps
from course_utils.bench.job import BLOCKS, Job, compiled_block, compiled_cnn
from course_utils.bench.start import on_jax

PEAK_SECONDS = 300  # for a process that reads one peak on JAX: its imports, compiling, two steps


def cnn(job: Job) -> list[dict]:
    """The CNN under each policy: rows of `benchmark.Comparison.table`."""
    return _steps(job, "cnn", 1)


def transformer(job: Job) -> list[dict]:
    """The same for the Transformer block, forward, backward and update."""
    return _steps(job, "transformer", 0.5)


def true_float32(job: Job) -> dict[str, dict]:
    """{model: row} of float32 without TF32; {} where the device has no TF32 and it is the same."""
    if not job.tf32:
        return {}
    found = {}
    with stepping.tf32(False):
        for model in job.models:
            (found[model],) = _steps(job, model, 0.15, ["float32"])
    return found


def batches(job: Job) -> list[dict]:
    """The CNN at growing batch sizes: rows of `sweeps.batch_sweep`."""
    model, sizes = job.models["cnn"], job.work.batch_sizes
    order = np.resize(np.arange(len(model.x)), max(len(model.x), *sizes))
    x, y = model.x[order], model.y[order]
    return _rows(sweeps.batch_sweep(model.build, x, y, sizes, job.policies, 0.5 * job.seconds))


def matmul(job: Job) -> list[dict]:
    """Products of square matrices, in GFLOP/s: rows of `sweeps.matmul_rates`."""
    return _rows(sweeps.matmul_rates(job.work.matmul_sizes, seconds=job.seconds / 4), 1)


def ceilings(job: Job) -> list[dict]:
    """The roofs, of memory too: rows of `roofline.ceilings`, in TFLOP/s and GB/s."""
    dtypes = [policy.removeprefix("mixed_") for policy in job.policies]
    dtypes += ["tf32"] * job.tf32
    return _rows(roofline.ceilings(job.seconds / 4, dtypes, job.kind))


def joules(job: Job) -> list[dict]:
    """The energy of a step of each model under each policy; [] where nothing reports any."""
    if energy.meter(job.kind) is None:
        job.notes.append(energy.sentence(None))
        return []
    rows = []
    for model in job.models.values():
        x, y = model.x[: model.batch_size], model.y[: model.batch_size]
        for policy in job.policies:
            trainee = stepping.Trainee(model.build, policy)
            for _ in range(benchmark.WARM_UP_STEPS):
                trainee.step(x, y)
            run = lambda t=trainee, x=x, y=y: t.step(x, y)  # noqa: E731
            if found := energy.per_run(run, job.kind, max(1, job.seconds / 30)):
                rows.append({"model": model.name, "policy": policy, **vars(found)})
    return rows


def switches(job: Job) -> list[dict]:
    """This CPU under oneDNN's switches, each in a process of its own: rows of `legs.run`."""
    return _rows(legs.run(seconds=job.seconds / 5))


# What is measured, in this order, and what to call it meanwhile: `measurements.PARTS`.
PARTS = {
    "cnn": (cnn, "steps of the CNN"),
    "transformer": (transformer, "steps of a Transformer block"),
    "true_float32": (true_float32, "the same without TF32"),
    "batches": (batches, "batch sizes"),
    "matmul": (matmul, "matrix products"),
    "ceilings": (ceilings, "roofs"),
    "energy": (joules, "energy"),
    "legs": (switches, "oneDNN's switches"),
}


def _steps(job, name, share, policies=None):
    model, policies = job.models[name], policies or job.policies
    seconds = share * job.seconds
    try:
        result = _compare(model, policies, seconds)
    except Exception:  # the backend has no kernel for one of them on this device
        policies = [policy for policy in policies if _runs(job, model, policy)]
        result = _compare(model, policies, seconds)
    job.interrupted |= any("interrupted" in note for note in result.notes)
    table = result.table.drop(columns=["accuracy", "accuracy_se"]).reset_index()
    if on_jax() and not job.interrupted:
        table["peak_mb"] = [_peak_mb(job, name, policy) for policy in table["policy"]]
        table["memory_ratio"] = table["peak_mb"] / table["peak_mb"].iloc[0]
    if table["peak_mb"].isna().all():
        job.notes += [note for note in result.notes if "allocator" in note]
    job.notes += [note for note in result.notes if "interrupted" in note]
    return _rows(table)


def _compare(model, policies, seconds):
    return benchmark.compare_policies(
        model.build, model.x, model.y, policies, model.batch_size, seconds
    )


def _runs(job, model, policy):
    """Whether a step is possible; else a note says why not."""
    try:
        trainee = stepping.Trainee(model.build, policy)
        trainee.step(model.x[: model.batch_size], model.y[: model.batch_size])
    except Exception as error:
        job.notes.append(f"No {model.name} under {policy}. {legs.sentence(error)}")
        return False
    return True


def _peak_mb(job, name, policy):
    """JAX keeps one peak for the life of a process, so each is read in one of its own."""
    import jax

    if not jax.devices()[0].memory_stats():
        return math.nan
    arguments = {"name": name, "policy": policy, "batch_size": job.models[name].batch_size}
    arguments |= {"sizes": {k: v for k, v in BLOCKS[job.kind].items() if k != "batch_size"}}
    precision = jax.config.jax_default_matmul_precision
    variables = {"JAX_DEFAULT_MATMUL_PRECISION": precision}
    outcome = legs.call(peak_on_jax, arguments, variables, PEAK_SECONDS)
    if outcome.problem:
        job.notes.append(f"No peak memory of {name} under {policy}: {outcome.problem}")
    return math.nan if outcome.result is None else outcome.result / 1e6


def peak_on_jax(name: str, policy: str, batch_size: int, sizes: dict) -> int:
    """The largest memory in use, in bytes, of a process that makes two steps of a fresh model."""
    import jax

    if name == "cnn":
        build, shape, y = compiled_cnn, (28, 28, 1), np.zeros(batch_size, "int32")
    else:
        build, shape = (lambda: compiled_block(**sizes)), (sizes["tokens"], sizes["width"])
        y = np.zeros((batch_size, *shape), "float32")
    x = np.random.default_rng(0).random((batch_size, *shape), dtype="float32")
    trainee = stepping.Trainee(build, policy)
    for _ in range(2):
        trainee.step(x, y)
    return int(jax.devices()[0].memory_stats()["peak_bytes_in_use"])


def _rows(table, digits=4):
    return json.loads(table.to_json(orient="records", double_precision=digits))
