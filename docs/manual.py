"""The generated parts of the manual pages about commands and files."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
from described import entry, field_entries, fields_in
from jsonschemas import SchemaMaker, meanings

from bridge.cli.main import COMMANDS, find
from bridge.datadir.paths import DataDir
from bridge.plugins.policy.rules import ADVICE
from bridge.plugins.tree.manifest import MANIFEST_FILE, Manifest
from bridge.plugins.tree.tree import SignatureFile, read_tree, sign_tree
from bridge.settings.config import OPTIONS, SHIPPED
from bridge.settings.host import (
    Database,
    Directories,
    HostProfile,
    Names,
    PermissionWords,
    load_profile,
)

_SHARED: Final = frozenset(
    {"--data-dir", "--host", "--theme-dir", "--help", "--version"}
)
"""Options of nearly every command; the manual page lists them once."""

_SAMPLE: Final = Path(__file__).parents[1] / "bridge/reference/sample-plugin"
_NEW_YEAR: Final = 1767225600
_API: Final = Path(__file__).parents[1] / "bridge/reference/packages/api/src"
_GATED: Final = re.compile(
    r"/\*\*(?:(?!\*/).)*needs the permission `([^`]+)`(?:(?!\*/).)*\*/\s*"
    r"export interface (\w+)",
    re.DOTALL,
)
_MODULE: Final = re.compile(r'\} from "\./(\w+)\.js";')
_NOT_DECLARED: Final = re.compile(
    r"^(?:import|const|export (?:type )?\{).*?;\n", re.DOTALL | re.MULTILINE
)
_BODY: Final = re.compile(
    r"^(export function [^\n]*) \{\n.*?^\}$", re.DOTALL | re.MULTILINE
)


def commands() -> Iterator[str]:
    """Every command, what it does, its own options, an example, and how it ends."""
    for name in COMMANDS:
        made = find(name)
        context = click.Context(made, info_name=name)
        yield f"### {name}\n"
        words = " ".join(made.collect_usage_pieces(context))
        yield f"`plugin-bridge {name} {words}`\n"
        yield f"{made.help}\n"
        yield from entries(made, context, shared=False)
        example, _, status = str(made.epilog).partition("\n\n")
        yield f"Example: `{example.splitlines()[-1].strip()}`\n"
        yield f"{status}\n"


def shared() -> Iterator[str]:
    """List the options that nearly every command has."""
    made = find("setup")
    return entries(made, click.Context(made), shared=True)


def entries(
    made: click.Command, context: click.Context, *, shared: bool
) -> Iterator[str]:
    """
    List options of a command as users type them, and their descriptions.

    :param shared: Whether to list those of nearly every command, or the others.
    """
    for param in made.get_params(context):
        record = param.get_help_record(context)
        is_shared = not _SHARED.isdisjoint(param.opts)
        if isinstance(param, click.Option) and record and is_shared is shared:
            about, _, more = " ".join(record[1].split()).partition("[")
            extra = f" ({re.sub('[()]|]$', '', more)})" if more else ""
            yield entry(f"`{record[0]}`", f"{about.strip().rstrip('.')}{extra}")


def environment() -> Iterator[str]:
    """Every variable that sets an option."""
    for option in OPTIONS:
        yield f"`{option.variable}`\n: `--{option.name}`\n"


def files() -> Iterator[str]:
    """Everything in the data directory."""
    data = DataDir(Path("DATA"))
    for name, words in meanings(DataDir).items():
        if name != "root":
            yield entry(f"`{getattr(data, name)}`", words.rstrip("."))


def hosts() -> Iterator[str]:
    """The directories of the hosts that ship with the daemon."""
    for name in SHIPPED:
        profile = load_profile(name)
        where = profile.directories
        filled_in = {
            "home": "~",
            "user_config": "~/.config",
            "user_data": "~/.local/share",
        }
        data = where.data.format(**filled_in)
        theme = where.theme.format(data=data, **filled_in)
        yield (
            f"`--host {name}`\n"
            f": DATA is `{data}`, and the bundle is "
            f"`{theme}/{profile.theme_name}/{profile.bundle_name}.js`.\n"
        )


def other_names() -> Iterator[str]:
    """The other names that those hosts define."""
    for host in SHIPPED:
        names = load_profile(host).names
        if names.command:
            yield f"`{names.command}`\n: `plugin-bridge`, with `--host {host}`.\n"
        for flag, name in names.flags.items():
            yield f"`--{flag}`\n: `--{name}`, with `--host {host}`.\n"
        if names.variables:
            yield (
                f"`{names.variables}LISTEN` and so on\n"
                f": `BRIDGE_LISTEN` and so on, with `--host {host}`; "
                "`BRIDGE_HOST` has no other name.\n"
            )


def manifest() -> Iterator[str]:
    """Every field of plugin.json."""
    return _class_entries(SchemaMaker(), Manifest)


def permissions() -> Iterator[str]:
    """Every permission: what it gives to a plugin, and what the user reads."""
    parts = {
        permission: f"ctx.{name[:1].lower()}{name[1:]}"
        for source in sorted(_API.glob("*.ts"))
        for permission, name in _GATED.findall(source.read_text("utf-8"))
    }
    words_of_host = load_profile("reference").permission_words
    if not parts.keys() <= words_of_host.keys():
        raise ValueError("a permission of the API has no words")
    for name, meaning in words_of_host.items():
        part = parts.get(name)
        gives = f"Gives `{part}`" if part else "For hosts with an API of their own"
        risky = ", as a risk" if meaning.risky else ""
        words = f"{meaning.label}: {meaning.effect}"
        yield entry(f"`{name}`", f"{gives}. The user reads{risky}: “{words}”")


def signature() -> Iterator[str]:
    """Every field of plugin.sig."""
    return _class_entries(SchemaMaker(), SignatureFile)


def manifest_example() -> Iterator[str]:
    """The sample plugin's manifest."""
    yield indented((_SAMPLE / MANIFEST_FILE).read_text("utf-8"))


