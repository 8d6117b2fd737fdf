"""The questions of an operation to the user, and what an answer means for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from attrs import field
from twisted.logger import Logger

from ...approval.approvers import Approver
from ...approval.prompts import (
    LIST_CHARACTERS,
    Prompt,
    Words,
    detail_lines,
    host_line,
    listed,
    named,
    path_line,
    permission_labels,
    shown,
    unavailable,
)
from ...classes import define
from ...concurrency.shares import Shares
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.limits import PROMPTS_WAITING
from ...protocol.steps import Operation, Step
from ..installed.records import Trust
from ..tree.manifest import Manifest, differences
from .candidate import Candidate
from .jobs import Job

_CAUTION: Final = "If you did not start this yourself, do not confirm it."


@define(eq=False)
class Prompting:
    """
    Asks the user an operation's questions, and reports that to pages.

    One is open at a time; one that was not shown yet goes with its page.  Each method
    fails with ``BridgeError`` unless the user has confirmed: ``denied``, of a key
    ``not_trusted``, or ``approval_unavailable``.

    :ivar application: What users know the host application by.
    :ivar words: What its permissions mean.
    """

    _approver: Approver
    _application: str
    _words: Words
    _trust: Trust
    _turn: Shares = field(
        factory=lambda: Shares("prompts", 1, PROMPTS_WAITING, PROMPTS_WAITING),
        init=False,
    )

    _log: ClassVar[Logger] = Logger()

    async def ask_to_install(
        self, job: Job, url: str, directory: str, found: Manifest | None
    ) -> None:
        """
        Ask whether to install what is at ``url``.

        :param directory: Where plugins are kept.
        :param found: What is there, if a preview has checked it.
        """
        which, can = "a plugin", ""
        more = [self._runs, f"Kept in: {shown(directory, LIST_CHARACTERS)}"]
        details = "\n".join([path_line(url), *more])
        if found is not None:
            which, can = f"the plugin {shown(found.id)}", f"\n{self._can(found)}"
            details = self._details(url, found, *more)
        prompt = Prompt(
            Operation.INSTALL,
            f"Install {which}?",
            f"{host_line(url)}{can}\n{self._asks(job)} install a plugin.",
            _CAUTION,
            details,
        )
        await self._ask(job, prompt)

    async def ask_for_permissions(self, job: Job, candidate: Candidate) -> None:
        """
        Ask when a plugin that is to be installed declares anything.

        The question about its key shows that too, so this one is for known keys.
        """
        found, url = candidate.manifest, candidate.url
        if not differences(None, found).grows:
            return
        prompt = Prompt(
            Operation.MORE_PERMISSIONS,
            f"Install {shown(found.id)} with these permissions?",
            f"{host_line(url)}\n{self._can(found)}\n{self._asks(job)} install this "
            "plugin.",
            "Confirm only if you want all of this. If not, nothing is installed.",
            self._details(url, found),
        )
        await self._ask(job, prompt)

    async def ask_to_update(
        self, job: Job, plugin_id: str, url: str, version: str, commit: str
    ) -> None:
        """Ask whether to fetch ``plugin_id`` again, over this version and commit."""
        prompt = Prompt(
            Operation.UPDATE,
            f"Update the plugin {shown(plugin_id)}?",
            f"{host_line(url)}\n{self._asks(job)} update this plugin.",
            _CAUTION,
            f"{_which(url, plugin_id)}\n{self._runs}\n"
            f"Installed now: version {shown(version)}, commit {shown(commit)}",
        )
        await self._ask(job, prompt)

    async def ask_to_grow(
        self, job: Job, candidate: Candidate, old: Manifest | None
    ) -> None:
        """
        Ask when a new version declares more than the installed one.

        :param old: The installed manifest; ``None`` when it can't be trusted, and so
            everything is new.
        """
        new, url = candidate.manifest, candidate.url
        gains = differences(old, new)
        if not gains.grows:
            return
        can = permission_labels(self._words, gains, new=True)
        lines = detail_lines(self._words, gains, new=True)
        former = shown(old.version) if old else "unknown"
        which = f"{_which(url, new.id)}, version {former} to {shown(new.version)}"
        prompt = Prompt(
            Operation.MORE_PERMISSIONS,
            f"Let {shown(new.id)} do more?",
            f"{host_line(url)}\n{can}\n{self._asks(job)} update this plugin.",
            "Confirm only if you want all of this. If you do not, the installed "
            "version stays as it is.",
            "\n".join([which, *lines]),
        )
        await self._ask(job, prompt)

    async def ask_to_uninstall(self, job: Job, plugin_id: str, url: str) -> None:
        """Ask whether to delete ``plugin_id`` and its settings."""
        prompt = Prompt(
            Operation.UNINSTALL,
            f"Uninstall the plugin {shown(plugin_id)}?",
            f"{host_line(url)}\n{self._asks(job)} uninstall this plugin, which came "
            "from there. Its files and its settings will be deleted.",
            _CAUTION,
            _which(url, plugin_id),
        )
        await self._ask(job, prompt)

    async def ask_for_trust(
        self, job: Job, candidate: Candidate, *, is_known: bool = False
    ) -> bool:
        """
        Ask whether to accept the author's key, when that is new.

        :param is_known: Whether the user has seen what the plugin wants to do.
        :return: Whether the user has accepted it now.
        """
        key_id, found = candidate.signed.key_id, candidate.manifest
        if self._trust.is_trusted(key_id):
            return False
        can, details = f"\n{self._can(found)}", self._details(candidate.url, found)
        if is_known:
            can, details = "", _identified(candidate.url, found)
        prompt = Prompt(
            Operation.TRUST_KEY,
            f"Trust a new signing key for {shown(found.id)}?",
            f"{host_line(candidate.url)}\nKey: {shown(key_id)}{can}\n"
            f"{self._asks(job)} accept this new key.",
            "Confirm only if the author published this fingerprint. You will not be "
            "asked about it again.",
            details,
        )
        await self._ask_for_key(job, prompt)
        return True

    async def ask_to_rotate(self, job: Job, candidate: Candidate, old: str) -> None:
        """Ask whether a plugin may change from the key ``old``, if any, to another."""
        new, url = candidate.signed.key_id, candidate.url
        if old in ("", new):
            return
        prompt = Prompt(
            Operation.ROTATE_KEY,
            f"Accept another signing key for {shown(candidate.manifest.id)}?",
            f"{host_line(url)}\nIts author may have changed keys, or somebody else may "
            f"be publishing in the author's name.\nOld key: {shown(old)}\n"
            f"New key: {shown(new)}\n{self._asks(job)} update this plugin.",
            "Confirm only if the author announced the new key.",
            _which(url, candidate.manifest.id),
        )
        await self._ask_for_key(job, prompt)

    async def ask_to_forget(self, job: Job, key_id: str) -> None:
        """Ask whether to stop accepting a key."""
        first, _, url = self._trust.label(key_id).removesuffix(")").partition(" (")
        prompt = Prompt(
            Operation.FORGET_KEY,
            "Stop trusting a signing key?",
            f"Key: {shown(key_id)}\n{self._asks(job)} forget this key. No plugin is "
            "uninstalled; the next one signed with it will ask again.",
            _CAUTION,
            f"First accepted for: {shown(first)}\n{host_line(url)}\n{path_line(url)}",
        )
        await self._ask(job, prompt)

    async def ask_to_reach(self, job: Job, url: str, addresses: Iterable[str]) -> None:
        """
        Ask whether a preview may connect to a private network, this one time.

        :param addresses: What the host's name stands for; none when it is a private
            name itself.
        """
        found = list(addresses)
        address = f"Address: {listed(found)}\n" if found else ""
        prompt = Prompt(
            Operation.PRIVATE_HOST,
            "Connect to your own network?",
            f"{host_line(url)}\n{self._asks(job)} look at a plugin on this host, which "
            "is not on the public internet. It may connect for this preview only, and "
            "nothing is installed.",
            _CAUTION,
            f"{address}{path_line(url)}",
        )
        await self._ask(job, prompt)

    def _asks(self, job: Job) -> str:
        if job.request.from_page:
            return f"A page of {shown(self._application)} asks to"
        return "A command in a terminal asks to"

    @property
    def _runs(self) -> str:
        return f"Its code will run inside {shown(self._application)}."

    def _can(self, found: Manifest) -> str:
        return permission_labels(self._words, differences(None, found), new=False)

    def _details(self, url: str, found: Manifest, *more: str) -> str:
        """Lines: which plugin it is, and all that it wants to do."""
        wants = detail_lines(self._words, differences(None, found), new=False)
        return _identified(url, found, *wants, *more)

    async def _ask(self, job: Job, prompt: Prompt) -> None:
        job.reached(Step.AWAITING_CONFIRMATION, prompt.title, prompt.operation)
        try:
            await job.until(lambda: self._asked(job, prompt))
        except BridgeError as e:
            operation = prompt.operation
            self._log.info("{op} is refused: {why}", op=operation, why=e.message)
            raise
        except Exception:  # noqa: BLE001
            job.raise_if_stopping()
            self._log.failure("the prompt failed")
            raise unavailable("the prompt could not be shown") from None

    async def _asked(self, job: Job, prompt: Prompt) -> None:
        async with self._turn.place(job.request.caller, reads=False):
            await self._approver.approve(prompt)

    async def _ask_for_key(self, job: Job, prompt: Prompt) -> None:
        try:
            await self._ask(job, prompt)
        except BridgeError as e:
            if not e.message.startswith(f"{Prefix.DENIED}:"):
                raise
            why = "the author's key was not accepted"
            raise plugin_error(Prefix.NOT_TRUSTED, why) from None


def _identified(url: str, found: Manifest, *lines: str) -> str:
    """Say which plugin it is; what its author wrote is in quotes, after all else."""
    names = [f'named "{named(found.name)}"']
    if found.author:
        names.append(f'by "{named(found.author)}"')
    which = f"{_which(url, found.id)}, version {shown(found.version)}"
    return "\n".join([which, *lines, *names])


def _which(url: str, plugin_id: str) -> str:
    """Name a plugin in lines; a title may be cut, and its id with it."""
    return f"{path_line(url)}\nPlugin: {shown(plugin_id)}"
