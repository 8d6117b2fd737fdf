"""The schemas accept what the daemon accepts."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.pagelog.logrecords import read_record
from bridge.plugins.tree.manifest import read_manifest
from bridge.protocol import frames
from bridge.protocol.errors import BridgeError
from bridge.protocol.rules import Schema
from bridge.protocol.text import visible
from bridge.protocol.wire import converter, dumps, loads, structure
from bridge.rpc.registry import methods_of
from bridge.schemas import HOST_FILE, manifest_file, read_schema
from bridge.services.logs import Logs
from bridge.services.notify import Notify
from bridge.services.osc import Osc
from bridge.services.outbound import Outbound
from bridge.services.plugins import PluginService
from bridge.services.remote import SnippetEvaluator
from bridge.services.sql import Sql
from bridge.services.state import State
from bridge.settings.host import SHIPPED, ProfileError, load_profile, read_fields

from .checking import DOCUMENT, exact, is_partial, validator
from .generating import Maker, changed

PARAMS = {
    f"{name}/{m.name}": m.params
    for name, service in (
        ("logs", Logs),
        ("notify", Notify),
        ("osc", Osc),
        ("outbound", Outbound),
        ("plugins", PluginService),
        ("remote", SnippetEvaluator),
        ("sql", Sql),
        ("state", State),
    )
    for m in methods_of(service)
}

slow = settings(max_examples=50, suppress_health_check=list(HealthCheck), deadline=None)


class AcceptanceTests(SynchronousTestCase):
    """Tests for schemas beside the classes that they are made from."""

    def compare(
        self,
        value: Any,
        schema: Schema,
        read: Callable[[Any], Any],
        defs: dict[str, Schema],
    ) -> None:
        """Compare a schema's verdict with that of the daemon."""
        fits = validator(schema, defs).is_valid(value)
        try:
            read(value)
        except (BridgeError, ProfileError) as e:
            # What the daemon alone checks is marked.
            partial = is_partial(schema, defs)
            self.assertTrue(partial or not fits, f"refused: {value!r}: {e}")
        else:
            self.assertTrue(fits, f"accepted: {value!r}")

    def check(
        self, schema: Schema, read: Callable[[Any], Any], defs: dict[str, Schema]
    ) -> None:
        """Compare them for values that the schema accepts, and for changed ones."""
        accepted = Maker(defs).accepted(schema)

        @slow
        @given(accepted | changed(accepted))
        def run(value: Any) -> None:
            self.compare(value, schema, read, defs)

        run()

    def test_every_method_is_compared(self) -> None:
        """There is no other method in the document."""
        self.assertEqual(set(PARAMS), set(DOCUMENT["methods"]))

    def test_params(self) -> None:
        """The parameters of each method."""
        defs = exact(DOCUMENT["$defs"])
        for method, kind in PARAMS.items():
            schema = exact(DOCUMENT["methods"][method]["params"])

            def read(value: Any, kind: type[Any] = kind) -> Any:
                return structure(converter, loads(dumps(value)), kind)

            self.check(schema, read, defs)

    def test_frames(self) -> None:
        """The frames of a page."""
        defs = exact(DOCUMENT["$defs"])

        def read(value: Any) -> None:
            frame = frames.read_frame(dumps(value))
            if isinstance(frame, frames.RefusedFrame):
                raise frame.error

        for kind in ("hello", "request"):
            self.check(exact(DOCUMENT["frames"][kind]["schema"]), read, defs)

    @slow
    @given(st.data())
    def test_log_records(self, data: st.DataObject) -> None:
        """A log record is written if the schema accepts it, and shows something."""
        schema, defs = DOCUMENT["$defs"]["LogRecord"], DOCUMENT["$defs"]
        accepted = Maker(defs).accepted(schema)
        value = data.draw(accepted | changed(accepted))
        fits = validator(schema).is_valid(value)
        shown = fits and visible(value["message"]).strip() != ""
        self.assertEqual(read_record(value) is not None, shown)

    def test_manifests(self) -> None:
        """``plugin.json``, for each host and for any."""
        for host in SHIPPED:
            profile = load_profile(host)

            def read(value: Any, profile: Any = profile) -> Any:
                return read_manifest(dumps(value), profile)

            schema = json.loads(read_schema(manifest_file(host)))
            self.check(schema, read, {})

    @slow
    @given(st.data())
    def test_manifest_for_any_host(self, data: st.DataObject) -> None:
        """What one host accepts, the schema for any host accepts."""
        anywhere = validator(json.loads(read_schema(manifest_file())), {})
        host = data.draw(st.sampled_from(SHIPPED))
        schema = json.loads(read_schema(manifest_file(host)))
        anywhere.validate(data.draw(Maker({}).accepted(schema)))

    def test_profiles(self) -> None:
        """A host profile."""
        schema = json.loads(read_schema(HOST_FILE))

        def read(value: Any) -> None:
            if type(value) is dict:  # TOML has no other document
                read_fields(value)

        self.check(schema, read, schema["$defs"])


class ShippedTests(SynchronousTestCase):
    """Tests for the files that ship."""

    def test_profiles(self) -> None:
        """The schema accepts each profile that ships."""
        schema = json.loads(read_schema(HOST_FILE))
        for host in SHIPPED:
            text = files("bridge.settings").joinpath("profiles", f"{host}.toml")
            fields = tomllib.loads(text.read_text("utf-8"))
            validator(schema, schema["$defs"]).validate(fields)
            del fields["application"]
            self.assertFalse(validator(schema, schema["$defs"]).is_valid(fields))
