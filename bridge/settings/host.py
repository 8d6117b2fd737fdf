"""
The host application whose page the daemon serves, as one frozen profile; and where its
data and its theme are.

A profile is a TOML file: two ship in ``profiles``, and ``--host PATH`` reads any other.
The specification's placeholders (theme, bundle, module names, signature domain,
permission vocabulary) are its keys.
"""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import platformdirs
from attrs import evolve, field

from ..classes import frozen
from ..datadir.paths import HOST_FILES, REALM_ENTRY, DataDir
from ..protocol.errors import BridgeError
from ..protocol.wire import string, structure
from .config import BY_NAME, SHIPPED, ConfigError, configured, read_toml
from .values import is_utf8

FileName = Annotated[str, string(64, like=r"[A-Za-z0-9][A-Za-z0-9._-]*")]
ModuleName = Annotated[str, string(128, like=r"@?[a-z0-9._-]+(/[a-z0-9._-]+)*")]
Identifier = Annotated[str, string(64, like=r"[a-z0-9:._-]+")]

_Path = Annotated[str, string(1024, control=False)]
_Plain = Annotated[
    str,
    string(
        80, like="[ -%'-;=?-~]*", least=1, meaning="printable ASCII without <, > and &"
    ),
]

_PROFILES = Path(__file__).parent / "profiles"
_PERMISSIONS = Path(__file__).parent / "permissions.toml"

_SCHEMA_FIELD = "$schema"
"""Names the schema of the file, for editors."""


@frozen
class Directories:
    """
    Where the host application keeps things, as templates.

    ``{home}``, ``{user_config}``, ``{user_data}``, ``{local_app_data}`` and, in
    ``theme``, ``{data}`` are filled in.

    :ivar data: The data directory, unless ``--data-dir`` names another.
    :ivar theme: Where it loads themes from, unless ``--theme-dir`` names another.
    :ivar data_windows: The data directory on Windows; empty for the same.
    """

    data: _Path
    theme: _Path
    data_windows: _Path = ""


@frozen
class Database:
    """
    One SQLite database a page may read, by alias.

    :ivar path: Its file; the same words in braces are filled in, also ``{data}``.
    :ivar about: One line, for lists of the databases.
    """

    path: _Path
    about: str


@frozen
class PermissionWords:
    """
    What a permission allows, in words for prompts.

    :ivar label: What the plugin can do: a few words that begin with a verb.
    :ivar effect: What that means for the user.
    :ivar risky: Whether it is listed first, and its risk is pointed out.
    """

    label: _Plain
    effect: _Plain
    risky: bool = False


@frozen
class Names:
    """
    Names that the host's users know from an earlier daemon, and may use as well.

    :ivar command: A command that is ``plugin-bridge`` with ``--host`` naming this
        profile; of a profile that ships with the daemon.
    :ivar variables: What starts the environment variables of the options, looked up
        after those that start with ``BRIDGE_``.
    :ivar flags: Other names of options, and the option each stands for, both
        without dashes.
    """

    command: Annotated[str, string(64, like=r"[a-z0-9-]*")] = ""
    variables: Annotated[str, string(64, like=r"[A-Z0-9_]*")] = ""
    flags: dict[Annotated[str, string(64, like=r"[a-z][a-z0-9-]+")], Identifier] = (
        field(factory=dict)
    )


