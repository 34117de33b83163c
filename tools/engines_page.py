"""What data/engine_sums.json says, as docs/engines.md shows it."""

from tools import engine_sums as sums
from tools.engines import COLUMNS, COUNTS, SHAPES, THOUSANDS, exact

PARTS = "16 bits, in parts"
# Heading, what it tells, and the rows with their names on the page.
SECTIONS = [
    (
        "Sums and means",
        "`sum` and `mean` of NumPy and pandas add up bfloat16 in bfloat16, one number after "
        "another. Their float16 sums are right, with two exceptions: `cumsum`, "
        "and NumPy's sum over axis 0, which stops although its mean over axis 0 does not. (Before "
        "pandas 3 a DataFrame's sum stopped there, and its mean with it.) "
        "TensorFlow is the other way round: its bfloat16 sums are right, and those in float16 are "
        "kept in float16. JAX, PyTorch, ONNX Runtime, OpenVINO, and TensorFlow under XLA keep a "
        "sum and a mean in float32; a cumulated sum, or one by group, need not be. A mean has one "
        "more trap: 100 thousands are 100,000, more than float16 holds. TensorFlow's sum overflows "
        "on the way. MLX keeps its sum in float32, and its mean overflows all the same.",
        {
            sums.SUM: "sum",
            sums.COLUMNS: "sum, axis 0",
            sums.MEAN: "mean",
            sums.MEANS: "mean, axis 0",
            THOUSANDS: "mean of 100 thousands",
            sums.CUMSUM: "cumsum, its last number",
            sums.GROUPS: "sum by group",
        },
    ),
    (
        "Products, convolutions, pooling",
        "`dot` and `matmul` are right in each engine but OpenVINO, for NumPy's bfloat16, too. "
        "`einsum` is not always: in float16 NumPy's stops with two matrices, and TensorFlow's with "
        "two vectors. OpenVINO computes the products of a float16 model in bfloat16 on this CPU, "
        "and 4,992 is the number of bfloat16 next to 5,000: its sums are right, and its result "
        "is rounded. An average pooling counts its positions: TensorFlow's sum stops at 32,768 and "
        "its count at 2,048, so that the average of tens is 16. Flax's adds up in 16 bits and "
        "divides by the right count. MLX's overflows with 20,000 tens, as its mean does.",
        {
            sums.DOT: "dot",
            sums.MATMUL: "matmul",
            sums.EINSUM: "einsum `i,i->`",
            sums.PRODUCT: "einsum `ij,jk->ik`",
            sums.DEPTHWISE: "depthwise convolution",
            sums.POOL: "average pooling, of tens",
        },
    ),
    (
        "Adding by index",
        "`np.add.at`, `tf.tensor_scatter_nd_add`, `x.at[i].add` and `index_add` add many rows into "
        "one place, and nearly all of them do so in 16 bits, one after another. PyTorch's "
        "`index_add` does it for numbers, and not for rows of them; its `scatter_add` is always "
        "right. OpenVINO is right in float16 and stops in bfloat16.",
        {
            sums.NUMBERS: "numbers by index",
            sums.INDEXED: "rows by index",
            sums.SCATTERED: "scatter along an axis",
        },
    ),
    (
        "Gradients",
        "A row of an embedding that is used 1,000 times gets 1,000 gradients, which are added by "
        "index. So the gradient of a 16-bit embedding stops in every library that has one, under "
        "XLA too. Only in PyTorch it depends on how the rows are taken: with `index_select` and "
        "with `gather` the gradient is right, with `x[i]` and `functional.embedding` it stops. A "
        "bias is added to each row. TensorFlow's `bias_add`, which most of Keras's layers use, "
        "stops in bfloat16, and its `x + b` in float16; under XLA and in the other libraries both "
        "are right. PyTorch adds up the bias of a layer norm in 16 bits, one sum for each of its "
        "threads, and there were two. A weight that is used in each step of a loop, as in a "
        "recurrent network, gets its gradient step by step in 16 bits, in all libraries that "
        "returned one.",
        {
            sums.TABLE: "embedding: its table",
            sums.BY_INDEX: "`x[i]`: x",
            sums.TAKEN: "rows taken: x",
            sums.GATHERED: "gather along an axis: x",
            sums.BIAS: "a layer's bias",
            sums.PLUS: "`x + b`: b",
            sums.KERNEL: "convolution: its filter",
            sums.NORM: "layer norm: its bias",
            sums.LOOP: "a weight used n times",
        },
    ),
]
ROWS = {name: title for _, _, rows in SECTIONS for name, title in rows.items()}
SHORT = {"NumPy, ml_dtypes": "NumPy", "TensorFlow, XLA": "XLA", "ONNX Runtime": "ONNX"}


