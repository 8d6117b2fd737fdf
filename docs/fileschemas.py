"""JSON Schemas of the files that people write: ``plugin.json`` and host profiles."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from jsonschemas import DIALECT, RULE, SchemaMaker, described, merged

from bridge.plugins.tree import versions
from bridge.plugins.tree.manifest import SCHEMA_FIELD, Manifest
from bridge.protocol.wire import PARTIAL, WINDOWS_DEVICES, Schema, whole
from bridge.provision.readiness import OWN_HOST
from bridge.settings.config import SHIPPED
from bridge.settings.host import HostProfile, load_profile

ROOT: Final = Path(__file__).parents[1]
SCHEMAS: Final = ROOT / "bridge/schemas"
OWN_SCHEMA: Final = ROOT / "bridge/reference/packages/api/plugin.schema.json"

_SCHEMA_FIELD: Final[Schema] = {
    "type": "string",
    **described("Where editors find this schema; the daemon ignores it."),
}


def file_schemas() -> Iterator[tuple[Path, Schema]]:
    """Yield every schema, with its file."""
    yield SCHEMAS / "plugin.any.json", manifest_schema()
    for name in SHIPPED:
        # That of the reference host is a part of its sources, where editors find it.
        path = OWN_SCHEMA if name == OWN_HOST else SCHEMAS / f"plugin.{name}.json"
        yield path, manifest_schema(load_profile(name))
    yield SCHEMAS / "host.json", profile_schema()


def manifest_schema(profile: HostProfile | None = None) -> Schema:
    """
    Make the schema of ``plugin.json``.

    :param profile: The host; ``None`` for what every host accepts at most.
    """
    whose = "" if profile is None else f" for the host {profile.name}"
    made = _whole_file(SchemaMaker(), Manifest, f"plugin.json{whose}")
    properties = made["properties"]
    properties["id"] = merged(
        properties["id"], {"not": {"enum": sorted(WINDOWS_DEVICES)}}
    )
    for name, more in _by_host(profile).items():
        properties[name] = merged(properties[name], more)
    return made


def _by_host(profile: HostProfile | None) -> dict[str, Schema]:
    """Return what a host adds to the schemas of some fields."""
    plain = profile is not None and profile.plain_versions
    ranges: Schema = {PARTIAL: True, RULE: "a range of versions, such as ^1.2.3"}
    made: dict[str, Schema] = {
        "version": {"pattern": whole(versions.version_pattern(plain))},
        "apiVersion": {"pattern": versions.PLAIN_RANGE} if plain else ranges,
        "description": {PARTIAL: True},
        "dependencies": {PARTIAL: True},
    }
    if profile is not None:
        allowed = {"items": {"enum": list(profile.permissions)}}
        made |= {"permissions": allowed, "optionalPermissions": allowed}
    return made


def profile_schema() -> Schema:
    """Make the schema of a host profile, a TOML file."""
    return _whole_file(SchemaMaker(spelling=str), HostProfile, "A host profile")


def _whole_file(maker: SchemaMaker, kind: type[Any], title: str) -> Schema:
    made = maker.object(kind)
    properties = {SCHEMA_FIELD: _SCHEMA_FIELD, **made.pop("properties")}
    defs = {"$defs": maker.defs} if maker.defs else {}
    head = {"$schema": DIALECT, "title": title}
    return {**head, **made, "properties": properties, **defs}
