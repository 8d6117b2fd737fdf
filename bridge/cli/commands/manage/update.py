"""``plugin-bridge update``: updates plugins, or lists what is new."""

from __future__ import annotations

from typing import Any, ClassVar

from twisted.python import usage

from ....protocol.errors import BridgeError, Prefix
from ....protocol.text import visible
from ...asking.installed import check_installed, read_plugins
from ...asking.plainwords import as_json, plain, prefix_of
from ...asking.session import EXIT_STATUS, PROMPTED, ManageOptions, Session, manage

REFUSED = 1
INTERRUPTED = 130


class UpdateOptions(ManageOptions):
    """The command line of ``plugin-bridge update``."""

    synopsis = "Usage: plugin-bridge update [--json] [--host NAME|PATH] [ID...|--all]"
    longdesc = (
        "Has the running daemon update plugins from their repositories: those of the "
        "ids, or with --all every one that is behind. Without either, it lists what is "
        "new, and changes nothing. After a refusal it goes on with the next plugin. "
        f"{PROMPTED}{EXIT_STATUS}"
    )
    optFlags: ClassVar[list[list[str | None]]] = [
        ["all", None, "update every plugin that is behind"]
    ]

    def parseArgs(self, *ids: str) -> None:
        """Accept the plugins' ids."""
        self["ids"] = list(dict.fromkeys(ids))

    def postOptions(self) -> None:
        """Check that the two ways of choosing are not mixed."""
        if self["all"] and self["ids"]:
            raise usage.UsageError("--all and ID exclude each other")


def main(arguments: list[str]) -> int:
    """Update plugins and return the exit status."""
    options = UpdateOptions()
    options.parseOptions(arguments)
    return manage(
        "update",
        options,
        lambda session: update(session, options["ids"], bool(options["all"])),
    )


def update(session: Session, ids: list[str], every: bool) -> int:
    """
    Update plugins, or list what is new.

    :param ids: Which; none for a list, unless ``every`` is true.
    :return: The exit status.
    :raise CommandError: One is not installed; nothing was updated.
    """
    if ids:
        plugins = read_plugins(session)
        for plugin_id in ids:
            check_installed(plugin_id, plugins)
        return _update(session, ids)
    answer = session.call("plugins", "check_updates", fresh=True)
    updates = answer["updates"]
    if every and updates:
        return _update(session, [update["id"] for update in updates])
    not_yet = "not known yet: its repository has not answered"
    lines = [
        *map(_line, updates),
        *(f"{one['id']}  not known: {one['reason']}" for one in answer["unknown"]),
        *(f"{plugin_id}  {not_yet}" for plugin_id in answer["pending"]),
    ]
    session.print(answer, [*map(visible, lines)] or ["every plugin is up to date"])
    return 0


def _line(update: dict[str, Any]) -> str:
    count = update["commitsBehind"]
    commits = "1 new commit" if count == 1 else f"{count} new commits"
    summary = update["changelog"][0]["summary"] if update["changelog"] else ""
    return visible(f"{update['id']}  {commits}  {summary}".rstrip())


def _update(session: Session, ids: list[str]) -> int:
    done: list[dict[str, Any]] = []
    status = 0
    for plugin_id in ids:
        try:
            result = session.operate("update", id=plugin_id)
        except BridgeError as e:
            refused = as_json(str(e.code), e.message)
            done.append({"id": plugin_id, **refused})
            session.progress.line(f"{plugin_id}: {plain(e)}")
            status = REFUSED
            if session.interrupted or prefix_of(e) is Prefix.CANCELLED:
                status = INTERRUPTED
                break
        else:
            plugin = result["plugin"]
            done.append({"id": plugin_id, **result})
            if not session.json:
                what = "is at" if result["updated"] else "has nothing new, and is at"
                line = visible(f"{plugin_id} {what} {plugin['version']}")
                session.print(None, [line])
    if session.json:
        session.print({"updated": done}, [])
    return status
