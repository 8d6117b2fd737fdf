import gc
import json
from collections.abc import Callable
from types import FrameType
from typing import Any

from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import frames
from bridge.protocol.errors import CloseReason
from bridge.protocol.frames import Request
from bridge.protocol.limits import MIB, PIECE_BYTES, UNSENT_BYTES
from bridge.services.remote import SnippetEvaluator
from bridge.web.websocket.conversation import Conversation, run

from ...strategies import SECRET, nested
from ...waiting import in_memory
from ..stack import TOKEN, Anything, Stack

INPUTS: dict[str, Callable[[Any], object]] = {
    "hello": lambda case: case.greet(),
    "wrong hello": lambda case: case.greet("wrong"),
    "request": lambda case: case.call("note", text="x"),
    "logs": lambda case: case.send({"type": "logs", "records": []}),
    "no frame": lambda case: case.send([]),
    "no records": lambda case: case.send({"type": "logs", "more": 1}),
    "violation": lambda case: case.conversation.violated(CloseReason.TEXT_ONLY),
    "silence": lambda case: case.clock.advance(5.0),
}
STEPS = st.lists(
    st.sampled_from(["done", "failed", "later", "fails later", "cancelled"])
)


@define(eq=False)
class Wire:
    """A line that keeps what is sent over it."""

    got: list[Any] = field(factory=list)
    closed: list[CloseReason] = field(factory=list)
    is_page: bool = False
    _pieces: bytes = b""

    def send_piece(self, piece: bytes, first: bool, last: bool) -> None:
        """Keep a text when it is whole, unless closing."""
        self._pieces = piece if first else self._pieces + piece
        if last and not self.closed:
            self.got.append(json.loads(self._pieces))

    def close_with(self, reason: CloseReason) -> None:
        self.closed.append(reason)

    def welcomed(self) -> bool:
        return True


class ConversationCase(SynchronousTestCase):
    """Holds a conversation over a line that keeps everything."""

    def setUp(self) -> None:
        """Begin one, with two requests at once and one a second after."""
        stack = Stack(rate=1.0, burst=10, requests=(1.0, 2), clock=Clock())
        stack.add_state()
        self.clock, self.sample, self.hub = stack.clock, stack.sample, stack.hub
        self.guard = stack.guard
        self.logs, self.wire = stack.logs, Wire()
        self.conversation = Conversation(stack.context, self.wire)

    def send(self, frame: Any) -> None:
        self.conversation.received(json.dumps(frame).encode("ascii"))

    def greet(self, token: str = TOKEN) -> None:
        self.send({"type": "hello", "token": token, "client": "c/1.0.0"})

    def hello(self) -> None:
        self.greet()
        self.wire.got.clear()

    def call(
        self, name: str, request_id: str = "1", service: str = "sample", **params: Any
    ) -> None:
        frame = {"type": "request", "id": request_id, "service": service}
        self.send({**frame, "method": name, "params": params})


