"""The questions of an operation to the user, and what an answer means for it."""

from __future__ import annotations

from typing import ClassVar

from attrs import define
from twisted.logger import Logger

from ...approval import Gains, IApprover, Prompt, Prompts, unavailable
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ..installed.keys import Trust
from ..tree.growth import differences
from ..tree.manifest import Manifest
from .candidate import Candidate
from .underway.progress import Step
from .underway.running import Running


@define(eq=False)
class Prompting:
    """
    Asks the user an operation's questions, and reports that to pages.

    :ivar prompts: The texts of the questions.
    """

    _approver: IApprover
    prompts: Prompts
    _trust: Trust

    _log: ClassVar[Logger] = Logger()

    async def ask(self, running: Running, prompt: Prompt) -> None:
        """
        Wait until the user has confirmed.

        :raise BridgeError: ``denied`` or ``approval_unavailable``.
        """
        running.reached(Step.AWAITING_CONFIRMATION, prompt.title, prompt.operation)
        try:
            await running.until(lambda: self._approver.approve(prompt))
        except BridgeError:
            raise
        except Exception:  # noqa: BLE001
            running.check()
            self._log.failure("the prompt failed")
            raise unavailable("the prompt could not be shown") from None

    async def ask_for_trust(self, running: Running, candidate: Candidate) -> bool:
        """
        Ask when the author's key is new.

        :return: Whether the user has accepted it now.
        :raise BridgeError: ``not_trusted`` or ``approval_unavailable``.
        """
        if self._trust.is_trusted(candidate.signed.key_id):
            return False
        manifest = candidate.manifest
        prompt = self.prompts.trust_key(
            manifest.id,
            candidate.url,
            candidate.signed.key_id,
            name=manifest.name,
            version=manifest.version,
            permissions=manifest.permissions,
            optional=manifest.optional_permissions,
            dom=manifest.dom is True,
        )
        await self._ask_for_key(running, prompt)
        return True

    async def ask_for_page_content(
        self, running: Running, candidate: Candidate
    ) -> None:
        """
        Ask when a plugin that is to be installed draws its own page content.

        The question about its key shows that too, so this one is for known keys.

        :raise BridgeError: ``denied`` or ``approval_unavailable``.
        """
        manifest = candidate.manifest
        if manifest.dom:
            prompt = self.prompts.page_content(manifest.id, candidate.url)
            await self.ask(running, prompt)

    async def ask_to_rotate(
        self, running: Running, candidate: Candidate, old: str
    ) -> None:
        """
        Ask whether a plugin may change from the key ``old`` to its candidate's.

        :raise BridgeError: See ``ask_for_trust``.
        """
        prompt = self.prompts.rotate_key(
            candidate.manifest.id, candidate.url, old, candidate.signed.key_id
        )
        await self._ask_for_key(running, prompt)

    async def ask_to_grow(
        self, running: Running, candidate: Candidate, old: Manifest | None
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
        gains = Gains(
            found.permissions.gained,
            found.optional_permissions.gained,
            found.hosts.gained,
            found.actions.gained,
            found.events.gained,
            dom=found.dom,
        )
        version = old.version if old else "unknown"
        prompt = self.prompts.grow(
            new.id, candidate.url, old=version, new=new.version, gains=gains
        )
        await self.ask(running, prompt)

    async def _ask_for_key(self, running: Running, prompt: Prompt) -> None:
        try:
            await self.ask(running, prompt)
        except BridgeError as e:
            if not e.message.startswith(f"{Prefix.DENIED}:"):
                raise
            raise _not_trusted("the author's key was not accepted") from None

    def check_trust(self, candidate: Candidate, accepted: bool) -> None:
        """
        Check that a key is still accepted when its operation commits.

        :param accepted: What ``ask_for_trust`` answered.
        :raise BridgeError: ``not_trusted``.
        """
        if not (accepted or self._trust.is_trusted(candidate.signed.key_id)):
            raise _not_trusted("the author's key was forgotten meanwhile")


def _not_trusted(detail: str) -> BridgeError:
    return plugin_error(Prefix.NOT_TRUSTED, detail)
