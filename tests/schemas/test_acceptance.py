"""The schemas accept what the daemon accepts."""

import json
import re
import tomllib
from collections.abc import Callable
from importlib import import_module
from importlib.resources import files
from typing import Any

from attrs import frozen
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.pagelog.logrecords import read_record
from bridge.plugins.tree.manifest import read_manifest
from bridge.protocol import frames
from bridge.protocol.errors import BridgeError
from bridge.protocol.strictjson import dumps, loads
from bridge.protocol.text import visible
from bridge.protocol.wire import Schema
from bridge.provision.readiness import OWN_HOST
from bridge.rpc import methods_of, read_arguments
from bridge.schemas import read_schema
from bridge.settings.config import ConfigError
from bridge.settings.host import SHIPPED, load_profile, read_fields

from ..npm import ROOT
from .checking import DOCUMENT, exact, is_partial, validator
from .generating import Maker, edges

PARAMS = {
    f"{name}/{m.name}": m.params
    for name in DOCUMENT["services"]
    for kind in vars(import_module(f"bridge.services.{name}")).values()
    if isinstance(kind, type)
    for m in methods_of(kind)
}

slow = settings(suppress_health_check=list(HealthCheck))

OWN_SCHEMA = ROOT / "bridge/reference/packages/api/plugin.schema.json"


_FIELD = re.compile(r"(?:manifest_invalid: )?([$A-Za-z_]+)")


@frozen
class Comparison:
    """
    A schema, and how the daemon reads what it describes.

    :ivar read: Raises ``BridgeError`` or ``ConfigError`` for what is refused.
    """

    schema: Schema
    defs: dict[str, Schema]
    read: Callable[[Any], Any]

    def run(self, examples: int = 20) -> None:
        """Compare them for values that the schema accepts, and for others."""
        made = validator(self.schema, self.defs)

        @settings(slow, max_examples=examples)
        @given(Maker(self.defs).accepted(self.schema))
        def accepted(value: Any) -> None:
            self._compare(made, value)

        @settings(slow, max_examples=1, phases=[Phase.generate])
        @given(Maker(self.defs, whole=True).accepted(self.schema))
        def edge(value: Any) -> None:
            for changed in edges(value):
                self._compare(made, changed)

        accepted()
        edge()

    def _compare(self, made: Any, value: Any) -> None:
        fits = made.is_valid(value)
        try:
            self.read(value)
        except (BridgeError, ConfigError) as e:
            message = getattr(e, "message", str(e))
            assert not fits or self._is_partial(message), f"refused: {value!r}: {e}"
        else:
            assert fits, f"accepted: {value!r}"

    def _is_partial(self, message: str) -> bool:
        """Whether the schema of the refused field is marked as incomplete."""
        held = self.schema["properties"].get(_FIELD.match(message)[1], {})
        return is_partial(held, self.defs)


class AcceptanceTests(SynchronousTestCase):
    """Tests that compare schemas with the classes that they are made from."""

    def test_every_method_is_compared(self) -> None:
        """There is no other method in the document."""
        self.assertEqual(set(PARAMS), set(DOCUMENT["methods"]))

    def test_params(self) -> None:
        """The parameters of each method."""
        defs = exact(DOCUMENT["$defs"])
        for method, kind in PARAMS.items():
            schema = exact(DOCUMENT["methods"][method]["params"])

            def read(value: Any, kind: type[Any] = kind) -> Any:
                return read_arguments(loads(dumps(value)), kind)

            Comparison(schema, defs, read).run()

    def test_frames(self) -> None:
        """The frames of a page."""
        defs = exact(DOCUMENT["$defs"])

        def read(value: Any) -> None:
            frame = frames.read_frame(dumps(value))
            if isinstance(frame, frames.RefusedFrame):
                raise frame.error

        for kind in ("hello", "request"):
            schema = exact(DOCUMENT["frames"][kind]["schema"])
            Comparison(schema, defs, read).run()

    @settings(slow, max_examples=5)
    @given(st.data())
    def test_log_records(self, data: st.DataObject) -> None:
        """A log record is written if the schema accepts it, and shows something."""
        schema, defs = DOCUMENT["$defs"]["LogRecord"], DOCUMENT["$defs"]
        drawn = data.draw(Maker(defs).accepted(schema))
        for value in (drawn, *edges(drawn)):
            fits = validator(schema).is_valid(value)
            shown = fits and visible(value["message"]).strip() != ""
            self.assertEqual(read_record(value) is not None, shown, value)

    def test_manifests(self) -> None:
        """``plugin.json``, for each host; what one accepts, is accepted for any."""
        anywhere = validator(json.loads(read_schema("plugin.any.json")), {})
        for host in SHIPPED:
            profile = load_profile(host)

            def read(value: Any, profile: Any = profile) -> None:
                read_manifest(dumps(value), profile)
                anywhere.validate(value)

            own, name = host == OWN_HOST, f"plugin.{host}.json"
            text = OWN_SCHEMA.read_bytes() if own else read_schema(name)
            Comparison(json.loads(text), {}, read).run(examples=5)

    def test_profiles(self) -> None:
        """A host profile."""
        schema = json.loads(read_schema("host.json"))

        def read(value: Any) -> None:
            if type(value) is dict:  # TOML has no other document
                read_fields(value)

        Comparison(schema, schema["$defs"], read).run()


class ShippedTests(SynchronousTestCase):
    def test_profiles(self) -> None:
        """The schema accepts each profile that ships."""
        schema = json.loads(read_schema("host.json"))
        for host in SHIPPED:
            text = files("bridge.settings").joinpath("profiles", f"{host}.toml")
            fields = tomllib.loads(text.read_text("utf-8"))
            validator(schema, schema["$defs"]).validate(fields)
            del fields["application"]
            self.assertFalse(validator(schema, schema["$defs"]).is_valid(fields))
