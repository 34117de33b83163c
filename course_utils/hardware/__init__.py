"""What this machine is and which dtype policy follows, without TensorFlow or a network."""

import functools
import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from course_utils import processes
from course_utils.hardware.accelerators import Accelerator, find_accelerators

# What decides how fast 16-bit arithmetic is on a CPU, by Linux's names in
# /proc/cpuinfo.
SETS = (
    *("avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_fp16"),
    *("asimdhp", "bf16"),  # of ARM
)

# Chips of compute capability 7.5 that were built without tensor cores (TU116 and
# TU117).
WITHOUT_TENSOR_CORES = r"GTX 16\d0|MX[45]\d0|T[456]\d\d\b|T[12]000|T1200"


def counted(number: int, noun: str = "core") -> str:
    """A number of cores or other things in words.

    >>> counted(1), counted(2)
    ('1 core', '2 cores')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@dataclass(frozen=True)
class Hardware:
    """What was found on this machine; its text is what a notebook shows of it."""

    system: str  # operating system and architecture, "Linux x86_64"
    cpu: str
    cores: int  # that this process may use
    # Those of SETS that the CPU has; None where the system does not tell.
    instruction_sets: tuple[str, ...] | None
    onednn: bool = True  # whether TensorFlow's oneDNN kernels are on
    max_isa: str = ""  # of ONEDNN_MAX_CPU_ISA
    accelerators: tuple[Accelerator, ...] = ()  # GPUs and TPU cores, working or not

    @property
    def is_x86(self) -> bool:
        """Whether the CPU is an x86 of 64 bits, by Linux's name or by Windows's."""
        return self.system.endswith(("x86_64", "AMD64"))

    def working(self, kind: str) -> tuple[Accelerator, ...]:
        """The accelerators of one kind ("GPU" or "TPU") that work."""
        return tuple(a for a in self.accelerators if a.kind == kind and a.works)

    def __str__(self):
        sets = "instruction sets unknown"
        if self.instruction_sets is not None:
            wide = [s for s in self.instruction_sets if s not in ("avx512f", "asimdhp")]
            sets = ", ".join(wide) or "no 16-bit instruction sets"
        lines = [f"{self.cpu}, {counted(self.cores)} ({sets})"]
        for a in self.accelerators:
            line = f"{a.kind} {a.name}"
            if a.compute_capability:
                line += f", compute capability {a.compute_capability}"
            if a.memory_bytes:
                line += f", {a.memory_bytes / 2**30:.0f} GiB"
            if not a.works:
                line += f": {a.problem}"
            lines.append(line)
        return " · ".join(lines)


@dataclass(frozen=True)
class Workload:
    """Sizes that keep this hardware busy without keeping the learner waiting."""

    batch_size: int  # samples in a training step
    batch_sizes: tuple[int, ...]  # what a sweep tries, smallest first
    matmul_sizes: tuple[int, ...]  # n of the n × n matrices to multiply


def workload(hardware: Hardware) -> Workload:
    """The sizes that the notebooks use on this hardware.

    Example:
        >>> workload(Hardware("Linux x86_64", "some CPU", 2, ())).batch_size
        256
    """
    if hardware.working("GPU") or hardware.working("TPU"):
        return Workload(2048, (256, 1024, 4096, 16384), (256, 512, 1024, 2048, 4096))
    return Workload(256, (64, 256, 1024), (64, 128, 256, 512, 1024))


@functools.cache
def detect() -> Hardware:
    """Looks at this machine once per process; never raises.

    It takes milliseconds without an accelerator. With one it takes 5 to 20 s, in which a
    subprocess multiplies two small matrices on it.

    Example:
        >>> detect().cores >= 1
        True
    """
    return Hardware(
        system=f"{platform.system()} {platform.machine()}",
        cpu=_cpu_name(),
        cores=_cores(),
        instruction_sets=_instruction_sets(),
        onednn=os.environ.get("TF_ENABLE_ONEDNN_OPTS", "1").lower()
        not in ("0", "false"),
        max_isa=os.environ.get("ONEDNN_MAX_CPU_ISA", "").upper(),
        accelerators=find_accelerators(),
    )


def recommended_policy(hardware: Hardware | None = None) -> str:
    """The dtype policy to try first on this hardware, for speed.

    Example:
        >>> recommended_policy(Hardware("Linux x86_64", "some CPU", 4, ("avx2",)))
        'float32'
    """
    return _decide(hardware or detect())[0]


def policy_reason(hardware: Hardware) -> str:
    """Why `recommended_policy` says what it says, in one sentence."""
    return _decide(hardware)[1]


def has_tf32(hardware: Hardware) -> bool:
    """Whether float32 products go through TF32 here unless they are told otherwise.

    Example:
        >>> has_tf32(Hardware("Linux x86_64", "some CPU", 2, ()))
        False
    """
    capabilities = [gpu.compute_capability or 0 for gpu in hardware.working("GPU")]
    return min(capabilities, default=0) >= 8.0


def bfloat16_ends_the_process(hardware: Hardware) -> bool:
    """Whether a bfloat16 product would end this process instead of raising an error.

    ONEDNN_MAX_CPU_ISA below AVX-512 hides instructions that TensorFlow knows the CPU
    has: it asks oneDNN for a bfloat16 kernel, there is none, and the process dies
    (TensorFlow 2.21).

    Example:
        >>> bfloat16_ends_the_process(Hardware("Linux x86_64", "", 2, (), max_isa="AVX2"))
        True
    """
    return hardware.onednn and bool(re.match("SSE|AVX$|AVX2", hardware.max_isa))


def merged_float16_is_slow(hardware: Hardware) -> bool:
    """Whether graphs on this CPU put a float16 product and its bias into a slow kernel.

    TensorFlow's graph optimizer ("remapping") merges a product, its bias and the
    activation. On x86 CPUs with float16 instructions oneDNN gets the whole, and has
    only its reference kernel for it: a Dense layer of the MNIST CNN takes some 1,600 ms
    in place of 1 (TensorFlow 2.20 and 2.21).

    Example:
        >>> merged_float16_is_slow(Hardware("Linux x86_64", "", 2, ("avx512_bf16",)))
        False
    """
    return hardware.onednn and not hardware.working("GPU") and _has_float16(hardware)


def float16_convolutions_are_slow(hardware: Hardware) -> bool:
    """Whether TensorFlow has only a slow kernel for the gradients of float16
    convolutions here.

    On CPUs with avx512_fp16 TensorFlow hands them to oneDNN, which without amx_fp16 has
    only its reference kernel for them: a step of the MNIST CNN takes 30 to 190 times as
    long as in float32. `hardware.xla.needs_xla` is the cure.

    Example:
        >>> float16_convolutions_are_slow(Hardware("Linux x86_64", "", 2, ("avx512_fp16",)))
        True
    """
    isa = hardware.max_isa
    hidden = isa and not re.search("AMX_FP16|AMX_2|ALL|DEFAULT", isa)
    has_kernels = "amx_fp16" in (hardware.instruction_sets or ()) and not hidden
    return merged_float16_is_slow(hardware) and not has_kernels


def x86_without_float16(hardware: Hardware) -> bool:
    """Whether the notebooks run on an x86 CPU that has no float16 instructions.

    There TensorFlow computes float16 in kernels of its own, not in oneDNN's, and those
    of 2.20 are slow: `hardware.xla.float16_needs_xla`.

    Example:
        >>> x86_without_float16(Hardware("Linux x86_64", "", 2, ("avx512_bf16",)))
        True
    """
    if hardware.working("GPU") or hardware.working("TPU"):
        return False
    is_known = hardware.instruction_sets is not None
    return is_known and hardware.is_x86 and not _has_float16(hardware)


def _has_float16(hardware):
    return bool({"avx512_fp16", "amx_fp16"} & set(hardware.instruction_sets or ()))


def _decide(hw: Hardware) -> tuple[str, str]:
    if hw.working("TPU"):
        why = "a TPU multiplies in bfloat16 and has no float16 units."
        return "mixed_bfloat16", why
    if gpus := hw.working("GPU"):
        level, name = min((_tensor_cores(gpu), gpu.name) for gpu in gpus)
        if level == 2:
            why = "tensor cores for both 16-bit types; bfloat16 seldom needs loss scaling."
            return "mixed_bfloat16", f"{name} has {why}"
        if level == 1:
            why = "tensor cores for float16 and none for bfloat16."
            return "mixed_float16", f"{name} has {why}"
        why = "no tensor cores; measure whether 16 bits save time there."
        return "float32", f"{name} has {why}"
    if why := _against_bfloat16(hw):
        return "float32", why
    has_amx = "amx_bf16" in (hw.instruction_sets or ())
    unit = "amx_bf16" if has_amx else "avx512_bf16"
    return "mixed_bfloat16", f"this CPU multiplies bfloat16 natively ({unit})."


def _against_bfloat16(hw: Hardware) -> str:
    """What speaks against bfloat16 on this CPU, or ""."""
    if hw.instruction_sets is None:
        return "this system does not tell which 16-bit instructions the CPU has; measure it."
    if not hw.is_x86:
        return "we have not run the course on a CPU of this kind; measure it."
    if not {"avx512_bf16", "amx_bf16"} & set(hw.instruction_sets):
        return "this CPU has no bfloat16 instructions that TensorFlow uses."
    if not hw.onednn:
        return "oneDNN is switched off, and only oneDNN uses this CPU's bfloat16 units."
    isa = hw.max_isa
    if isa and not re.search("BF16|FP16|AMX|AVX10|ALL|DEFAULT", isa):
        return f"ONEDNN_MAX_CPU_ISA={isa} hides this CPU's bfloat16 units."
    # A matrix product of 1024 took 1.7 times as long as in float32.
    if "Intel" in hw.cpu and "amx_bf16" not in hw.instruction_sets:
        return (
            "without amx_bf16 an Intel CPU was slower in bfloat16 where we measured it."
        )
    return ""


def _tensor_cores(gpu):
    """2 for both 16-bit types, 1 for float16 alone, 0 for none."""
    cc = gpu.compute_capability or 0.0
    if cc < 7.0 or (cc < 8.0 and re.search(WITHOUT_TENSOR_CORES, gpu.name)):
        return 0
    return 2 if cc >= 8.0 else 1


def _cpuinfo(names):
    """What Linux says of the first core under one of these names, or ""."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return ""
    match = re.search(rf"^(?:{names})\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else ""


def _cores():
    if hasattr(os, "sched_getaffinity"):  # on Linux alone
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu_name():
    if platform.system() == "Darwin":
        answer = processes.run(["sysctl", "-n", "machdep.cpu.brand_string"], timeout=5)
        return answer.printed.strip() or "Apple CPU"
    return (
        _cpuinfo("model name")
        or platform.processor()
        or platform.machine()
        or "unknown CPU"
    )


def _instruction_sets():
    if flags := _cpuinfo("flags|Features").split():
        return tuple(s for s in SETS if s in flags)
    # TensorFlow's macOS build has no bfloat16 kernels of its own for Apple's cores.
    if (platform.system(), platform.machine()) == ("Darwin", "arm64"):
        return ()
    return None
