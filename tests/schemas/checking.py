"""Compares what tests send and receive with the document of the protocol."""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from jsonschema import Draft202012Validator, TypeChecker, ValidationError
from jsonschema.validators import extend

from bridge.protocol.errors import BridgeError, Prefix
from bridge.protocol.strictjson import dumps
from bridge.protocol.wire import LENIENT, PARTIAL, Schema
from bridge.rpc import HTTP_CALLER, Registry
from bridge.schemas import PROTOCOL_FILE, read_schema

DOCUMENT: Final[dict[str, Any]] = json.loads(read_schema(PROTOCOL_FILE))


def _is_integer(_: TypeChecker, value: object) -> bool:
    return type(value) is int


@cache
def python_pattern(pattern: str) -> str:
    """Return a pattern of JavaScript as Python writes it: ``$`` is the very end."""
    return re.sub(r"(?<!\\)\$", r"\\Z", pattern)


def _pattern(_, pattern, value, schema):
    if type(value) is str and re.search(python_pattern(pattern), value) is None:
        yield ValidationError("the pattern does not match")


Validator: Final = extend(
    Draft202012Validator,
    {"pattern": _pattern},
    # 1.0 is no integer to the daemon; no page writes one so.
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


def closed(schema: Any) -> Any:
    """Return a schema that accepts no fields but those it names."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(held) for key, held in schema.items()}
    if made.get("type") == "object" and "properties" in made:
        made.setdefault("additionalProperties", False)
    return made


def exact(schema: Any) -> Any:
    """Return a schema that accepts what the daemon accepts leniently."""
    if isinstance(schema, list):
        return [exact(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get(LENIENT):
        return {}
    return {key: exact(held) for key, held in schema.items()}


def is_partial(schema: Any, defs: Mapping[str, Schema]) -> bool:
    """Whether the daemon checks more than a schema says."""
    if isinstance(schema, list):
        return any(is_partial(one, defs) for one in schema)
    if not isinstance(schema, dict):
        return False
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name and is_partial(defs[name], defs):
        return True
    held = schema.values()
    return bool(schema.get(PARTIAL)) or any(is_partial(one, defs) for one in held)


def validator(schema: Schema, defs: Mapping[str, Schema] | None = None) -> Any:
    """Return the validator of a schema, by default with the protocol's definitions."""
    found = DOCUMENT["$defs"] if defs is None else defs
    return Validator({**schema, "$defs": found})


@cache
def _received(*place: str) -> Any:
    """Return the validator of what the daemon sends, found at a place."""
    schema: Any = DOCUMENT
    for step in place:
        schema = schema[step]
    return validator(closed(schema), closed(DOCUMENT["$defs"]))


@cache
def _sent(method: str) -> Any:
    return validator(exact(DOCUMENT["methods"][method]["params"]))


def check_frame(frame: Any) -> None:
    """Check a frame of the daemon's, as far as every service's is the same."""
    _received("frames", frame["type"], "schema").validate(frame)


def check_push(frame: Any) -> None:
    """Check the data of an event."""
    _received("events", frame["event"], "data").validate(frame["data"])


def check_result(method: str, params: Any, result: Any) -> None:
    """Check a result, and the parameters that it answers."""
    _sent(method).validate(params)
    _received("methods", method, "result").validate(result)


def check_refusal(method: str, error: Mapping[str, Any]) -> None:
    """Check that a method may be refused so."""
    about = DOCUMENT["methods"][method]
    assert error["code"] in about["errors"], (method, error)
    prefix = str(error["message"]).partition(": ")[0]
    if prefix in list(Prefix):
        assert prefix in about["prefixes"], (method, error)


def check_response(method: str, params: Any, frame: Any) -> None:
    """Check the answer to a call; of an unknown method only that it is refused."""
    if method not in DOCUMENT["methods"]:
        assert not frame["ok"], method
    elif frame["ok"]:
        check_result(method, params, frame["result"])
    else:
        check_refusal(method, frame["error"])


class CheckedRegistry(Registry):
    """A registry whose answers are compared with the document."""

    async def call(self, service, name, params, caller=HTTP_CALLER):
        method = f"{service}/{name}"
        try:
            result = await super().call(service, name, params, caller)
        except BridgeError as e:
            if method in DOCUMENT["methods"]:
                check_refusal(method, {"code": e.code, "message": e.message})
            raise
        check_result(method, params, json.loads(dumps(result)))
        return result
