"""
The ``remote`` service: a snippet, evaluated in the paired page.

Only with ``--dev``.  The snippet is pushed to every page; the first answer counts.
Only a page that received the snippet can answer.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Final

from attrs import field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..classes import define, frozen
from ..protocol import limits
from ..protocol.errors import SHUTTING_DOWN, bad_request, shutting_down, unavailable
from ..protocol.strictjson import dumps
from ..protocol.wire import Rule, converter, string, unstructure
from ..rpc import Caller, Event, method

_MOST_SECONDS: Final = limits.REMOTE_MOST_MILLISECONDS / 1000 + limits.CALL_SECONDS
_ID_BYTES: Final = 16
_ID_CHARACTERS: Final = 22


_NOT_NEGATIVE: Final = Rule("not negative", {"minimum": 0}, lambda value: value < 0)


@frozen(eq=False, repr=False)
class Snippet:
    """
    What to evaluate.

    :ivar code: The body of an async function; in scope are ``host``, ``manager``,
        ``text``, ``click``, ``visible``, ``rects`` and ``sleep``.
    :ivar timeout_ms: How many milliseconds to wait for an answer: 10000 by default,
        and never more than 60000.
    """

    code: Annotated[str, string(limits.REMOTE_CODE_CHARACTERS, least=1)]
    timeout_ms: Annotated[int, _NOT_NEGATIVE] = limits.REMOTE_MILLISECONDS


@frozen(eq=False, repr=False)
class Evaluation:
    """
    The result.

    :ivar ok: Whether the snippet returned.
    :ivar value: Only when it did: what it returned. A value over 524288 characters of
        JSON is ``{truncated: true, chars, head}`` instead.
    :ivar error: Only when it did not: the name and the message of what it threw.
    """

    ok: bool
    value: Any = None
    error: str | None = None


def _write(evaluation: Evaluation) -> dict[str, Any]:
    # A null is a value, which an absent field is not.
    if evaluation.ok:
        return {"ok": True, "value": evaluation.value}
    return {"ok": False, "error": evaluation.error}


converter.register_unstructure_hook(Evaluation, _write)


@frozen(eq=False, repr=False)
class Question:
    """
    A snippet that a page is to evaluate.

    :ivar id: What ``remote/result`` is to answer with.
    :ivar code: The body of an async function, as ``remote/eval`` accepts it.
    """

    id: str
    code: str


@frozen(eq=False, repr=False)
class SnippetAnswer:
    """
    A page's answer.

    :ivar id: The one that was pushed.
    :ivar ok: Whether the snippet returned.
    :ivar value: What it returned, when it did.
    :ivar error: What it threw, when it did: required then, and only then.
    """

    id: Annotated[str, string(64)]
    ok: bool
    value: Any = None
    error: str | None = None

    def check(self) -> None:
        """
        Check what no field alone can break.

        :raise BridgeError: ``error`` and ``ok`` contradict each other.
        """
        if self.ok == (self.error is not None):
            raise bad_request("error: required when ok is false, and only then")

    def evaluation(self) -> Evaluation:
        """Return it as an evaluation, cut to the limits."""
        if self.error is None:
            return Evaluation(True, bounded(self.value))
        return Evaluation(False, error=self.error[: limits.REMOTE_VALUE_CHARACTERS])


@frozen(eq=False, repr=False)
class AnswerResult:
    """
    Whether an answer counted.

    :ivar delivered: Whether it was the first answer to this evaluation.
    """

    delivered: bool


def bounded(value: Any) -> Any:
    """Return a value as it is, or the head of its JSON when that is too long."""
    if _is_cut(value):
        return value
    text = dumps(value).decode("utf-8")
    if len(text) <= limits.REMOTE_VALUE_CHARACTERS:
        return value
    head = text[: limits.REMOTE_VALUE_CHARACTERS]
    return {"truncated": True, "chars": len(text), "head": head}


def _is_cut(value: Any) -> bool:
    """Whether this is the head of a value that the page has cut itself."""
    return (
        type(value) is dict
        and value.keys() == {"truncated", "chars", "head"}
        and value["truncated"] is True
        and type(value["chars"]) is int
        and type(value["head"]) is str
        and len(value["head"]) <= limits.REMOTE_VALUE_CHARACTERS
    )


@define(eq=False, repr=False)
class _Pending:
    """
    An evaluation under way.

    :ivar pages: Those that were asked and are still there.
    """

    pages: set[object]
    answer: Deferred[Evaluation] = field(factory=Deferred)

    def fail(self, why: str) -> None:
        """Answer that there is no answer."""
        self.answer.errback(unavailable(why))


def _too_late(_: object, __: float) -> Failure:
    return Failure(unavailable("no page answered in time"))


@define(eq=False, repr=False)
class SnippetEvaluator:
    """
    Evaluates a snippet in the paired page; there only with ``--dev``.

    :ivar _ask: Pushes an event to every page, and returns those it was pushed to.
    :ivar _random: Returns that many unguessable bytes.
    """

    _ask: Callable[[str, Any], Sequence[Caller]]
    _random: Callable[[int], bytes]
    _clock: IReactorTime
    _waiting: dict[str, _Pending] = field(factory=dict)
    _closed: bool = False

    _log: ClassVar[Logger] = Logger()

    def describe(self) -> dict[str, Any]:
        """Return the event that asks a page, and the limits."""
        return {
            "pushEvent": str(Event.REMOTE),
            "maxCodeChars": limits.REMOTE_CODE_CHARACTERS,
            "defaultTimeoutMs": limits.REMOTE_MILLISECONDS,
            "maxTimeoutMs": limits.REMOTE_MOST_MILLISECONDS,
        }

    @method(Snippet, Evaluation, seconds=_MOST_SECONDS)
    async def eval(self, params: Snippet) -> Evaluation:
        """
        Evaluate a snippet in every paired page; the first answer counts.

        :raise BridgeError: ``unavailable`` when no page is paired, none answered in
            time, eight evaluations are under way, or the daemon is shutting down.
        """
        if self._closed:
            raise shutting_down()
        if len(self._waiting) >= limits.REMOTE_IN_FLIGHT:
            why = f"{limits.REMOTE_IN_FLIGHT} evaluations are under way already"
            raise unavailable(why)
        number = base64.urlsafe_b64encode(self._random(_ID_BYTES)).decode("ascii")
        number = number[:_ID_CHARACTERS]
        pages = self._ask(Event.REMOTE, unstructure(Question(number, params.code)))
        if not pages:
            raise unavailable("no page is paired")
        self._log.debug("a snippet is evaluated in {count} pages", count=len(pages))
        asked = self._waiting[number] = _Pending(set(pages))
        seconds = min(params.timeout_ms, limits.REMOTE_MOST_MILLISECONDS) / 1000
        asked.answer.addTimeout(seconds, self._clock, _too_late)
        for page in pages:
            page.on_close(self._left)
        try:
            return await asked.answer
        finally:
            del self._waiting[number]

    @method(SnippetAnswer, AnswerResult)
    async def result(self, params: SnippetAnswer, caller: Caller) -> AnswerResult:
        """Accept a page's answer; a late or unrequested answer is dropped."""
        params.check()
        asked = self._waiting.get(params.id)
        if asked is None or asked.answer.called or caller not in asked.pages:
            return AnswerResult(False)
        asked.answer.callback(params.evaluation())
        return AnswerResult(True)

    def close(self) -> None:
        """Refuse every waiting evaluation, and later ones."""
        self._closed = True
        for asked in list(self._waiting.values()):
            asked.fail(SHUTTING_DOWN)

    def _left(self, page: Caller) -> None:
        for asked in list(self._waiting.values()):
            asked.pages.discard(page)
            if not (asked.pages or asked.answer.called):
                asked.fail("every page that was asked has gone")
