"""What importing gradfuzz loads, and how long it takes: nothing of it is heavy."""

from __future__ import annotations

import sys

from tests.shell import python


def printed(code: str) -> str:
    return python("-c", code, exit_code=0).stdout


def test_importing_gradfuzz_loads_the_package_alone_and_modules_of_python() -> None:
    loaded = printed(
        "import sys; before = set(sys.modules); import gradfuzz; print(*sorted(set(sys.modules) - before))"
    ).split()
    assert [name for name in loaded if name.partition(".")[0] == "gradfuzz"] == [
        "gradfuzz",
        "gradfuzz.version",
    ]
    assert [
        name for name in loaded if name.partition(".")[0] not in (*sys.stdlib_module_names, "gradfuzz")
    ] == []


def test_importing_gradfuzz_takes_less_than_100_ms() -> None:
    """Of the processor's time, which others on the machine do not add to."""
    code = "import time; t = time.process_time(); import gradfuzz; print(time.process_time() - t)"
    assert min(float(printed(code)) for _ in range(5)) < 0.100


def test_a_name_loads_its_own_room_and_no_library_of_a_target() -> None:
    loaded = printed("import sys, gradfuzz; gradfuzz.check_gradient; print(*sys.modules)").split()
    assert "gradfuzz.testing" in loaded
    assert not {"autograd", "jax", "torch"} & set(loaded)


def test_checking_a_program_loads_neither_the_strategies_nor_a_library_that_is_not_asked() -> None:
    code = (
        "import sys\nfrom gradfuzz.cli import main\n"
        "sys.argv = ['gradfuzz', 'check', 'acc*x', '--only', 'engine']\n"
        "try:\n    main()\nexcept SystemExit as done:\n    assert not done.code, done.code\n"
        "print('loaded:', *sys.modules)"
    )
    loaded = set(printed(code).partition("loaded:")[2].split())
    assert "gradfuzz.fuzzer.verdict.evaluator" in loaded
    heavy = {"autograd", "hypothesis", "jax", "scipy.optimize", "torch", "gradfuzz.strategies"}
    assert not heavy & loaded


def test_a_right_gradient_loads_nothing_that_measures_or_proves() -> None:
    code = (
        "import sys\nimport numpy as np\nfrom gradfuzz import check_gradient\n"
        "check_gradient(lambda x: np.sum(x * x), np.ones(5), grad=lambda x: 2 * x)\nprint(*sys.modules)"
    )
    loaded = set(printed(code).split())
    assert "gradfuzz.fuzzer.measuring.measure" in loaded
    assert not {"gradfuzz.fuzzer.measuring.own_rule", "gradfuzz.fuzzer.proving", "jax", "torch"} & loaded


def test_a_sweep_says_that_it_starts_before_anything_heavy_is_imported() -> None:
    """On a busy machine that takes most of a minute, of a screen that would be blank."""
    for command in (["sweep", "jax"], ["merge", "part.sqlite"]):
        code = (
            "import os, sys, click\nfrom gradfuzz.cli import main\n"
            "def echo(text, **how):\n    print(text, *sys.modules, sep='\\n', flush=True)\n    os._exit(0)\n"
            "click.echo = echo\n"
            f"main({command!r})"
        )
        first, *loaded = printed(code).splitlines()
        assert first.startswith("Starting: loading ")
        assert "gradfuzz.cli.sweeping.running" in loaded
        assert not {"dask", "hypothesis", "jax", "mpmath", "numpy", "rich", "torch"} & set(loaded)
        assert not any(name.startswith(("gradfuzz.fuzzer", "gradfuzz.oracles")) for name in loaded)
