"""
What is asked of the bundler: the host's bundle, and those of plugins alone.

Nothing of it is on the disk: outputs and metafile come back in the answer.
"""

from __future__ import annotations

import re
from typing import Any, Final

from attrs import Factory

from ...classes import frozen
from ...protocol.limits import (
    BUILD_BUNDLE_BYTES,
    BUILD_CPU_SECONDS,
    BUILD_MEMORY_BYTES,
    BUILD_SECONDS,
    BUILD_WRITTEN_BYTES,
)
from ...settings.host import HostProfile
from ..esbuild.conversation import Conversation, Limits
from ..esbuild.language import TARGET, TSCONFIG_RAW, loader_arguments
from ..tree.manifest import ENTRY_FILE
from .messages import shown_messages
from .metafile import API, API_TEXT, PLUGINS, Allowed, BuildError, check_metafile
from .plugintable import TABLE_FILE, PluginText, Table
from .prerequisites import API_ENTRY, HOST_ENTRY, REALM_ENTRY
from .sourcemap import SourceMap, check_map
from .sources import Sources

BUILD_LIMITS: Final = Limits(
    BUILD_SECONDS, BUILD_CPU_SECONDS, BUILD_WRITTEN_BYTES, BUILD_MEMORY_BYTES
)

_EVERY_BUNDLE: Final = (
    "--bundle",
    "--format=iife",
    f"--target={TARGET}",
    # Otherwise a plugin's own tsconfig.json would take part.
    f"--tsconfig-raw={TSCONFIG_RAW}",
    *loader_arguments(),
    "--platform=browser",
    "--metafile",
    "--log-level=silent",
)
_PLUGIN: Final = (
    *_EVERY_BUNDLE,
    "--global-name=plugin",
    "--sourcemap=external",
    # That of a minified build.
    '--define:process.env.NODE_ENV="production"',
)
_OWN: Final = "plugin.js"
_REALM: Final = "realm.js"


def host_flags(profile: HostProfile) -> list[str]:
    """Return the flags of the host's bundle, which hosts are written for."""
    return [
        *_EVERY_BUNDLE,
        "--minify",
        "--sourcemap=linked",
        f"--alias:{profile.api_module}=./{API_ENTRY}",
        f"--alias:{profile.table_module}=./{TABLE_FILE}",
    ]


@frozen
class Output:
    """
    What the bundler made of an entry.

    :ivar files: Their content, by name.
    :ivar warnings: Those that may be shown.
    """

    files: dict[str, bytes]
    metafile: bytes
    warnings: str


@frozen
class Bundle:
    """A script that was checked, its source map, and the files it was made of."""

    script: bytes
    map: SourceMap
    inputs: frozenset[str]


