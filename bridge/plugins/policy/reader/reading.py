"""Has the bundler read the sources of a scan, which it never sees as files."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ....protocol.limits import (
    SCAN_CPU_SECONDS,
    SCAN_MEMORY_BYTES,
    SCAN_OUTPUT_BYTES,
    SCAN_SECONDS,
)
from ...esbuild.conversation import Conversation, LimitError, Limits, together
from .transform import Answer, Question, answer, first_request, second_request


class TooComplexError(Exception):
    """
    The bundler took too much time or memory.

    :ivar index: Of the first source that it had not read.
    """

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


def scan_limits() -> Limits:
    """Return what one scan may use."""
    return Limits(SCAN_SECONDS, SCAN_CPU_SECONDS, SCAN_OUTPUT_BYTES, SCAN_MEMORY_BYTES)


async def read_sources(
    conversation: Conversation, questions: Sequence[Question], mark: str
) -> list[Answer]:
    """
    Have sources read.

    :param mark: See ``transform``.
    :return: What the bundler made of each, in order.
    :raise TooComplexError: It did not get to the end within its limits.
    :raise BundlerError: It is not the pinned one, or crashed.
    """
    answers: dict[int, Answer] = {}

    async def read(index: int, question: Question) -> None:
        answers[index] = await _read(conversation, question, mark)

    try:
        await together(itertools.starmap(read, enumerate(questions)))
    except LimitError:
        unread = (n for n in range(len(questions)) if n not in answers)
        raise TooComplexError(next(unread)) from None
    return [answers[index] for index in range(len(questions))]


async def _read(conversation: Conversation, question: Question, mark: str) -> Answer:
    first = answer(await conversation.ask(first_request(question, mark)))
    # What does not compile is not read again.
    if not question.is_read_twice or first.error_line:
        return first
    request = second_request(first, mark, question.is_mapped)
    return answer(await conversation.ask(request))