@frozen
class HostProfile:
    """
    What the daemon must know about a host application.

    :ivar name: The profile's own.
    :ivar application: The name users know it by; the default ``sourceApp``.
    :ivar theme_name: The folder, inside the theme directory, of its bundle.
    :ivar bundle_name: The bundle's file name without ``.js``.
    :ivar api_module: What a plugin imports; aliased to the API's sources.
    :ivar table_module: What the host imports; aliased to the generated table.
    :ivar signature_domain: Starts the two domain lines of a signature.
    :ivar info_author: The author that the published theme names.
    :ivar permissions: The words a manifest's permissions are chosen from.
    :ivar directories: Where it keeps things.
    :ivar desktop_entry: Its ``.desktop`` file without the ending, for notifications.
    :ivar plain_versions: Whether only ``N.N.N`` versions and plain comparators
        pass, because the host's page drops anything else.
    :ivar plugins: What an entry of the generated table has besides its manifest:
        ``modules``: the plugin, as a part of the bundle; ``texts``: the text of the
        plugin's own bundle, for the page to start apart from its own script, so that
        one which does not even compile stops nothing.
    :ivar opt_in: Whether its page runs only plugins whose ``enabled:`` entry in the
        state's ``host`` is ``true``, not all for which it is not ``false``.
    :ivar sink_aliases: Other names callers may use for a sink.
    :ivar databases: The SQLite databases a page may read, by alias.
    :ivar permission_words: What prompts say of permissions, if not what they say for
        the hosts that ship; one without words is shown by its name, as a risk.
    :ivar names: Other names of the command, of options and of variables.
    :ivar sources: Where to get the sources of its plugin system, as ``setup`` prints
        it when they are missing.
    """

    name: Identifier
    application: Annotated[str, string(64)]
    theme_name: FileName
    bundle_name: FileName
    api_module: ModuleName
    table_module: ModuleName
    signature_domain: Annotated[str, string(64, like=r"[a-z0-9-]+")]
    info_author: Annotated[str, string(64)]
    permissions: list[Identifier]
    directories: Directories
    desktop_entry: Annotated[str, string(128, like=r"[A-Za-z0-9._-]*")] = ""
    plain_versions: bool = False
    plugins: Annotated[str, string(8, like=r"modules|texts")] = "modules"
    opt_in: bool = False
    sink_aliases: dict[str, Identifier] = field(factory=dict)
    databases: dict[str, Database] = field(factory=dict)
    permission_words: dict[Identifier, PermissionWords] = field(factory=dict)
    names: Names = field(factory=Names)
    sources: Annotated[str, string(300)] = ""

    @property
    def has_texts(self) -> bool:
        """Whether ``plugins`` is ``texts``."""
        return self.plugins == "texts"

    @property
    def needed_sources(self) -> tuple[str, ...]:
        """Those that its bundle is made of, relative to the data directory."""
        return (*HOST_FILES, REALM_ENTRY) if self.has_texts else HOST_FILES

    @property
    def tree_domain(self) -> str:
        """The first line of what a tree's digest is made of."""
        return f"{self.signature_domain}-tree-v1"

    @property
    def message_domain(self) -> str:
        """The first line of what an author signs."""
        return f"{self.signature_domain}-signature-v1"

    def data_dir(self) -> Path:
        """Where the daemon keeps its files unless ``--data-dir`` names another."""
        return _fill(getattr(self.directories, self.data_key), {})

    @property
    def data_key(self) -> str:
        """Which of the ``directories`` is the data directory on this system."""
        is_windows = sys.platform == "win32"
        return (
            "data_windows" if is_windows and self.directories.data_windows else "data"
        )

    def theme_dir(self, data: Path) -> Path:
        """
        The directory the host application loads themes from.

        :param data: The data directory in use.
        """
        return _fill(self.directories.theme, {"data": str(data)})

    def database(self, alias: str, data: Path) -> Path:
        """The file of the database ``alias``; ``KeyError`` when there is none."""
        return _fill(self.databases[alias].path, {"data": str(data)})


def _fill(template: str, more: Mapping[str, str]) -> Path:
    known = {
        "home": str(Path.home()),
        "user_config": str(platformdirs.user_config_path(roaming=True)),
        "user_data": str(platformdirs.user_data_path()),
        "local_app_data": str(platformdirs.user_data_path()),
        **more,
    }
    return Path(template.format(**known))


def load_profile(name: str) -> HostProfile:
    """
    Read a profile.

    :param name: One of ``SHIPPED``, or the path of a TOML file.
    :raise ConfigError: It does not exist, or breaks a rule.
    """
    try:
        is_shipped = name in SHIPPED
        text = shipped_profile(name) if is_shipped else Path(name).read_text("utf-8")
    except (OSError, ValueError):
        raise ConfigError(
            f"neither a shipped host ({', '.join(SHIPPED)}) nor a readable file "
            "in UTF-8"
        ) from None
    return parse_profile(text, name)


def shipped_profile(name: str) -> str:
    """Return the text of a profile of ``SHIPPED``."""
    # importlib.resources would load what reads zip files: half a megabyte.
    return (_PROFILES / f"{name}.toml").read_text("utf-8")


def host_commands() -> dict[str, str]:
    """List the commands of the hosts that ship; return the host's name by command."""
    # Their paths are not checked: a command is found without a home directory, too.
    shipped = (read_fields(tomllib.loads(shipped_profile(n))) for n in SHIPPED)
    return {host.names.command: host.name for host in shipped if host.names.command}


def parse_profile(text: str, name: str) -> HostProfile:
    """
    Read a profile's text.

    :param name: As for ``load_profile``; refusals begin with it.
    :raise ConfigError: It is not TOML, or a field breaks its rule.
    """
    values = read_toml(text, name)
    try:
        profile = read_fields(values)
        _check_flags(profile.names.flags)
        _check_paths(profile)
    except ConfigError as e:
        raise ConfigError(f"{name}: {e}") from None
    return profile


