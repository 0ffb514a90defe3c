"""What the trackers of systems ask for: the headings of their forms for bugs, a row for each system.

A system without a row has no form of its own, or one of free text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Slot = Literal["bug", "code", "right", "log", "versions", "version", "python", "os", "more"]
"""What stands below a heading.

bug        what is wrong; with the code where no other heading asks for it
code       what reproduces it
right      what is right
log        what the code prints
versions   all versions
version    that of the library
python, os
more       how it was found, and what else is known
"""

YOURS = "(yours)"
"""What the person who files a report has to fill in."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a form: what belongs below it, or the answer that is always the same."""

    text: str
    slot: Slot | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Tracker:
    """The form of a system."""

    repository: str
    """On GitHub."""
    headings: tuple[Heading, ...]
    versions: str = ""
    """The command whose output the form wants beside the versions."""
    note: str = ""
    """What the tracker says to people before they file."""


TRACKERS: Mapping[str, Tracker] = {
    "torch": Tracker(
        "pytorch/pytorch",
        (Heading("🐛 Describe the bug", "bug"), Heading("Versions", "versions")),
        versions="python -m torch.utils.collect_env",
        note="The tracker closes issues that do not keep to its policy on AI-assisted work: read"
        " CONTRIBUTING.md of the repository first, check every line, and write in your own words.",
    ),
    "jax": Tracker(
        "jax-ml/jax",
        (
            Heading("Description", "bug"),
            Heading("System info (python version, jaxlib version, accelerator, etc.)", "versions"),
        ),
        versions='python -c "import jax; jax.print_environment_info()"',
    ),
    "tensorflow": Tracker(
        "tensorflow/tensorflow",
        (
            Heading("Issue type", answer="Bug"),
            Heading("Have you reproduced the bug with TensorFlow Nightly?", answer=YOURS),
            Heading("Source", answer="binary"),
            Heading("TensorFlow version", "version"),
            Heading("Custom code", answer="Yes"),
            Heading("OS platform and distribution", "os"),
            Heading("Mobile device", answer="No"),
            Heading("Python version", "python"),
            Heading("Bazel version", answer="-"),
            Heading("GCC/compiler version", answer="-"),
            Heading("CUDA/cuDNN version", answer="CPU only"),
            Heading("GPU model and memory", answer="CPU only"),
            Heading("Current behavior?", "bug"),
            Heading("Standalone code to reproduce the issue", "code"),
            Heading("Relevant log output", "log"),
        ),
    ),
    "paddle": Tracker(
        "PaddlePaddle/Paddle",
        (
            Heading("bug描述 Describe the Bug", "bug"),
            Heading("其他补充信息 Additional Supplementary Information", "versions"),
        ),
    ),
    "warp": Tracker(
        "NVIDIA/warp", (Heading("Bug Description", "bug"), Heading("System Information", "versions"))
    ),
    "pytensor": Tracker(
        "pymc-devs/pytensor",
        (
            Heading("Describe the issue:", "bug"),
            Heading("Reproduce the code example:", "code"),
            Heading("Error message:", "log"),
            Heading("PyMC version information:", "versions"),
            Heading("Context for the issue:", "more"),
        ),
    ),
    "mlx": Tracker(
        "ml-explore/mlx",
        (
            Heading("Describe the bug", "bug"),
            Heading("To Reproduce", "code"),
            Heading("Expected behavior", "right"),
            Heading("Desktop", "versions"),
            Heading("Additional context", "more"),
        ),
        note="The tracker takes no issues that AI wrote: what stands below is material. Run the script, and"
        " write the report yourself.",
    ),
}
"""The forms by library, as they were in 2026."""


def filled(tracker: Tracker, parts: Mapping[Slot, Sequence[str]]) -> list[str]:
    """The blocks of a report: each heading with what belongs below it.

    What no heading asks for stands with the bug, so that nothing is lost; but `right` and `log`, which repeat
    it, are left out there.
    """
    asked = {heading.slot for heading in tracker.headings}
    blocks: list[str] = []
    for heading in tracker.headings:
        blocks.append(f"### {heading.text}")
        if heading.slot is None:
            blocks.append(heading.answer)
            continue
        own = list(parts.get(heading.slot, ()))
        if heading.slot == "bug":
            own += [text for slot in ("code", "more") if slot not in asked for text in parts.get(slot, ())]
        if heading.slot == "versions" and tracker.versions:
            own.append(f"`{tracker.versions}`: {YOURS}")
        blocks += own or [YOURS]
    return blocks
