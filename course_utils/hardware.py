"""What this machine is, whether it really works, and which dtype policy follows.

Accelerators are probed in a subprocess, because a broken driver or a missing
kernel can take the whole process down. Nothing here imports TensorFlow into the
learner's process, needs a network, or needs administrator rights.
"""

import functools
import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from course_utils.accelerators import Accelerator, find_accelerators, run

# The instruction sets that decide how fast 16-bit arithmetic is on an x86 CPU,
# with the names that Linux uses in /proc/cpuinfo.
X86_SETS = ("avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_fp16")
ARM_SETS = ("asimdhp", "bf16")

# Chips of compute capability 7.5 that were built without tensor cores (TU116 and TU117).
WITHOUT_TENSOR_CORES = r"GTX 16\d0|MX4\d0|T4\d\d\b|T5\d\d\b|T6\d\d\b|T1000|T1200"


@dataclass(frozen=True)
class Hardware:
    """What was found on this machine.

    Attributes:
        system: operating system and architecture, "Linux x86_64".
        cpu: the CPU's model name.
        cores: cores that this process may use.
        instruction_sets: those of `X86_SETS` or `ARM_SETS` that the CPU has,
            or None where the system does not tell.
        onednn: whether TensorFlow's oneDNN kernels are on (x86 default: yes).
        max_isa: value of ONEDNN_MAX_CPU_ISA, or "" when it is not set.
        accelerators: GPUs and TPU cores, working or not.
    """

    system: str
    cpu: str
    cores: int
    instruction_sets: tuple[str, ...] | None
    onednn: bool = True
    max_isa: str = ""
    accelerators: tuple[Accelerator, ...] = ()

    def working(self, kind):
        """The accelerators of one kind ("GPU" or "TPU") that work."""
        return tuple(a for a in self.accelerators if a.kind == kind and a.works)

    def __str__(self):
        sets = "instruction sets unknown"
        if self.instruction_sets is not None:
            wide = [s for s in self.instruction_sets if s not in ("avx512f", "asimdhp")]
            sets = ", ".join(wide) or "no 16-bit instruction sets"
        lines = [f"{self.cpu}, {self.cores} cores ({sets})"]
        for a in self.accelerators:
            cc = f", compute capability {a.compute_capability}" if a.compute_capability else ""
            gib = f", {a.memory_bytes / 2**30:.0f} GiB" if a.memory_bytes else ""
            lines.append(f"{a.kind} {a.name}{cc}{gib}" + ("" if a.works else f": {a.problem}"))
        return " · ".join(lines)


@dataclass(frozen=True)
class Workload:
    """Sizes that keep this hardware busy without keeping the learner waiting.

    Attributes:
        batch_size: samples in a training step.
        batch_sizes: what a sweep over batch sizes tries, smallest first.
        matmul_sizes: sizes n of the n × n matrices to multiply.
    """

    batch_size: int
    batch_sizes: tuple[int, ...]
    matmul_sizes: tuple[int, ...]


def workload(hardware: Hardware | None = None) -> Workload:
    """The sizes that the notebooks use on this hardware.

    Example:
        >>> workload(Hardware("Linux x86_64", "some CPU", 2, ())).batch_size
        256
    """
    hw = hardware or detect()
    if hw.working("GPU"):
        return Workload(2048, (256, 1024, 4096, 16384), (256, 512, 1024, 2048, 4096))
    return Workload(256, (64, 256, 1024), (64, 128, 256, 512, 1024))


@functools.cache
def detect() -> Hardware:
    """Looks at this machine once per process; never raises.

    Takes milliseconds without an accelerator. With one, a subprocess imports
    TensorFlow and multiplies two small matrices on it (5 to 20 s).

    Example:
        >>> detect().cores >= 1
        True
    """
    return Hardware(
        system=f"{platform.system()} {platform.machine()}",
        cpu=_cpu_name(),
        cores=_cores(),
        instruction_sets=_instruction_sets(),
        onednn=os.environ.get("TF_ENABLE_ONEDNN_OPTS", "1").lower() not in ("0", "false"),
        max_isa=os.environ.get("ONEDNN_MAX_CPU_ISA", "").upper(),
        accelerators=find_accelerators(),
    )


