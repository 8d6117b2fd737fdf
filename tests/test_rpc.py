from collections.abc import Awaitable
from typing import Annotated, Any

from attrs import define, field, frozen
from twisted.internet.defer import CancelledError, ensureDeferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.wire import string
from bridge.rpc import (
    HTTP_CALLER,
    Caller,
    Event,
    HttpCaller,
    Hub,
    NoParams,
    NoResult,
    Registry,
    method,
)

from .pages import Page
from .programs import python
from .strategies import SECRET


@frozen
class Tea:
    """A cup of it."""

    leaf_kind: Annotated[str, string(8)]


@define
class Sample:
    """A service whose methods do what each test needs."""

    guests: list[Caller] = field(factory=list)

    @method(NoParams, NoResult)
    async def greet(self, params: NoParams, caller: Caller) -> NoResult:
        self.guests.append(caller)
        return NoResult()

    @method(Tea, Tea)
    async def brew(self, params: Tea) -> Tea:
        return params

    @method(NoParams, NoResult)
    def break_at_once(self, params: NoParams) -> Awaitable[NoResult]:
        """Break before there is anything to wait for."""
        raise CancelledError(SECRET)

    @method(NoParams, Tea)
    async def give_stones(self, params: NoParams) -> Tea:
        """Answer something else than was promised."""
        stones: Any = object()
        return stones

    async def secret(self, params: NoParams) -> NoResult:
        return NoResult()


class SummaryTests(SynchronousTestCase):
    def test_without_docstrings(self) -> None:
        """Python may have left them out of everything."""
        loaded = python("-OO", "-c", "import bridge.tap")
        self.assertEqual((loaded.returncode, loaded.stderr), (0, ""))


class CallTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.sample = Sample()
        self.registry = Registry()
        self.registry.register("sample", self.sample)

    def call(self, name: str, params: Any = None, service: str = "sample") -> Any:
        given = {} if params is None else params
        return ensureDeferred(self.registry.call(service, name, given))

    def refused(self, *args: Any, **kwargs: Any) -> BridgeError:
        """Return the error that a call is refused with."""
        failure = self.failureResultOf(self.call(*args, **kwargs), BridgeError)
        return failure.value

    def test_caller(self) -> None:
        """A method for callers receives its caller; by HTTP it is ``HTTP_CALLER``."""
        guest = HttpCaller()
        ensureDeferred(self.registry.call("sample", "greet", {}, guest))
        self.call("greet")
        self.assertEqual(self.sample.guests, [guest, HTTP_CALLER])

    def test_unknown(self) -> None:
        """What is not offered is refused, and not named; no attribute is looked up."""
        for name in (SECRET, "secret", "__init__", "__class__", "describe"):
            error = self.refused(name)
            self.assertIs(error.code, Code.UNKNOWN_METHOD, name)
            self.assertNotIn(SECRET, error.message)
        error = self.refused("brew", service=SECRET)
        self.assertIs(error.code, Code.UNKNOWN_SERVICE)
        self.assertNotIn(SECRET, error.message)

    def test_nearest(self) -> None:
        """A name that is almost right is answered with the right one."""
        error = self.refused("bre", service="sample")
        self.assertIn("did you mean brew?", error.message)
        error = self.refused("brew", service="sampel")
        self.assertIn("did you mean sample?", error.message)

    def test_bug(self) -> None:
        """A bug is logged whole, and the caller learns nothing of it."""
        # No code cancels a call, so to be cancelled is a bug too.
        error = self.refused("break_at_once")
        self.assertIs(error.code, Code.INTERNAL)
        self.assertNotIn(SECRET, str(error))
        self.assertIsNone(error.__cause__)
        (logged,) = self.flushLoggedErrors(CancelledError)
        self.assertIn(SECRET, logged.getErrorMessage())

    def test_wrong_result(self) -> None:
        """A result that can't be written is a bug too."""
        self.assertIs(self.refused("give_stones").code, Code.INTERNAL)
        self.assertEqual(len(self.flushLoggedErrors()), 1)


class Broken(Page):
    def push(self, event: str, text: bytes) -> None:
        raise OSError


class HubTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.hub, self.pages = Hub(), [Page(), Page()]
        for page in self.pages:
            self.hub.add(page)

    def test_joined(self) -> None:
        """Who asks hears of each subscriber that is added after, once pushed to."""
        joined: list[Page] = []

        def join(page: Page) -> None:
            joined.append(page)
            self.hub.push("osc", {})

        self.hub.on_join(join)
        last = Page()
        self.hub.add(last)
        self.assertEqual((joined, len(last.got)), ([last], 1))

    def test_broken_subscriber_harms_no_other(self) -> None:
        """One that breaks is removed and logged; the others get the event."""
        last = Page()
        self.hub.add(Broken())
        self.hub.add(last)
        self.hub.push("log", {})
        self.hub.push("log", {})
        self.assertEqual([len(p.got) for p in (*self.pages, last)], [2, 2, 2])
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)

    def test_attack_command_as_a_page(self) -> None:
        """A command is pushed events, but is asked nothing and inherits nothing."""
        joined: list[Any] = []
        self.hub.on_join(joined.append)
        command = Page(is_page=False)
        self.hub.add(command)
        self.assertEqual(self.hub.ask(Event.REMOTE, {}), self.pages)
        self.hub.push(Event.BUILD, {})
        self.assertEqual([event for event, _ in command.got], ["build"])
        self.assertEqual(joined, [])

    def test_who_was_asked(self) -> None:
        """``ask`` returns the subscribers reached; one that fails is not among them."""
        self.hub.add(Broken())
        self.assertEqual(self.hub.ask("remote", {}), self.pages)
        self.assertEqual([len(page.got) for page in self.pages], [1, 1])
        self.flushLoggedErrors(OSError)
        self.assertEqual(Hub().ask("remote", {}), [])
