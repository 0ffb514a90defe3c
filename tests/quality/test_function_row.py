"""A function that gradfuzz does not ship, added by one row: all that is known of functions follows."""

from __future__ import annotations

import textwrap

import pytest

from tests.shell import python

ROW = """
import os
os.environ["GRADFUZZ_IN_PROCESS"] = "1"
import math
import numpy as np
from gradfuzz.programs.language.functions import Function, add
assert "entr" not in __import__("gradfuzz.programs", fromlist=["OPS"]).OPS
add(Function(
    "entr", ("-(1.0 + log(x))",), "-(x * log(x))", arb="-x * log(x)", mpmath="-x * mp.log(x)",
    numpy="scipy.special.entr", domain=(0.0, math.inf),
    names={"jax": "jax.scipy.special.entr", "torch": "torch.special.entr", "aten": "special_entr"},
))
from gradfuzz import programs
from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.fuzzer.verdict.shared import evaluator

from gradfuzz.oracles.base import Point
from gradfuzz.oracles.registry import references, resolve

program = programs.parse("def f(x):\\n    return entr(x)\\n")
points = [Point({"x": np.float64(v)}) for v in (0.25, 1.5, 20.0)]

def question(modes):
    return weighted_question(program, points, "float64", modes)

def verdicts(target):
    return {
        result.verdict
        for modes in (("rev",), ("fwd",), ("rev", "fwd"), ("fwd", "rev"), ("rev", "rev"))
        if target.supports(question(modes)) is None
        for result in evaluator().cases(target.name, question(modes), target.answer(question(modes)))
    }
"""


def run(code: str) -> None:
    python("-c", ROW + textwrap.dedent(code), exit_code=0)


def test_it_is_parsed_printed_and_drawn() -> None:
    run(
        """
    assert programs.to_text(program) == "def f(x):\\n    return entr(x)\\n", programs.to_text(program)
    assert programs.from_json(programs.to_json(program)) == program
    from gradfuzz.strategies import FAMILIES, draw_many, loops
    assert any("entr(" in str(case.program) for case in draw_many(FAMILIES["elementwise"].cases(), 300, 0))
    drawn = draw_many(loops(ops=("entr", "multiply", "add")), 400, 0)
    assert any("entr(" in str(drawn_program) for drawn_program in drawn)
    """.replace("cases()", 'cases(("float64",))')
    )


def test_both_references_know_it_and_agree() -> None:
    run("""
    for modes, slope in ((("rev",), lambda x: -(1 + math.log(x))), (("rev", "fwd"), lambda x: -1 / x)):
        q = question(modes)
        along = float(np.asarray(q.directions["x"])) if len(modes) > 1 else 1.0
        weight = along * float(np.asarray(q.weights[0]))
        for name, reference in references().items():
            for point, truth in zip(points, reference.truth(q), strict=True):
                assert truth.status == "ok", (name, truth.message)
                expected = weight * slope(float(point.inputs["x"]))
                assert abs(float(truth.gradient["x"]) - expected) <= 1e-14 * abs(expected), (name, modes)
    """)


def test_the_engine_differentiates_it_in_both_modes_and_orders() -> None:
    run("""
    (engine,) = resolve("engine")
    assert verdicts(engine) == {Verdict.AGREE}
    """)


@pytest.mark.parametrize("target", ["jax:scan:nojit", "torch:eager"])
def test_a_library_is_asked(target: str) -> None:
    pytest.importorskip(target.partition(":")[0], exc_type=ImportError)
    run(f"""
    (target,) = [one for one in resolve({target.partition(":")[0]!r}) if one.name == {target!r}]
    assert verdicts(target) == {{Verdict.AGREE}}
    """)


def test_an_adapter_is_asked() -> None:
    pytest.importorskip("autograd", exc_type=ImportError)
    run("""
    (target, *_) = resolve("autograd")
    assert target.supports(question(("rev",))) is None, target.supports(question(("rev",)))
    assert verdicts(target) == {Verdict.AGREE}
    """)


def test_it_is_traced_from_a_function_of_jax() -> None:
    pytest.importorskip("jax", exc_type=ImportError)
    run("""
    import jax
    from jax.extend.core import Primitive
    jax.config.update("jax_enable_x64", True)
    entr = Primitive("entr")
    def own(x):
        return jax.scipy.special.entr(x)
    own.__module__ = "jax.planted"  # a primitive of somebody else's is what its implementation computes
    entr.def_impl(own)
    entr.def_abstract_eval(lambda x: x)
    from gradfuzz.tracing.jax.trace import traced
    found = traced(lambda x: entr.bind(x) * 2.0, [np.float64(0.5)])
    assert "entr(" in str(found), found
    """)


def test_it_is_traced_from_a_function_of_torch() -> None:
    pytest.importorskip("torch", exc_type=ImportError)
    run("""
    import torch
    from gradfuzz.tracing.torch.trace import traced
    found = traced(lambda x: torch.special.entr(x) * 2.0, [torch.tensor(0.5, dtype=torch.float64)])
    assert "entr(" in str(found), found
    """)


def test_it_is_printed_in_a_reproducer() -> None:
    pytest.importorskip("torch", exc_type=ImportError)
    run("""
    import pathlib, subprocess, sys, tempfile
    from gradfuzz.oracles.torch.ways import script
    q = question(("rev",))
    truth = {"x": np.asarray(-2.0 * float(np.asarray(q.weights[0])) * (1 + math.log(0.25)))}
    text = script(q, 0, "torch:eager", truth, {"x": np.asarray(1e-12)})
    assert "torch.special.entr(x)" in text
    path = pathlib.Path(tempfile.mkdtemp()) / "script.py"
    path.write_text(text)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr  # Torch is right, by mpmath in the script
    """)


@pytest.mark.slow
def test_a_planted_mistake_in_it_is_found() -> None:
    run("""
    if __name__ == "__main__":
        from gradfuzz.fuzzer.results.events import FindingFound
        from gradfuzz.fuzzer.sweep import SweepConfig, sweep
        target = "mutant:vjp.entr.0.double"
        config = SweepConfig((target,), families=("elementwise",), jobs=1, max_examples=160)
        findings = [event.finding for event in sweep(config) if isinstance(event, FindingFound)]
        assert findings and all("entr(" in str(finding.program) for finding in findings)
    """)