def read_fields(values: dict[str, Any]) -> HostProfile:
    """
    Read the fields of a profile, whose paths are not checked.

    :param values: As TOML has them.
    :raise ConfigError: A field breaks its rule.
    """
    fields = dict(values)
    if type(fields.pop(_SCHEMA_FIELD, "")) is not str:
        raise ConfigError(f"{_SCHEMA_FIELD}: must be a string")
    try:
        profile = structure(fields, HostProfile, spelling=str, own=True)
    except BridgeError as e:
        raise ConfigError(e.message) from None
    words = {**_shipped_words(), **profile.permission_words}
    return evolve(profile, permission_words=words)


@lru_cache(maxsize=1)
def _shipped_words() -> dict[str, PermissionWords]:
    text = _PERMISSIONS.read_text("utf-8")
    return {
        name: structure(words, PermissionWords, spelling=str)
        for name, words in tomllib.loads(text).items()
    }


def _check_flags(flags: dict[str, str]) -> None:
    if flags.keys() & BY_NAME or not set(flags.values()) <= BY_NAME.keys() - {"host"}:
        raise ConfigError(
            "names.flags: each must be no option of the daemon, and stand for one, "
            "other than host"
        )


def _check_paths(profile: HostProfile) -> None:
    """Check the paths, with their placeholders filled in."""
    where, key = profile.directories, profile.data_key
    data = {"data": str(Path("/data").absolute())}  # with a drive on Windows
    paths = [
        ("directories.data", where.data, {}, key == "data"),
        # A directory for another system need not be absolute on this one.
        ("directories.data_windows", where.data_windows, {}, key == "data_windows"),
        ("directories.theme", where.theme, data, True),
    ]
    # The name of a database is its author's, so the message leaves it out.
    paths += [
        ("databases[].path", database.path, data, True)
        for database in profile.databases.values()
    ]
    for name, template, more, is_used in paths:
        try:
            is_absolute = _fill(template, more).is_absolute()
        except (LookupError, AttributeError, TypeError, ValueError):
            raise ConfigError(f"{name}: unknown placeholder in braces") from None
        if is_used and not is_absolute:
            raise ConfigError(
                f"{name}: must be absolute, or begin with a placeholder such as "
                "{home}"
            )


@frozen
class Paths:
    """
    The host's profile, the data directory and the theme directory.

    :ivar options: Those by which another command finds the same.
    """

    profile: HostProfile
    data: DataDir
    theme_dir: Path
    options: tuple[str, ...] = field(default=(), eq=False)

    @property
    def typed(self) -> str:
        """Those options as a command line has them."""
        return shlex.join(self.options)

    @property
    def bundle(self) -> Path:
        """Where the bundle is published."""
        folder = self.theme_dir / self.profile.theme_name
        return folder / f"{self.profile.bundle_name}.js"

    def others(self) -> Iterator[tuple[str, DataDir]]:
        """Yield each other shipped host, and where it usually has its data."""
        for name in SHIPPED:
            if name != self.profile.name:
                yield name, DataDir(load_profile(name).data_dir())


def locate(host: str, data_dir: Path | None, theme_dir: Path | None) -> Paths:
    """
    Find the profile, the data directory and the theme directory.

    :raise ConfigError: Naming the option.
    """
    try:
        profile = load_profile(host)
    except ConfigError as e:
        origin = "--host (or BRIDGE_HOST, or host in config.toml)"
        raise ConfigError(f"{origin}: {e}") from None
    data = DataDir(data_dir or profile.data_dir())
    theme = theme_dir or profile.theme_dir(data.root)
    if not (is_utf8(data.root) and is_utf8(theme)):
        # The options themselves are checked when they are read.
        raise ConfigError("XDG_DATA_HOME, XDG_CONFIG_HOME: must be paths in UTF-8")
    options = ["--host", host if host in SHIPPED else str(Path(host).absolute())]
    in_file = configured()
    if str(data.root) != in_file.get("data_dir", str(profile.data_dir())):
        options += ["--data-dir", str(data.root)]
    usual = str(profile.theme_dir(data.root))
    if str(theme) != in_file.get("theme_dir", usual):
        options += ["--theme-dir", str(theme)]
    return Paths(profile, data, theme, tuple(options))


def is_usual(place: Paths) -> bool:
    """Whether a daemon that is started without options uses these."""
    host = configured().get("host", BY_NAME["host"].default)
    return place.options == ("--host", host)
