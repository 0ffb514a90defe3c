"""The pytest plug-in: suites of gradfuzz as tests.

    @pytest.mark.gradfuzz(target="torch", suite="linalg", checks=["vjp", "second order"])
    def test_torch(gradfuzz_check):
        gradfuzz_check()

makes a test of each op and check. The mark takes

    target      a name or several, as `gradfuzz probe` takes them
    suite       "loops", "linalg", "complex", "tensor", "vectorize", or several
    checks      of "vjp", "jvp" and "second order" (default: all)
    ops         the ops to ask about; in the suite loops: the bodies, or the titles of tables (default: all)

and applies to a function, a class or a module; the nearest mark counts. A wrong gradient fails the test.
Unsupported and inconclusive checks are skipped. The answers of a passing test agree with the truth, or are
legal where there is no derivative.

pytest loads this module in every session, so it imports nothing. The first test with the mark loads the rest.
"""

from __future__ import annotations

import typing

import pytest

if typing.TYPE_CHECKING:
    from collections.abc import Generator

    from gradfuzz.pytest_plugin.check import GradfuzzCheck
    from gradfuzz.pytest_plugin.session import Gathered

__all__ = [
    "gradfuzz_check",
    "pytest_addoption",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_pyfunc_call",
    "pytest_runtest_makereport",
]

_MARK, _FIXTURE = "gradfuzz", "gradfuzz_check"

_gathered: pytest.StashKey[Gathered] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--gradfuzz-profile`, `--gradfuzz-report`, `--gradfuzz-baseline`, `--gradfuzz-accept`."""
    group = parser.getgroup("gradfuzz", "gradients judged by gradfuzz")
    group.addoption(
        "--gradfuzz-profile",
        choices=("quick", "ci", "nightly"),
        help=(
            "how much the tests with the mark gradfuzz ask: quick (one use of each op), ci (all; the"
            " default), nightly (all ways too, and what is wrong is shrunk). Given here, it also loads"
            " Hypothesis' profile gradfuzz-quick, gradfuzz-ci or gradfuzz-nightly."
        ),
    )
    group.addoption(
        "--gradfuzz-report",
        action="append",
        default=[],
        metavar="FORMAT[=PATH]",
        help=(
            "write what these tests found as `gradfuzz sweep --report` does: html, json, sarif, markdown,"
            " ...; may be repeated."
        ),
    )
    group.addoption(
        "--gradfuzz-baseline",
        metavar="FILE",
        help="findings that this file accepts are expected failures, with its reason.",
    )
    group.addoption(
        "--gradfuzz-accept",
        metavar="REASON",
        help="accept what is found in the file of --gradfuzz-baseline, for this reason.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Describes the mark; checks the options before any test runs."""
    config.addinivalue_line(
        "markers",
        "gradfuzz(target, suite='loops', checks=None, ops=None): a test of each op of a suite of gradfuzz and"
        " each check; the test takes the fixture gradfuzz_check and calls it.",
    )
    given = {
        name: config.getoption(f"gradfuzz_{name}") for name in ("profile", "report", "baseline", "accept")
    }
    if any(given.values()):
        from gradfuzz.pytest_plugin import options

        options.check(config)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Listener(config), "gradfuzz-listener")


class _Listener:
    """Gathers the results of the tests: in this process, or in the controller of pytest-xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        said = getattr(report, _MARK, None)
        if said is None:
            return
        if _gathered not in self._config.stash:
            from gradfuzz.pytest_plugin.session import Gathered

            self._config.stash[_gathered] = Gathered(self._config)
        self._config.stash[_gathered].add(said)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if _gathered in self._config.stash:
            self._config.stash[_gathered].finish(session)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if _gathered in self._config.stash:
            self._config.stash[_gathered].tell(terminalreporter)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each op and check of the nearest marks."""
    marks = list(metafunc.definition.iter_markers_with_node(_MARK))
    if not marks:
        return
    nearest = marks[0][0]
    if _FIXTURE not in metafunc.fixturenames:
        if nearest is metafunc.definition:
            pytest.fail(
                f"{metafunc.definition.nodeid} has the mark gradfuzz but not its fixture: "
                f"write `def {metafunc.function.__name__}({_FIXTURE}): {_FIXTURE}()`",
                pytrace=False,
            )
        return
    from gradfuzz.pytest_plugin.cells import cells_of

    cells = cells_of([mark for node, mark in marks if node is nearest])
    metafunc.parametrize(_FIXTURE, cells, ids=[cell.id for cell in cells], indirect=True)


@pytest.fixture
def gradfuzz_check(request: pytest.FixtureRequest) -> GradfuzzCheck:
    """The fixture of a test with the mark gradfuzz: asks the target, and judges the answers."""
    if not hasattr(request, "param"):
        pytest.fail(
            "the fixture gradfuzz_check is for tests with the mark gradfuzz:"
            " @pytest.mark.gradfuzz(target='torch', suite='linalg')",
            pytrace=False,
        )
    from gradfuzz.pytest_plugin.check import GradfuzzCheck

    return GradfuzzCheck(request.param, request.node)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Fails a test that never called the fixture: it tested nothing."""
    result = yield
    check: GradfuzzCheck | None = pyfuncitem.funcargs.get(_FIXTURE)  # type: ignore[assignment]  # the fixture above made it
    if check is not None and not check.called:
        pytest.fail(
            f"{pyfuncitem.originalname} never called gradfuzz_check(), so nothing was asked", pytrace=False
        )
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attaches the results to the test's report."""
    report = yield
    check: GradfuzzCheck | None = getattr(item, "funcargs", {}).get(_FIXTURE)
    if check is not None and call.when == "call" and check.said is not None:
        report.__dict__[_MARK] = check.said  # pytest-xdist sends these attributes
    return report
