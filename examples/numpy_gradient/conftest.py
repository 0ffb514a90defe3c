"""`pytest --mistake` tests the version with the mistake."""

import importlib

import pytest


def pytest_addoption(parser):
    parser.addoption("--mistake", action="store_true", help="test the version with the mistake")


@pytest.fixture
def logistic(request):
    return importlib.import_module("logistic_mistake" if request.config.getoption("mistake") else "logistic")
