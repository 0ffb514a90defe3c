"""`pytest --mistake` tests the version with the mistake."""

import importlib

import pytest


def pytest_addoption(parser):
    parser.addoption("--mistake", action="store_true", help="test the version with the mistake")


@pytest.fixture
def rms_norm(request):
    return importlib.import_module(
        "rms_norm_mistake" if request.config.getoption("mistake") else "rms_norm"
    ).rms_norm
