"""Places plugins, which were not scanned, and has the daemon build them."""

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from bridge.plugins.tree.tree import key_id, public_key_of
from bridge.settings.host import load_profile

from ..directories import write_files
from ..e2e.daemon import run, set_up
from ..forge import sign

PROFILE: Final = load_profile("reference")
_SEED: Final = b"\x09" * 32
_KEY: Final = key_id(public_key_of(_SEED))
_SIGNED_AT: Final = 1_700_000_000
_RECORD: Final = {
    "url": "https://forge.example/x",
    "commit": "c0ffee" * 6 + "c0ff",
    "keyId": _KEY,
    "signedAt": _SIGNED_AT,
    "installedAt": 1,
    "updatedAt": 1,
}


@frozen
class Placed:
    """
    A plugin, its permissions, and which of them the user has allowed.

    :ivar files: What is in its tree, by name, without ``plugin.json``.
    :ivar manifest: More of its manifest than its id.
    :ivar allowed: Pairs of a permission and what is done with it.
    """

    id: str
    files: dict[str, str]
    manifest: dict[str, Any]
    allowed: tuple[tuple[str, str], ...] = ()
    settings: dict[str, Any] | None = None


def from_directory(directory: Path, **more: Any) -> Placed:
    """Read a plugin whose directory is named after it."""
    files = {
        path.relative_to(directory).as_posix(): path.read_text("utf-8")
        for path in directory.rglob("*.?s")
    }
    manifest = json.loads((directory / "plugin.json").read_text("utf-8"))
    return Placed(directory.name, files, manifest, **more)


def place(
    home: Path, plugins: Iterable[Placed], left_out: Collection[str] = ()
) -> Path:
    """
    Set up a data directory with trees, records, grants and settings; build the bundle.

    :param left_out: The ids of those that the build refuses.
    :return: Where the bundle is.
    """
    plugins = list(plugins)
    data = set_up(home)
    _write(data, plugins)
    where = ("--host=reference", f"--data-dir={data}", "--build-plugins")
    built = run(home, "run", *where)
    report = json.loads(built.stdout)
    taken = {plugin.id for plugin in plugins} - set(left_out)
    assert set(report["plugins"]) == taken, built.stdout + built.stderr
    return data / "themes" / PROFILE.theme_name / f"{PROFILE.bundle_name}.js"


def _write(data: Path, plugins: Iterable[Placed]) -> None:
    state: dict[str, Any] = {"bridge.plugins": {}, "host": {}}
    for plugin in plugins:
        tree = data / "plugins" / plugin.id
        usual = {"id": plugin.id, "version": "1.0.0", "apiVersion": "^0.3.0"}
        manifest = {"name": plugin.id.capitalize(), **usual, **plugin.manifest}
        write_files(tree, {**plugin.files, "plugin.json": json.dumps(manifest)})
        sign(tree, plugin.id, PROFILE, _SEED, _SIGNED_AT)
        state["bridge.plugins"][plugin.id] = _RECORD
        allowed = [{"kind": kind, "target": target} for kind, target in plugin.allowed]
        if allowed:
            grants = {"keyId": _KEY, "allowed": allowed}
            state["host"][f"grants:{plugin.id}"] = grants
        if plugin.settings:
            state[f"plugin:{plugin.id}"] = plugin.settings
    path = data / "state.json"
    path.write_text(json.dumps(state), "utf-8")
    path.chmod(0o600)
