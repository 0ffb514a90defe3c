"""The protocol as a JSON Schema: the types of `protocol`, and the grammar of programs in messages.

The published file is `protocol-1.schema.json`; `python -m gradfuzz.oracles.foreign.schema` writes it. A line
from gradfuzz is valid against `#/$defs/Request`, one from an adapter against `#/$defs/Reply`.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any, get_args

import msgspec

from gradfuzz.oracles.foreign import protocol
from gradfuzz.programs.language.ops import OPS

PUBLISHED = Path(__file__).with_name(f"protocol-{protocol.VERSION}.schema.json")

_REF = "#/$defs/{name}"
_ARMS = ("ok", "unsupported", "error")


def document() -> dict[str, Any]:
    """The protocol's JSON Schema."""
    types = [*get_args(protocol.Request), protocol.Failure, *protocol.OKS]
    _, found = msgspec.json.schema_components(types, ref_template=_REF)
    definitions: dict[str, Any] = {**found, **_PROGRAM}
    for definition in found.values():  # Python 3.13 takes the indentation out of docstrings, others do not
        if "description" in definition:
            definition["description"] = inspect.cleandoc(definition["description"])
    definitions["Define"]["properties"]["form"] = _ref("Program")
    either = {"EvalOk": ("results", "stacked"), "Tensor": ("data", "base64")}
    for name, arms in {"PointReply": _ARMS, "Reached": _ARMS, **either}.items():
        definitions[name]["oneOf"] = [{"required": [arm]} for arm in arms]
    definitions["Request"] = {"oneOf": [_ref(t.__name__) for t in get_args(protocol.Request)]}
    definitions["Reply"] = {
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 0},
            "ok": {"anyOf": [_ref(t.__name__) for t in protocol.OKS]},
            "unsupported": {"type": "string"},
            "error": _ref("Failure"),
        },
        "required": ["id"],
        "additionalProperties": False,
        "oneOf": [{"required": [arm]} for arm in _ARMS],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"gradfuzz protocol {protocol.VERSION}",
        "description": "One line each: a request from gradfuzz, a reply from an adapter.",
        "anyOf": [_ref("Request"), _ref("Reply")],
        "$defs": dict(sorted(definitions.items())),
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _REF.format(name=name)}


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def _list(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def _array(dtype: str, entry: dict[str, Any]) -> dict[str, Any]:
    return _object({"array": {"const": dtype}, "shape": _SHAPE, "values": _list(entry)})


_NAME = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}
_TYPE = {"type": "string", "pattern": r"^(float|complex|int|bool)(\[[0-9]+(, [0-9]+)*\])?$"}
_NAMES = _list(_NAME)
_BLOCK = _list(_ref("Statement"))
_SHAPE = _list({"type": "integer", "minimum": 0})
_FLOAT = {"anyOf": [{"type": "number"}, {"enum": list(get_args(protocol.Special))}]}
_INT, _BOOL = {"type": "integer"}, {"type": "boolean"}
_EXPRESSION = _ref("Expression")
_OF_LOOPS = {"carries": _NAMES, "captures": _NAMES, "results": _NAMES}

_PROGRAM: dict[str, Any] = {
    "Program": _object(
        {
            "gradfuzz": {"const": 1},
            "name": _NAME,
            "params": _list({"type": "array", "prefixItems": [_NAME, _TYPE], "minItems": 2, "maxItems": 2}),
            "body": _BLOCK,
            "variables": {"type": "object", "additionalProperties": _TYPE},
            "outputs": _list(_TYPE, minItems=1),
        }
    ),
    "Statement": {
        "oneOf": [
            {"enum": ["break", "continue"]},
            _object({"assign": _NAME, "value": _EXPRESSION}),
            _object({"while": _EXPRESSION, "body": _BLOCK, **_OF_LOOPS}),
            _object({"repeat": _BLOCK, "while": _EXPRESSION, **_OF_LOOPS}),
            _object({"for": _NAME, "count": _EXPRESSION, "body": _BLOCK, **_OF_LOOPS}),
            _object(
                {"if": _EXPRESSION, "then": _BLOCK, "else": _BLOCK, "assigns": _NAMES, "captures": _NAMES}
            ),
            _object({"return": _list(_EXPRESSION, minItems=1)}),
        ]
    },
    "Expression": {
        "oneOf": [
            _NAME,
            *(_object({"float": _FLOAT}), _object({"int": _INT}), _object({"bool": _BOOL})),
            *(_array("float", _FLOAT), _array("int", _INT), _array("bool", _BOOL)),
            _object(
                {
                    "op": {"enum": sorted(OPS)},
                    "args": _list(_EXPRESSION),
                    "params": {"type": "object", "additionalProperties": _ref("Parameter")},
                    "type": _TYPE,
                }
            ),
        ]
    },
    "Parameter": {"anyOf": [{"type": ["integer", "boolean", "string", "null"]}, _list(_ref("Parameter"))]},
}


def text() -> str:
    """The text of the published schema file."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PUBLISHED.write_text(text(), encoding="utf-8")
