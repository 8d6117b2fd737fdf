"""A page, as far as those whom it asks are concerned."""

from collections.abc import Callable
from typing import Any

from attrs import define, field
from twisted.internet.defer import Deferred, succeed

from bridge.protocol.strictjson import loads


@define(eq=False, slots=False)
class Page:
    """
    Goes away when the test wants; see ``bridge.rpc.Caller``.

    :ivar got: The events it was pushed, as texts.
    """

    gone: bool = False
    got: list[tuple[str, bytes]] = field(factory=list)
    ends: dict[Callable[[Any], None], None] = field(factory=dict)
    is_page: bool = True

    @property
    def data(self) -> list[Any]:
        return [loads(text)["data"] for _, text in self.got]

    def push(self, event: str, text: bytes) -> None:
        self.got.append((event, text))

    def on_close(self, call: Callable[[Any], None]) -> None:
        if self.gone:
            call(self)
        else:
            self.ends[call] = None

    def drained(self) -> Deferred[None]:
        return succeed(None)

    def go(self) -> None:
        self.gone = True
        for call in self.ends:
            call(self)


@define(eq=False)
class SlowPage(Page):
    """One that has read all when the last of ``waiting`` has fired."""

    waiting: list[Deferred[None]] = field(factory=list)

    def drained(self) -> Deferred[None]:
        self.waiting.append(Deferred())
        return self.waiting[-1]