class CallerTests(ConversationCase):
    def test_end(self) -> None:
        """Callbacks run once when the socket closes, and nothing is pushed after."""
        ends: list[str] = []
        self.hello()

        def first(caller: object) -> None:
            self.assertIs(caller, self.conversation)
            ends.append("first")

        self.conversation.on_close(first)
        self.conversation.on_close(first)
        self.conversation.push("osc", frames.push("osc", {"a": 1}))
        self.conversation.ended()
        self.conversation.on_close(lambda _: ends.append("late"))
        self.assertEqual(ends, ["first", "late"])
        self.conversation.ended()
        self.conversation.push("osc", b"{}")
        pushed = [{"type": "push", "event": "osc", "data": {"a": 1}}]
        self.assertEqual((ends, self.wire.got), (["first", "late"], pushed))

    def test_attack_calls_of_a_page_that_does_not_read(self) -> None:
        """What waits for a page and what it asks for may be 32 MiB, both together."""
        self.hello()
        send_queue = self.conversation.send_queue
        send_queue.pauseProducing()
        for _ in range((UNSENT_BYTES - MIB) // PIECE_BYTES):
            send_queue.put(b'"%s"' % (b"x" * (PIECE_BYTES - 2)))
        for request_id, answered in (("2", False), ("3", True)):
            self.call("echo", request_id, value="x" * MIB)
            send_queue.resumeProducing()
            answer = self.wire.got[-1]
            self.assertEqual((answer["id"], answer["ok"]), (request_id, answered))


class HelloTests(ConversationCase):
    def test_attack_client_that_writes_log_lines(self) -> None:
        """A page may call itself anything; what of it is logged is one short line."""
        printed = self.enterContext(capturedLogs())
        client = "\x1b[31mx\r\n{token}\u202e" + "y" * 1000
        self.send({"type": "hello", "token": TOKEN, "client": client})
        self.assertEqual(self.wire.got[0]["type"], "welcome")
        (logged,) = [e["client"] for e in printed if "client" in e]
        self.assertTrue(logged.startswith("x{token}y"), logged)
        self.assertLessEqual(len(logged), 128)
        self.assertTrue(logged.isprintable())

    def test_before_hello(self) -> None:
        """Anything but a good hello, and silence, costs a request and closes."""
        closed = {name: [CloseReason.HELLO_REQUIRED] for name in INPUTS}
        closed |= {"hello": [], "wrong hello": [CloseReason.UNAUTHORIZED]}
        for name, happen in INPUTS.items():
            self.setUp()
            self.assertTrue(self.guard.programs.is_full)
            happen(self)
            self.assertEqual(self.wire.closed, closed[name], name)
            self.assertEqual(self.guard.programs.is_full, not closed[name], name)

    @given(st.lists(st.sampled_from(sorted(INPUTS)), max_size=12))
    def test_any_history(self, history: list[str]) -> None:
        """Whatever happens: one welcome at most, nothing before it, one close."""
        self.setUp()
        for number, name in enumerate(history):
            done = len(self.sample.heard), len(self.logs.got), self.logs.dropped
            closed = list(self.wire.closed)
            INPUTS[name](self)
            if closed:
                self.assertEqual(self.wire.closed, closed)
                now = len(self.sample.heard), len(self.logs.got), self.logs.dropped
                self.assertEqual(now, done, history[:number])
        kinds = [frame["type"] for frame in self.wire.got]
        self.assertEqual(kinds.count("welcome"), "welcome" in kinds[:1])
        if not kinds:
            self.assertEqual((self.sample.heard, self.logs.got), ([], []))

    def test_gone_before_hello(self) -> None:
        """A socket that goes by itself leaves no timer."""
        self.conversation.ended()
        self.assertEqual(self.clock.getDelayedCalls(), [])


class PairedCase(ConversationCase):
    """A conversation after its hello."""

    def setUp(self) -> None:
        super().setUp()
        self.hello()


class CallTests(PairedCase):
    def test_result_that_cannot_be_written(self) -> None:
        """A result no JSON can hold is an internal error, and logged."""
        self.call("surrogate", "a")
        ((frame),) = self.wire.got
        self.assertEqual((frame["id"], frame["error"]["code"]), ("a", "internal"))
        self.assertNotIn(SECRET, str(frame))
        self.assertEqual(len(self.flushLoggedErrors(TypeError)), 1)

    def test_push_precedes_the_response(self) -> None:
        """What an operation pushes comes before its answer."""
        self.call("wait", "a")
        self.hub.push("progress", {"step": "clone"})
        self.sample.waiting[0].callback(Anything())
        self.assertEqual([f["type"] for f in self.wire.got], ["push", "response"])

    def test_bug_in_a_rule(self) -> None:
        """A frame that can't be read because of a bug is logged, and answered so."""

        def structure(*_: object) -> None:
            raise TypeError(SECRET)

        self.patch(frames, "structure", structure)
        self.send({"type": "request", "id": "a", "service": "x", "method": "y"})
        (answer,) = self.wire.got
        self.assertEqual((answer["id"], answer["error"]["code"]), ("a", "internal"))
        self.assertNotIn(SECRET, str(answer))
        self.assertEqual(len(self.flushLoggedErrors(TypeError)), 1)

    def test_answer_to_a_snippet_is_refused(self) -> None:
        """Its caller gets the reason at once, as the page does."""
        remote = SnippetEvaluator(self.hub.ask, bytes, self.clock)
        registry = self.conversation._context.registry
        registry.register("remote", remote)
        answer = b'{"type":"request","id":"7","params":{"id":"%s","v":%s}}'
        for value, why in (
            (nested(63), "JSON nested deeper than 64 levels"),
            (b"[]," * MIB, "JSON of more than 65536 values"),
            (b'"cut \\ud83d"', "not JSON, or half of a surrogate pair in a text"),
            (b'"cut', "not JSON"),
        ):
            evaluating = registry.call("remote", "eval", {"code": "return 1"})
            evaluated = Deferred.fromCoroutine(evaluating)
            self.conversation.received(answer % (b"A" * 22, value))
            ended = {"ok": False, "error": f"the page's answer was refused: {why}"}
            self.assertEqual(self.successResultOf(evaluated), ended)
            self.assertEqual(self.wire.got.pop()["error"]["code"], "bad_request")

    def test_logs(self) -> None:
        """Log records go to the log, unanswered; what can't be read is counted."""
        self.send({"type": "logs", "records": [{"level": "info"}]})
        self.send({"type": "logs", "records": [], "more": 1})
        self.assertEqual(self.logs.got, [[{"level": "info"}]])
        self.assertEqual(self.logs.dropped, 1)
        self.assertEqual(self.wire.got, [])

    def test_log_floods(self) -> None:
        """Ten seconds of too many frames close, whether they can be read or not."""
        for more in ("{}", '{"more": 1}'):
            frame = {"type": "logs", "records": []} | json.loads(more)
            for pause, reasons in ((2.0, []), (0.5, [CloseReason.LOG_FLOOD])):
                self.setUp()
                for _ in range(21):
                    for _ in range(410):
                        self.send(frame)
                    self.clock.advance(pause)
                self.assertEqual(self.wire.closed, reasons)
                self.assertGreater(self.logs.dropped, 200)

    def test_log_writer_behind(self) -> None:
        """A page that logs faster than can be written is closed, to come back later."""
        self.logs.overloaded = True
        self.send({"type": "logs", "records": []})
        self.assertEqual(self.wire.closed, [CloseReason.LOGS_BEHIND])


class PacingTests(PairedCase):
    def call_notes(self, count: int) -> None:
        for n in range(count):
            self.call("note", str(n), text=str(n))

    def test_paced_in_order_then_refused(self) -> None:
        """Over the rate calls wait their turn, at most 3 s; the rest is refused."""
        self.call_notes(7)
        self.assertEqual(self.sample.heard, ["0", "1"])
        refused = [frame for frame in self.wire.got if not frame["ok"]]
        self.assertEqual([frame["id"] for frame in refused], ["5", "6"])
        for frame in refused:
            self.assertEqual(frame["error"]["code"], "rate_limited")
            self.assertGreaterEqual(frame["error"]["retryAfter"], 1)
        for heard in ("2", "3", "4"):
            self.clock.advance(1.0)
            self.assertEqual(self.sample.heard[-1], heard)
        self.assertEqual(self.sample.heard, ["0", "1", "2", "3", "4"])

    def test_attack_paced_beyond_a_rotation(self) -> None:
        """When the page goes, what waits is made at once; closed by us, it is not."""
        for is_rotated, heard in ((False, [*"01234"]), (True, [*"01"])):
            self.setUp()
            self.call_notes(6)
            if is_rotated:
                self.conversation.close(CloseReason.TOKEN_ROTATED)
            self.conversation.ended()
            self.assertEqual(self.sample.heard, heard)
            self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_order_after_a_stall(self) -> None:
        """A call that is due but not yet made is not overtaken."""
        self.call_notes(3)
        self.clock.rightNow += 10.0  # the daemon was busy; no timer has run
        self.call("note", "3", text="3")
        self.assertEqual(self.sample.heard, ["0", "1"])
        self.clock.advance(0)
        self.assertEqual(self.sample.heard, ["0", "1", "2", "3"])

    def test_light_calls_do_not_wait(self) -> None:
        """They wait for no paced call, but for one of their namespace."""
        self.call_notes(2)
        self.wire.got.clear()
        self.call("set", "1", "state", ns="a", key="k", value=1)
        self.call("get", "2", "state", ns="a", key="k")
        self.call("get", "3", "state", ns="b", key="k")
        self.call("refuse", "4")
        # The reactor has no order for what is due at the same time.
        first, then = self.clock.getDelayedCalls()
        self.assertLess(first.getTime(), then.getTime())
        self.clock.advance(2)
        found = {frame["id"]: frame.get("result") for frame in self.wire.got}
        self.assertEqual(list(found), ["3", "4", "1", "2"])
        self.assertEqual(found["2"], {"value": 1})


class ClosingTests(PairedCase):
    def test_refused_frames_are_let_go(self) -> None:
        """What was refused does not wait in a cycle for a garbage collection."""
        big = "x" * 100_000
        self.call("note", text=1, more=big)  # warm: hooks are made once
        gc.disable()
        self.addCleanup(gc.enable)
        before = in_memory(FrameType)
        self.call("note", text=1, more=big)
        self.send({"type": "request", "id": 1, "more": big})
        self.conversation.received(b'{"type":"request","id":"1",' + big.encode())
        self.conversation.received(b'["%s",%s]' % (big.encode(), nested(65)))
        self.assertEqual(in_memory(FrameType), before)
        self.assertEqual(len(self.wire.got), 5)

    def test_attack_calls_that_wait_are_weighed(self) -> None:
        """Frames that wait or are under way take 32 MiB in all, and no more."""
        big = "x" * 11 * MIB
        self.call("wait", "under way")
        self.call("wait", "also")
        self.clock.advance(10)
        for number in range(5):
            self.call("note", str(number), text=big)
        refused = self.wire.got[-1]["error"]
        self.assertEqual(self.wire.got[-1]["id"], "4")
        self.assertEqual((refused["code"], refused["retryAfter"]), ("rate_limited", 1))
        self.clock.advance(4)
        self.assertEqual(len(self.sample.heard), 4)
        self.assertEqual(self.conversation._paced, [])
        self.wire.got.clear()
        for waiting in self.sample.waiting:
            waiting.callback(Anything())
        self.assertEqual(self.conversation._held, 0)
        self.call("note", "again", text=big)
        self.clock.advance(3)
        self.assertEqual(self.wire.got[-1]["id"], "again")

    def test_attack_calls_that_wait_are_freed(self) -> None:
        """When the socket closes, nothing keeps what waited, not even a cycle."""
        gc.disable()
        self.addCleanup(gc.enable)
        before = in_memory(Request)
        for number in range(4):
            request = Request(str(number), "sample", "note", {"text": "x"})
            self.conversation._dispatch(request, max(0, number - 1), 7 * MIB)
        del request
        self.assertEqual(in_memory(Request) - before, 2)
        self.clock.advance(1)
        self.assertEqual(in_memory(Request) - before, 1)
        self.conversation.ended()
        self.assertEqual(in_memory(Request), before)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_attack_answers_that_nobody_reads_are_freed(self) -> None:
        """When the socket closes, what was not sent goes, and nothing more is kept."""
        self.call("wait")
        self.conversation.send_queue.pauseProducing()
        self.hub.push("log", {})
        self.assertGreater(self.conversation.send_queue.unsent, 0)
        drained = self.conversation.drained()
        self.assertNoResult(drained)
        self.conversation.ended()
        self.successResultOf(drained)
        self.assertEqual(self.conversation.send_queue.unsent, 0)
        self.assertEqual(self.sample.cancelled, 0)
        self.sample.waiting[0].callback(Anything("x" * MIB))
        self.assertEqual(self.conversation.send_queue.unsent, 0)

    def test_lost_pushes_are_logged(self) -> None:
        """How many pushes a slow page lost stands in the log when it goes."""
        printed = self.enterContext(capturedLogs())
        self.conversation.send_queue.pauseProducing()
        for n in range(260):
            self.hub.push("log", {})
            self.hub.push("build", {"n": n})
        self.conversation.ended()
        lost = [(e["dropped"], e["replaced"]) for e in printed if "dropped" in e]
        self.assertEqual(lost, [(5, 259)])


class RunTests(SynchronousTestCase):
    @given(STEPS)
    def test_as_a_deferred_does(self, steps: list[str]) -> None:
        """Whatever it waits for, it ends as Twisted's own coroutines do."""
        ours, theirs = Waits(steps), Waits(steps)
        run(ours.add_up(), ours.seen.append, ours.failed)
        twisted = Deferred.fromCoroutine(theirs.add_up())
        twisted.addCallbacks(theirs.seen.append, theirs.failed)
        ours.end()
        theirs.end()
        self.assertEqual(ours.seen, theirs.seen)


class Waits:
    """A coroutine that waits for one thing after another, and what it meets."""

    def __init__(self, steps: list[str]) -> None:
        """Take the steps: whether each is there or later, and whether it fails."""
        self.steps = steps
        self.later: dict[int, Deferred[int]] = {}
        self.seen: list[Any] = []

    async def add_up(self) -> int:
        """Wait for each; fail at the end for some numbers of steps."""
        count = 0
        for at, step in enumerate(self.steps):
            try:
                count += await self._waited(at, step)
            except ValueError:
                self.seen.append(step)
        if len(self.steps) % 3 == 2:
            raise KeyError(count)
        return count

    def _waited(self, at: int, step: str) -> Deferred[int]:
        if step == "done":
            return succeed(1)
        if step == "failed":
            return fail(ValueError())
        return self.later.setdefault(at, Deferred())

    def failed(self, failure: Failure) -> None:
        self.seen.append(repr(failure.value))

    def end(self) -> None:
        """Let come what comes later, as far as it is waited for."""
        for at, step in enumerate(self.steps):
            if at not in self.later:
                continue
            if step == "later":
                self.later[at].callback(2)
            elif step == "fails later":
                self.later[at].errback(ValueError())
            elif step == "cancelled":
                self.later[at].cancel()
