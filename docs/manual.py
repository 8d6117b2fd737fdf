"""
The generated parts of the pages outside docs/reference.

In the Markdown, such a part stands between ``<!-- generated: NAME -->`` and
``<!-- end -->``; ``docs/generate.py`` replaces it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from attacks import attack_families
from attrs import fields
from described import Field, fields_in, fields_of
from protocolfile import document, event_words, without_type
from twisted.python import usage

from bridge.cli.catalogue import COMMANDS
from bridge.cli.completing.words import Word, options_class, words_of
from bridge.datadir.paths import DataDir
from bridge.plugins.tree.manifest import MANIFEST_FILE, Manifest
from bridge.plugins.tree.signature import SignatureFile, sign_tree
from bridge.plugins.tree.tree import read_tree
from bridge.protocol import limits
from bridge.protocol.rules import Schema
from bridge.rpc.registry import summary_of
from bridge.settings.config import BY_NAME, OPTIONS
from bridge.settings.host import (
    SHIPPED,
    Database,
    Directories,
    HostProfile,
    Names,
    PermissionWords,
    load_profile,
)

_PART: Final = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_SHARED: Final = ("--data-dir", "--host", "--theme-dir", "--help", "--version")
"""Options of nearly every command; the manual page lists them once."""

_SAMPLE: Final = Path(__file__).parents[1] / "bridge/reference/sample-plugin"
_NEW_YEAR: Final = 1767225600
_API: Final = Path(__file__).parents[1] / "bridge/reference/packages/api/src"
_GATED: Final = re.compile(
    r"/\*\*(?:(?!\*/).)*needs the permission `([^`]+)`(?:(?!\*/).)*\*/\s*"
    r"export interface (\w+)",
    re.DOTALL,
)


def entry(head: str, words: str) -> str:
    """Write one entry of a list of definitions."""
    return f"{head}\n: {words[:1].upper()}{words[1:]}.\n"


def commands() -> Iterator[str]:
    """Every command, what it does, and its own options."""
    for name in COMMANDS:
        options = options_class(name)()
        yield f"### {name}\n"
        yield f"`{synopsis_of(options)}`\n"
        about = " ".join((getattr(options, "longdesc", "") or "").split())
        yield f"{about}\n"
        for word in words_of(name):
            if word.name not in _SHARED:
                yield entry(*option_words(options, word))


def shared() -> Iterator[str]:
    """List the options that nearly every command has."""
    options = options_class("setup")()
    for word in words_of("setup"):
        if word.name in _SHARED:
            yield entry(*option_words(options, word))


def synopsis_of(options: usage.Options) -> str:
    """Return a command's synopsis."""
    return " ".join(options.getSynopsis().split()).removeprefix("Usage: ")


def option_words(options: usage.Options, word: Word) -> tuple[str, str]:
    """Return an option as users type it, and its description."""
    long = word.name[2:]
    heads = [
        f"`-{short}`"
        for short, stands_for in options.synonyms.items()
        if len(short) == 1 and stands_for == long
    ]
    value = f" {value_name(long, options)}" if word.takes_value else ""
    about = word.about.rstrip(".")
    default = options.defaults.get(long)
    has_default = long not in BY_NAME and word.takes_value and default is not None
    return (
        ", ".join([*heads, f"`{word.name}{value}`"]),
        about + (f" (default {default})" if has_default else ""),
    )


def value_name(option: str, options: usage.Options) -> str:
    """Name the value of an option."""
    if option in BY_NAME:
        return BY_NAME[option].value or ""
    found = re.search(rf"--{option} ([A-Z|]+)", options.getSynopsis())
    return found[1] if found else "VALUE"


def environment() -> Iterator[str]:
    """Every variable that sets an option."""
    for option in OPTIONS:
        yield f"`{option.variable}`\n: `--{option.name}`\n"


def files() -> Iterator[str]:
    """Everything in the data directory."""
    data = DataDir(Path("DATA"))
    for name, value in vars(DataDir).items():
        if isinstance(value, property):
            yield entry(f"`{getattr(data, name)}`", summary_of(value).rstrip("."))


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


def field_entries(found: Iterable[Field]) -> Iterator[str]:
    """Describe fields."""
    for one in found:
        need = "" if one.required else ", optional"
        yield entry(f"`{one.name}` ({one.kind}{need})", one.words)


def manifest() -> Iterator[str]:
    """Every field of plugin.json."""
    return field_entries(fields_of(Manifest))


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
    return field_entries(fields_of(SignatureFile))


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
    for title, kind in (
        ("### Keys\n", HostProfile),
        ("### `[directories]`\n", Directories),
        ("### `[databases.ALIAS]`\n", Database),
        ("### `[permission_words.PERMISSION]`\n", PermissionWords),
        ("### `[names]`\n", Names),
    ):
        yield title
        names = (a.name for a in fields(kind))
        for name, one in zip(names, fields_of(kind), strict=True):
            need = "" if one.required else ", optional"
            yield entry(f"`{name}` ({one.kind}{need})", one.words)