def recommended_policy(hardware: Hardware | None = None) -> str:
    """The dtype policy to try first on this hardware, for speed.

    Example:
        >>> laptop = Hardware("Linux x86_64", "some CPU", 4, ("avx2",))
        >>> recommended_policy(laptop)
        'float32'
    """
    return _decide(hardware or detect())[0]


def policy_reason(hardware: Hardware | None = None) -> str:
    """Why `recommended_policy` says what it says, in one sentence."""
    return _decide(hardware or detect())[1]


def bfloat16_ends_the_process(hardware: Hardware | None = None) -> bool:
    """Whether a bfloat16 product would end this process instead of raising an error.

    ONEDNN_MAX_CPU_ISA below AVX-512 hides instructions that TensorFlow knows the CPU has: it
    asks oneDNN for a bfloat16 kernel, there is none, and the process dies (TensorFlow 2.21).

    Example:
        >>> bfloat16_ends_the_process(Hardware("Linux x86_64", "", 2, (), max_isa="AVX2"))
        True
    """
    hw = hardware or detect()
    return hw.onednn and bool(re.match("SSE|AVX$|AVX2", hw.max_isa))


def merged_float16_is_slow(hardware: Hardware | None = None) -> bool:
    """Whether graphs on this CPU put a float16 product and its bias into a slow kernel.

    TensorFlow's graph optimizer ("remapping") makes one operation of a product, its bias and the
    activation. On x86 CPUs with float16 instructions oneDNN gets it, and has nothing but its
    reference kernel for it: one Dense layer of the MNIST CNN takes about 1,600 ms in place of 1
    (TensorFlow 2.20 and 2.21, a Xeon with amx_fp16).

    Example:
        >>> merged_float16_is_slow(Hardware("Linux x86_64", "", 2, ("avx512_bf16",)))
        False
    """
    hw = hardware or detect()
    return (
        hw.onednn
        and not hw.working("GPU")
        and bool({"avx512_fp16", "amx_fp16"} & set(hw.instruction_sets or ()))
    )


def _decide(hw):
    if hw.working("TPU"):
        return "mixed_bfloat16", "a TPU multiplies in bfloat16 and has no float16 units."
    gpus = hw.working("GPU")
    if gpus:
        cc = min((g.compute_capability or 0.0) for g in gpus)
        name = gpus[0].name
        if cc >= 8.0:
            return "mixed_bfloat16", (
                f"{name} has tensor cores for both 16-bit types; bfloat16 needs no loss scaling."
            )
        if cc >= 7.0 and re.search(WITHOUT_TENSOR_CORES, name):
            return "float32", f"{name} has no tensor cores in spite of its compute capability."
        if cc >= 7.0:
            return "mixed_float16", f"{name} has tensor cores for float16 and none for bfloat16."
        return "float32", f"{name} has no tensor cores, so 16 bits save memory there but not time."
    sets = hw.instruction_sets
    if sets is None:
        return (
            "float32",
            "this system does not tell which 16-bit instructions the CPU has; measure it.",
        )
    if not {"avx512_bf16", "amx_bf16"} & set(sets):
        return "float32", "this CPU has no bfloat16 instructions that TensorFlow uses."
    if not hw.onednn:
        return "float32", "oneDNN is switched off, and only oneDNN uses this CPU's bfloat16 units."
    if hw.max_isa and not re.search("BF16|FP16|AMX|AVX10|ALL|DEFAULT", hw.max_isa):
        return "float32", f"ONEDNN_MAX_CPU_ISA={hw.max_isa} hides this CPU's bfloat16 units."
    unit = "amx_bf16" if "amx_bf16" in sets else "avx512_bf16"
    return "mixed_bfloat16", f"this CPU multiplies bfloat16 natively ({unit})."


def _read(path):
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def _cores():
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def _cpu_name():
    match = re.search(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    if match:
        return match.group(1).strip()
    if platform.system() == "Darwin":
        return (run(["sysctl", "-n", "machdep.cpu.brand_string"], 5) or "").strip() or "Apple CPU"
    return platform.processor() or platform.machine() or "unknown CPU"


def _instruction_sets():
    match = re.search(r"^(flags|Features)\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    if match:
        found = set(match.group(2).split())
        return tuple(s for s in (*X86_SETS, *ARM_SETS) if s in found)
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        # TensorFlow's macOS build has no bfloat16 kernels of its own for these cores.
        return ()
    return None
