"""Tests for the files of bridge.schemas."""

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import limits
from bridge.protocol.errors import CloseCode, CloseReason, Code, Prefix, Retry
from bridge.protocol.frames import PROTOCOL
from bridge.rpc import Event
from bridge.schemas import read_schema

from .checking import DOCUMENT

IGNORING = """
osc/listen osc/send osc/status osc/stop outbound/fetch plugins/build plugins/keys
plugins/check_updates plugins/list sql/databases sql/execute sql/query
"""
"""Methods that ignore fields of which they do not know, as the first daemon did."""


def schemas_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every schema of the protocol."""
    for frame in value["frames"].values():
        yield frame["schema"]
    for method in value["methods"].values():
        yield method["params"]
        yield method["result"]
    for event in value["events"].values():
        yield event["data"]
    yield from value["$defs"].values()
    yield from value["http"].values()


def properties_in(schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield every field that a schema names, at any depth."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield from schema.get("properties", {}).items()
        for held in schema.values():
            yield from properties_in(held)


class DocumentTests(SynchronousTestCase):
    def test_everything_is_there(self) -> None:
        """Each word and number of the protocol is in it."""
        self.assertEqual(DOCUMENT["protocol"], PROTOCOL)
        for part, words in (
            ("errors", Code),
            ("prefixes", Prefix),
            ("closes", CloseReason),
            ("retries", Retry),
            ("events", Event),
        ):
            self.assertEqual(list(DOCUMENT[part]), [str(word) for word in words])
        self.assertEqual(DOCUMENT["limits"]["frameBytes"], limits.FRAME_BYTES)
        self.assertEqual(DOCUMENT["closes"]["shutdown"]["code"], CloseCode.GOING_AWAY)

    def test_methods(self) -> None:
        """A method lists what it is refused with, also where it names another's."""
        update = DOCUMENT["methods"]["plugins/update"]
        self.assertTrue(update["description"].startswith("Update a plugin"))
        for prefix in ("invalid_id", "clone_failed", "unsigned", "build_failed"):
            self.assertIn(prefix, update["prefixes"])
        for code in ("bad_request", "internal", "rate_limited", "unavailable"):
            self.assertIn(code, update["errors"])
        self.assertEqual(update["params"]["required"], ["id"])
        self.assertEqual(update["timeoutMs"], 130_000)
        self.assertEqual(update["rate"], "ordinary")
        for light in ("osc/send", "plugins/cancel", "plugins/operations"):
            self.assertEqual(DOCUMENT["methods"][light]["rate"], "light")
        self.assertTrue(DOCUMENT["methods"]["remote/eval"]["dev"])
        for name, about in DOCUMENT["methods"].items():
            strict = "additionalProperties" in about["params"]
            self.assertEqual(strict, name not in IGNORING.split(), name)

    def test_described(self) -> None:
        """Every field has a description, in Markdown."""
        for schema in schemas_in(DOCUMENT):
            for name, held in properties_in(schema):
                if name not in ("type", "kind", "value", "summary", "methods"):
                    self.assertIn("description", held, name)
                    self.assertNotIn("``", held["description"], name)

    def test_valid_schemas(self) -> None:
        """Each file is JSON Schema, and so is each schema of the protocol."""
        found = [f for f in files("bridge.schemas").iterdir() if f.name[-5:] == ".json"]
        self.assertGreater(len(found), 3)
        for file in found:
            Draft202012Validator.check_schema(json.loads(read_schema(file.name)))
        for schema in schemas_in(DOCUMENT):
            Draft202012Validator.check_schema(schema)
            defs = {"$defs": DOCUMENT["$defs"]}
            # A reference to nothing would be found only where it is needed.
            for name in _references(schema):
                self.assertIn(name, defs["$defs"])


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"].removeprefix("#/$defs/")
        value = list(value.values())
    if isinstance(value, list):
        for held in value:
            yield from _references(held)