def profile_example() -> Iterator[str]:
    """The profile of the host that is documented whole."""
    page = (Path(__file__).parent / "hosts.md").read_text("utf-8")
    found = re.search(r"^```toml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    if found is None:
        raise ValueError("hosts.md has no profile")
    yield indented(found[1])


def frames() -> Iterator[str]:
    """Every frame."""
    for kind, frame in document()["frames"].items():
        sender = "page" if frame["from"] == "client" else "daemon"
        yield f"### {kind}\n"
        yield f"{frame['description']} The {sender} sends it.\n"
        yield from schema_entries(without_type(frame["schema"]))


def schema_entries(schema: Schema) -> Iterator[str]:
    """Describe the fields of a schema."""
    return field_entries(fields_in(schema, document()["$defs"]))


def events() -> Iterator[str]:
    """Every event, and its data."""
    for name, event in document()["events"].items():
        yield f"### {name}\n"
        yield f"{event_words(event)}\n"
        yield from schema_entries(event["data"])


def objects() -> Iterator[str]:
    """The objects that others hold."""
    for name, schema in document()["$defs"].items():
        if "properties" in schema:
            yield f"### {name}\n"
            yield f"{schema['description']}\n"
            yield from schema_entries(schema)


def methods() -> Iterator[str]:
    """Every method."""
    about = document()
    for name, service in about["services"].items():
        yield f"### {name}\n"
        yield f"{service['description']}\n"
        for called, method in about["methods"].items():
            if called.startswith(f"{name}/"):
                yield f"#### {called}\n"
                yield f"{method['description']}\n"
                yield from shape("Parameters", method["params"])
                yield from shape("Result", method["result"])


def shape(title: str, schema: Schema) -> Iterator[str]:
    """Describe parameters, or a result."""
    if "properties" not in schema:
        yield f"{title}: none.\n"
    else:
        yield f"{title}:\n"
        yield from schema_entries(schema)


def codes() -> Iterator[str]:
    """Every error code."""
    for code, error in document()["errors"].items():
        yield entry(f"`{code}` (HTTP {error['http']})", error["meaning"])


def prefixes() -> Iterator[str]:
    """Every plugin error."""
    for prefix, held in document()["prefixes"].items():
        yield entry(f"`{prefix}`", held["meaning"])


def closed() -> Iterator[str]:
    """Every close reason."""
    for reason, close in document()["closes"].items():
        head = f"`{reason}` ({close['code']}, {close['retry']})"
        yield entry(head, close["meaning"])


def retries() -> Iterator[str]:
    """When a page may connect again."""
    for retry, held in document()["retries"].items():
        yield entry(f"`{retry}`", held["meaning"])


def bounds() -> Iterator[str]:
    """The limits that concern every page."""
    for name in (
        "HELLO_SECONDS",
        "HELLO_FRAME_BYTES",
        "FRAME_BYTES",
        "JSON_DEPTH",
        "JSON_VALUES",
        "REQUEST_ID_CHARACTERS",
        "NAME_CHARACTERS",
        "RATE_PER_SECOND",
        "RATE_BURST",
        "LIGHT_PER_SECOND",
        "UNSENT_BYTES",
        "SOCKETS_AUTHENTICATED",
    ):
        yield f"- {name.lower().replace('_', ' ')}: {getattr(limits, name):.9g}\n"


WRITERS: Final[dict[str, Callable[[], Iterator[str]]]] = {
    "attack_families": attack_families,
    "bounds": bounds,
    "closed": closed,
    "codes": codes,
    "commands": commands,
    "environment": environment,
    "events": events,
    "files": files,
    "frames": frames,
    "hosts": hosts,
    "manifest": manifest,
    "manifest_example": manifest_example,
    "methods": methods,
    "objects": objects,
    "other_names": other_names,
    "permissions": permissions,
    "prefixes": prefixes,
    "retries": retries,
    "profile": profile,
    "profile_example": profile_example,
    "shared": shared,
    "signature": signature,
    "signature_example": signature_example,
}
"""The function that writes each part, by the part's name."""


def filled(text: str) -> str:
    """Return a page with its generated parts replaced."""

    def part(found: re.Match[str]) -> str:
        return f"{found[1]}\n" + "\n".join(WRITERS[found[2]]()) + f"\n{found[3]}"

    return _PART.sub(part, text)


def pages(docs: Path) -> list[Path]:
    """List the pages that have generated parts."""
    return [p for p in sorted(docs.rglob("*.md")) if _PART.search(p.read_text("utf-8"))]