def signature_example() -> Iterator[str]:
    """The sample plugin's signature, by a public test key."""
    host = load_profile("reference")
    made = sign_tree(read_tree(_SAMPLE), "hello-bridge", host, bytes(32), _NEW_YEAR)
    yield indented(made.decode("utf-8"))


def indented(text: str) -> str:
    """Indent text, so that Markdown shows it unchanged."""
    return "".join(f"    {line}\n" for line in text.splitlines())


def profile() -> Iterator[str]:
    """Every key of a host profile, as TOML spells it."""
    maker = SchemaMaker(spelling=str)
    for title, kind in (
        ("### Keys\n", HostProfile),
        ("### `[directories]`\n", Directories),
        ("### `[databases.ALIAS]`\n", Database),
        ("### `[permission_words.PERMISSION]`\n", PermissionWords),
        ("### `[names]`\n", Names),
    ):
        yield title
        yield from _class_entries(maker, kind)


def plugin_api() -> Iterator[str]:
    """What a plugin and its tests import: the declarations, as they are written."""
    index = (_API / "index.ts").read_text("utf-8")
    for module in dict.fromkeys(("index", *_MODULE.findall(index), "testing")):
        source = (_API / f"{module}.ts").read_text("utf-8")
        declared = _BODY.sub(r"\1;", _NOT_DECLARED.sub("", source)).strip()
        declared = re.sub(r"\n{3,}", "\n\n", declared)
        yield f"### {module}.ts\n"
        yield f"```ts\n{declared}\n```\n"


def _class_entries(maker: SchemaMaker, kind: type[Any]) -> Iterator[str]:
    return field_entries(fields_in(maker.object(kind), maker.defs))


def profile_example() -> Iterator[str]:
    """The profile of the host that is documented whole."""
    page = (Path(__file__).parent / "hosts.md").read_text("utf-8")
    found = re.search(r"^```toml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    if found is None:
        raise ValueError("hosts.md has no profile")
    yield indented(found[1])


def rules() -> Iterator[str]:
    """Every rule of the source policy."""
    for rule, fix in ADVICE.items():
        yield entry(f"`{rule}`", fix.rstrip("."))
