"""`gradfuzz prove`."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gradfuzz.cli import FINDINGS, USAGE, main
from gradfuzz.cli.shell import INCOMPLETE

MODULE = """
import torch


class Damped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(-x * x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (-2 * x * torch.exp(-x * x) + 1e-9 * x)


def energy(x):
    return (Damped.apply(x) * x).sum()


def plain(x):
    return (x * x).sum()


class Module(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x) @ torch.ones(3, 3, dtype=x.dtype)


module = Module()
compiled = torch.compile(lambda x: (x.sin() * x).sum(), backend="aot_eager")


def undecided(x):
    return x.sum() if x.sum() > 0 else -x.sum()
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_functions_to_prove.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return "own_functions_to_prove"


def asked(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["prove", *arguments])


def test_a_wrong_rule_is_shown_with_its_line(module: str, tmp_path: Path) -> None:
    page = tmp_path / "proofs.html"
    result = asked(f"{module}:energy", "--mode", "rev", "--at", "x=[0.5, -0.75]", "--html", str(page))
    assert result.exit_code == FINDINGS
    assert "energy, reverse mode: the rule is wrong: proved" in result.stdout
    told = " ".join(result.stdout.split())  # a long path is folded
    assert "step Damped" in told
    assert "in Damped.backward)" in told
    assert "without the one that 1e-09 multiplies" in told
    assert len([line for line in result.stdout.splitlines() if line.startswith("  >")]) == 1
    shown = html.unescape(page.read_text(encoding="utf-8"))
    assert "the rule is wrong: proved" in shown
    assert shown.count("<mark>") == 1


def test_a_right_rule_as_json(module: str) -> None:
    result = asked(f"{module}:plain", "--framework", "torch", "--order", "2", "--format", "json")
    assert result.exit_code == 0
    proofs = json.loads(result.stdout)["proofs"]
    assert [p["outcome"] for p in proofs] == ["right"] * 6
    assert all(p["derivative"] == p["rule"] for p in proofs)


def test_what_is_open_says_why(module: str) -> None:
    result = asked(f"{module}:undecided", "--framework", "torch", "--mode", "rev")
    assert result.exit_code == INCOMPLETE
    assert "nothing is proved" in result.stdout
    assert "depends on a number" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("numpy.sin",), "is not a function of torch and jax"),
        (("torch.logcumsum",), "lists no function 'torch.logcumsum'; did you mean"),
        (("own_functions_to_prove:plain",), "say which it is of with --framework"),
        (("torch.exp", "--at", "x=1.0"), "calls of torch.exp are drawn"),
        (("own_functions_to_prove:missing",), "missing"),
        (("own_functions_to_prove:energy", "--at", "y=1.0"), "--at names 'y'"),
    ],
)
def test_a_question_without_sense_is_refused_in_words(
    module: str, arguments: tuple[str, ...], words: str
) -> None:
    result = asked(*arguments)
    assert result.exit_code == USAGE
    assert words in result.stderr


def test_a_module_is_proved_by_the_arguments_of_its_forward(module: str) -> None:
    result = asked(f"{module}:module", "--mode", "rev")
    assert result.exit_code == 0, result.output
    assert "module, reverse mode: the rule is right: proved" in result.stdout


def test_what_is_compiled_is_proved_without_a_word_of_dynamo(
    module: str, capfd: pytest.CaptureFixture[str]
) -> None:
    result = asked(f"{module}:compiled", "--mode", "rev", "--framework", "torch")
    assert result.exit_code == 0, result.output
    assert "the rule is right: proved" in result.stdout
    assert capfd.readouterr().err == ""


def test_a_custom_vjp_without_forward_mode_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_custom_vjp.py").write_text(
        "import jax, jax.numpy as jnp\n\n@jax.custom_vjp\ndef square(x):\n    return jnp.sum(x * x)\n\n"
        "square.defvjp(lambda x: (square(x), x), lambda x, g: (2 * g * x,))\n"
    )
    monkeypatch.chdir(tmp_path)
    result = asked("own_custom_vjp:square")
    assert result.exit_code == 0, result.output
    assert "square, reverse mode: the rule is right: proved" in result.stdout
    assert "JAX has no forward mode of a function with a custom_vjp" in result.stdout
    assert "StopIteration" not in result.stdout