def told(record) -> dict:
    """What the template `engines.md` asks for of a record."""
    libraries = record["libraries"]
    return {
        "counts": [(dtype, _plain(count)) for dtype, count in COUNTS.items()],
        "libraries": [
            (name, _versions(library), library["date"])
            for name, library in libraries.items()
        ],
        "cpus": " and ".join(sorted({each["cpu"] for each in libraries.values()})),
        "names": [SHORT.get(name, name) for name in libraries],
        "sections": [
            (
                title,
                text,
                [
                    (dtype, [_row(libraries, name, dtype) for name in rows])
                    for dtype in COUNTS
                ],
            )
            for title, text, rows in SECTIONS
        ],
        "shapes": list(_by_shape(libraries)),
        "columns": [
            [library, ROWS[name], dtype, *map(_together, answer["columns"].values())]
            for library, name, dtype, answer in _all(libraries)
            if "columns" in answer
        ],
        "asked_columns": COLUMNS,
        "switched": list(_by_switch(libraries)),
        "the_same": [
            (name, _settings(library))
            for name, library in libraries.items()
            if library["switches"] and not list(_by_switch({name: library}))
        ],
        "without": [
            name for name, library in libraries.items() if not library["switches"]
        ],
    }


def _versions(library):
    return ", ".join(map(" ".join, library["versions"].items()))


def _settings(library):
    return " ".join(f"{name}={value}" for name, value in library["switches"].items())


def _row(libraries, name, dtype):
    right = exact(name, COUNTS[dtype])
    found = [each["sums"].get(name, {}).get(dtype) for each in libraries.values()]
    return [ROWS[name], _plain(right), *(shown(answer, right) for answer in found)]


def shown(answer, right, shape=0):
    """An answer as a cell: bold where it is wrong, marked where it is right in 16 bits."""
    if answer is None:
        return "–"
    numbers = answer["numbers"][shape]
    text = _together(numbers)
    if numbers != [right]:
        return f"**{text}**"
    return f"{text}°" if answer["kept in"] == PARTS else text


def _by_shape(libraries):
    """A row for each sum of which the shape decides whether it is right."""
    for library, name, dtype, answer in _all(libraries):
        cells = [
            shown(answer, exact(name, count), n)
            for n, (count, _) in enumerate(SHAPES[dtype][: len(answer["numbers"])])
        ]
        if len({"**" in cell for cell in cells}) == 2:
            yield [library, ROWS[name], dtype, *cells]


def _by_switch(libraries):
    """A row for each sum that a library's switches change."""
    for library, name, dtype, answer in _all(libraries):
        about = libraries[library]
        if not about["switches"]:
            continue
        right = exact(name, COUNTS[dtype])
        cells = [
            shown(each, right) for each in (answer, about["switched"][name].get(dtype))
        ]
        if cells[0] != cells[1]:
            yield [library, _settings(about), ROWS[name], dtype, *cells]


def _all(libraries):
    for library, about in libraries.items():
        for name in ROWS:
            for dtype, answer in about["sums"].get(name, {}).items():
                yield library, name, dtype, answer


def _together(numbers):
    return " and ".join(map(_plain, numbers))


def _plain(number):
    if isinstance(number, str):
        return {"inf": "infinity", "-inf": "−infinity", "nan": "NaN"}[number]
    return f"{number:,.4g}" if number < 20 else f"{number:,.0f}"