@frozen
class Bundling:
    """
    Asks for bundles, and checks them.

    :ivar directories: The plugins', below ``plugins/``.
    """

    _conversation: Conversation
    _profile: HostProfile
    _sources: Sources
    directories: list[str]
    _keys: list[str] = Factory(list)

    async def host(self) -> Output:
        """
        Bundle the host.

        :raise BuildError: It can't be done, in the bundler's words.
        """
        name = f"{self._profile.bundle_name}.js"
        return await self._build(HOST_ENTRY, name, host_flags(self._profile))

    def check_host(self, output: Output, table: Table) -> Bundle:
        """
        Check a bundle of the host; blocks.

        :param table: The one it was made with.
        :raise BuildError: Naming the file that has no business in it.
        """
        shared, name = API, f"{self._profile.bundle_name}.js"
        return self._check(output, HOST_ENTRY, name, shared, table)

    async def realm(self) -> Output:
        """Bundle what runs before a plugin that is a text; see ``host``."""
        alias = f"--alias:{self._profile.api_module}=./{API_ENTRY}"
        flags = [*_EVERY_BUNDLE, "--minify", "--sourcemap=external", alias]
        return await self._build(REALM_ENTRY, _REALM, flags)

    def check_realm(self, output: Output) -> str:
        """Check it, and return its text; see ``check_host``."""
        bundle = self._check(output, REALM_ENTRY, _REALM, API)
        return bundle.script.decode()

    async def plugin(self, directory: str) -> Output | BuildError:
        """
        Bundle a plugin alone.

        :return: The bundle, or why it can't be made.
        """
        path = f"{PLUGINS}{directory}"
        try:
            return await self._build(
                f"{path}/{ENTRY_FILE}",
                f"{path}/{_OWN}",
                _PLUGIN,
                self._profile.api_module,
            )
        except BuildError as e:
            return e

    def check_plugin(self, directory: str, output: Output | BuildError) -> PluginText:
        """
        Check the bundle of a plugin alone; blocks.

        :raise BuildError: See ``check_host``, or it could not be made.
        """
        if isinstance(output, BuildError):
            raise output
        path = f"{PLUGINS}{directory}"
        entry = f"{path}/{ENTRY_FILE}"
        bundle = self._check(output, entry, f"{path}/{_OWN}", API_TEXT)
        found = bundle.map
        return PluginText(bundle.script.decode(), found.sources, found.mappings)

    async def _build(
        self, entry: str, outfile: str, flags: Any, api_module: str | None = None
    ) -> Output:
        """
        Bundle something.

        :param outfile: Relative to the data directory; what is in the map is named from
            there.
        :param api_module: What stands for ``API_TEXT``, if anything does.
        """
        self._keys.append(entry)
        api = [] if api_module is None else [_matching(f"^{re.escape(api_module)}$")]
        plugin = {
            "name": "sources",
            "onStart": False,
            "onEnd": False,
            "onResolve": api,
            "onLoad": [_matching(".*") | {"namespace": "file"}],
        }
        request = {
            "command": "build",
            "key": len(self._keys),
            "entries": [["", entry]],
            "flags": [*flags, f"--outfile={self._sources.root}/{outfile}"],
            "write": False,
            "stdinContents": None,
            "stdinResolveDir": None,
            "absWorkingDir": self._sources.root,
            "nodePaths": [],
            "context": False,
            "plugins": [plugin],
        }
        found = await self._conversation.ask(request)
        errors = shown_messages(found["errors"])
        if found["errors"]:
            raise BuildError(f"esbuild failed:\n{errors}")
        files = {_name(one["path"]): one["contents"] for one in found["outputFiles"]}
        return Output(files, found["metafile"], shown_messages(found["warnings"]))

    def _check(
        self,
        output: Output,
        entry: str,
        outfile: str,
        shared: str,
        table: Table | None = None,
    ) -> Bundle:
        name = _name(outfile)
        written = (name, f"{name}.map")
        read = self._sources.read
        imports = table.imports if table else frozenset()
        allowed = Allowed(entry, written, self.directories, shared, imports, read)
        inputs = check_metafile(output.metafile, allowed)
        script, source_map = (output.files[one] for one in written)
        if max(len(script), len(source_map)) > BUILD_BUNDLE_BYTES:
            raise BuildError(
                f"the bundle or its map is over {BUILD_BUNDLE_BYTES} bytes"
            )
        folder = outfile.rpartition("/")[0]
        checked = check_map(source_map, folder, inputs, read)
        self._sources.check_packages(inputs)
        return Bundle(script, checked, inputs)


def reply_from(sources: Sources, asked: dict[str, Any]) -> dict[str, Any]:
    """Answer what the bundler asks while it builds."""
    if asked["command"] == "on-load":
        return sources.load(asked)
    if asked["command"] == "on-resolve":
        return {"id": asked["ids"][0], "path": f"{sources.root}/{API_TEXT}"}
    return {"errors": [], "warnings": []}


def _matching(pattern: str) -> dict[str, Any]:
    return {"id": 0, "filter": pattern, "namespace": ""}


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
