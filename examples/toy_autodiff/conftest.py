"""`pytest --mistake` asks the version with the mistake."""

import shlex
import sys
from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption("--mistake", action="store_true", help="ask the version with the mistake")


@pytest.fixture
def target(request):
    """The library as a target: a command that speaks the protocol."""
    version = "trips_mistake" if request.config.getoption("mistake") else "trips"
    return f"cmd:{shlex.join([sys.executable, str(Path(__file__).with_name('adapter.py')), version])}"
