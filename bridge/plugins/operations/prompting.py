"""The questions of an operation to the user, and what an answer means for it."""

from __future__ import annotations

from typing import ClassVar

from attrs import evolve, field
from twisted.logger import Logger

from ...approval.approvers import Approver
from ...approval.prompts import Offer, Prompt, Prompts, unavailable
from ...classes import define
from ...concurrency.shares import Shares
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.limits import PROMPTS_WAITING
from ...protocol.steps import Step
from ..installed.records import Trust
from ..tree.manifest import Manifest, differences
from .candidate import Candidate
from .jobs import Job


@define(eq=False)
class Prompting:
    """
    Asks the user an operation's questions, and reports that to pages.

    One is open at a time; one that was not shown yet goes with its page.
    """

    _approver: Approver
    _prompts: Prompts
    _trust: Trust
    _turn: Shares = field(
        factory=lambda: Shares("prompts", 1, PROMPTS_WAITING, PROMPTS_WAITING),
        init=False,
    )

    _log: ClassVar[Logger] = Logger()

    def prompts(self, job: Job) -> Prompts:
        """Return the texts of a job's questions, which name who has asked for it."""
        return evolve(self._prompts, from_page=job.request.from_page)

    async def ask(self, job: Job, prompt: Prompt) -> None:
        """
        Wait until the user has confirmed.

        :raise BridgeError: ``denied`` or ``approval_unavailable``.
        """
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

    async def ask_to_install(
        self, job: Job, url: str, directory: str, shown: Manifest | None
    ) -> None:
        """
        Ask whether to install what is at ``url``.

        :param directory: Where plugins are kept.
        :param shown: What is there, if a preview has checked it.
        :raise BridgeError: See ``ask``.
        """
        offer = None if shown is None else _offer(shown)
        await self.ask(job, self.prompts(job).install(url, directory, offer))

    async def ask_for_trust(
        self, job: Job, candidate: Candidate, *, is_known: bool = False
    ) -> bool:
        """
        Ask when the author's key is new.

        :param is_known: Whether the user has seen what the plugin wants to do.
        :return: Whether the user has accepted it now.
        :raise BridgeError: ``not_trusted`` or ``approval_unavailable``.
        """
        if self._trust.is_trusted(candidate.signed.key_id):
            return False
        offer, key_id = _offer(candidate.manifest), candidate.signed.key_id
        prompt = self.prompts(job).trust_key(
            candidate.url, key_id, offer, is_known=is_known
        )
        await self._ask_for_key(job, prompt)
        return True

    async def ask_for_permissions(self, job: Job, candidate: Candidate) -> None:
        """
        Ask when a plugin that is to be installed declares anything.

        The question about its key shows that too, so this one is for known keys.

        :raise BridgeError: ``denied`` or ``approval_unavailable``.
        """
        if differences(None, candidate.manifest).grows:
            offer = _offer(candidate.manifest)
            await self.ask(job, self.prompts(job).declared(candidate.url, offer))

    async def ask_to_rotate(self, job: Job, candidate: Candidate, old: str) -> None:
        """
        Ask whether a plugin may change from the key ``old``, if it has one, to another.

        :raise BridgeError: See ``ask_for_trust``.
        """
        new = candidate.signed.key_id
        if old not in ("", new):
            prompt = self.prompts(job).rotate_key(
                candidate.manifest.id, candidate.url, old, new
            )
            await self._ask_for_key(job, prompt)

    async def ask_to_grow(
        self, job: Job, candidate: Candidate, old: Manifest | None
    ) -> None:
        """
        Ask when a new version declares more than the installed one.

        :param old: The installed manifest; ``None`` when it can't be trusted, and so
            everything is new.
        :raise BridgeError: ``denied`` or ``approval_unavailable``.
        """
        new = candidate.manifest
        found = differences(old, new)
        if not found.grows:
            return
        version = old.version if old else "unknown"
        prompt = self.prompts(job).grow(
            new.id, candidate.url, old=version, new=new.version, gains=found
        )
        await self.ask(job, prompt)

    async def _ask_for_key(self, job: Job, prompt: Prompt) -> None:
        try:
            await self.ask(job, prompt)
        except BridgeError as e:
            if not e.message.startswith(f"{Prefix.DENIED}:"):
                raise
            why = "the author's key was not accepted"
            raise plugin_error(Prefix.NOT_TRUSTED, why) from None


def _offer(manifest: Manifest) -> Offer:
    author = manifest.author or ""
    declared = differences(None, manifest)
    return Offer(manifest.id, manifest.name, manifest.version, author, declared)
