"""Coroutines that most often never wait."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

T = TypeVar("T")


def run(
    running: Coroutine[Any, Any, T],
    done: Callable[[T], None],
    failed: Callable[[Failure], None],
) -> None:
    """
    Run a coroutine; make a ``Deferred`` of it only if it waits.

    A call that is answered at once costs a third of what it would as a ``Deferred``.

    :param done: Called with the result; it must not raise.
    :param failed: Called with the failure; it must not raise.
    """
    try:
        waited = running.send(None)
    except StopIteration as end:
        done(end.value)
    except Exception:  # noqa: BLE001
        failed(Failure())
    else:
        rest: Deferred[T] = Deferred.fromCoroutine(_continued(running, waited))
        rest.addCallbacks(done, failed)


@coroutine
def _continued(running: Coroutine[Any, Any, T], waited: Any) -> Generator[Any, Any, T]:
    """Return the coroutine from where it waits for the first time."""
    try:
        while True:
            try:
                value = yield waited
            except Exception as error:  # noqa: BLE001
                waited = running.throw(error)
            else:
                waited = running.send(value)
    except StopIteration as end:
        result: T = end.value
        return result
