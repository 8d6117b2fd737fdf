"""Tests for ``bridge.daemon.devsocket``."""

import json
import os
import socket
import stat

from hypothesis import given, settings
from twisted.internet import reactor
from twisted.internet.defer import Deferred, DeferredQueue
from twisted.internet.endpoints import UNIXClientEndpoint
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.testing import StringTransportWithDisconnection
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.daemon import devsocket
from bridge.daemon.devsocket import DevConnection, DevSocket, read_work_tree
from bridge.plugins.dev.linking import Linking
from bridge.protocol.errors import BridgeError
from bridge.protocol.limits import DEV_LINE_BYTES, TREE_FILES

from ..directories import fresh_directory
from ..plugins.operations.bench import PROFILE, Bench, files_of, write_tree
from ..strategies import values

LINK = ".tmp-dev-mine"


def linking_of(bench):
    """Make what links trees on a bench."""
    return Linking(
        bench.operations,
        bench.rebuild,
        bench.trees,
        bench.store,
        PROFILE,
        bench.audience,
        bench.clock,
        bench.threads,
        bench.scanner,
    )


class ReadWorkTreeTests(SynchronousTestCase):
    """What a client may ask for."""

    def test_good(self):
        """A directory and its files are."""
        line = b'{"directory": "/home/a b", "files": ["main.ts", "src/a.ts"]}'
        asked = read_work_tree(line)
        self.assertEqual(asked.directory, "/home/a b")
        self.assertEqual(asked.files, ["main.ts", "src/a.ts"])

    def test_bad(self):
        """Anything else is refused, and none of it repeated."""
        for value in (
            {},
            {"directory": "/a"},
            {"directory": "Zq9", "files": []},
            {"directory": "/Zq9\0", "files": []},
            {"directory": "/a", "files": ["Zq9\0"]},
            {"directory": "/a", "files": [""]},
            {"directory": "/a", "files": ["Zq9", "Zq9"]},
            {"directory": "/a", "files": [str(n) for n in range(TREE_FILES + 1)]},
            {"directory": "/a", "files": [], "Zq9": 1},
        ):
            with self.assertRaises(BridgeError) as caught:
                read_work_tree(json.dumps(value).encode())
            self.assertNotIn("Zq9", caught.exception.message)

    @settings(deadline=None)
    @given(values)
    def test_any_json(self, value):
        """Whatever JSON comes is read or refused."""
        try:
            read_work_tree(json.dumps(value).encode())
        except BridgeError:
            pass


class ConnectionTests(SynchronousTestCase):
    """A conversation."""

    def setUp(self):
        """A client, and its tree."""
        self.bench = Bench(self)
        self.tree = self.bench.repositories / "work"
        write_tree(self.tree, files_of("mine"), None)
        self.connection, self.wire = self.connect()

    def connect(self):
        """Make a connection."""
        connection = DevConnection(linking_of(self.bench).begin(), "1.2.3")
        wire = StringTransportWithDisconnection()
        wire.protocol = connection
        connection.makeConnection(wire)
        return connection, wire

    def ask(self, *names):
        """Ask for the tree."""
        files = list(names or ("main.ts", "plugin.json"))
        asked = {"directory": str(self.tree), "files": files}
        self.connection.dataReceived(json.dumps(asked).encode() + b"\n")

    def printed(self):
        """What the daemon has sent since the last look."""
        text = self.wire.value()
        self.wire.clear()
        return [json.loads(line) for line in text.splitlines()]

    def test_ready(self):
        """The daemon sends ``ready`` first."""
        self.assertEqual(self.printed(), [{"type": "ready", "version": "1.2.3"}])

    def test_linked(self):
        """A good tree is answered with the build's report."""
        self.printed()
        self.ask()
        (answer,) = self.printed()
        self.assertEqual(answer["type"], "linked")
        self.assertEqual((answer["id"], answer["shadows"]), ("mine", False))
        self.assertEqual(answer["report"]["ok"], True)

    def test_refused_for_its_sources(self):
        """Every hit of the source policy is reported."""
        self.printed()
        (self.tree / "main.ts").write_text("eval('1');\n\neval('2');\n")
        self.ask()
        (answer,) = self.printed()
        self.assertEqual(answer["type"], "refused")
        self.assertEqual(answer["message"], "policy: main.ts:1 eval")
        self.assertEqual(
            answer["hits"],
            [
                {"file": "main.ts", "line": 1, "rule": "eval"},
                {"file": "main.ts", "line": 3, "rule": "eval"},
            ],
        )

    def test_refused_otherwise(self):
        """Any other refusal is reported in the words of an install."""
        self.printed()
        self.ask("main.ts")
        (answer,) = self.printed()
        self.assertEqual(answer["hits"], [])
        self.assertIn("no_manifest: ", answer["message"])

    def test_defect(self):
        """A failure of the daemon is logged in full, and reported without detail."""
        self.printed()
        self.bench.threads.failing["_copy"] = OSError(28, "No space left on device")
        self.ask()
        (answer,) = self.printed()
        self.assertEqual(answer["message"], "internal: see the daemon's log")
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)

    def test_only_the_last_of_many(self):
        """Of what is asked while a build goes on, the last is done."""
        self.printed()
        slow: Deferred[None] = Deferred()
        self.bench.builder.outcomes = [slow]
        self.ask()
        for _ in range(3):
            self.ask()
        self.assertEqual(self.printed(), [])
        slow.callback(None)
        self.assertEqual(len(self.printed()), 2)

    def test_gone(self):
        """A client that goes takes its link with it."""
        self.ask()
        self.assertIn("mine", self.bench.trees.linked)
        self.wire.loseConnection()
        self.successResultOf(self.connection.ended)
        self.assertEqual(self.bench.trees.linked, {})
        self.assertEqual(self.bench.left()[0], [])

    def test_gone_while_building(self):
        """One that goes while its tree is built is unlinked after that."""
        slow: Deferred[None] = Deferred()
        self.bench.builder.outcomes = [slow]
        self.ask()
        self.wire.loseConnection()
        self.assertNoResult(self.connection.ended)
        slow.callback(None)
        self.successResultOf(self.connection.ended)
        self.assertEqual(self.bench.left()[0], [])

    def test_gone_and_broken(self):
        """A link that can't be taken out ends, and that is logged."""
        self.ask()
        self.bench.threads.failing["exchange_linked"] = OSError(5, "I/O error")
        self.wire.loseConnection()
        self.successResultOf(self.connection.ended)
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)

    def test_attack_garbage(self):
        """What is no request ends the connection with a reason."""
        for line in (b"GET / HTTP/1.1", b"\xff\xfe", b"[]", b"{}"):
            self.connection, self.wire = self.connect()
            self.printed()
            self.connection.dataReceived(line + b"\r\n")
            (answer,) = self.printed()
            self.assertEqual(answer["type"], "error")
            self.assertFalse(self.wire.connected)

    def test_attack_endless_line(self):
        """A line without an end is not kept for ever."""
        self.printed()
        self.connection.dataReceived(b"x" * (DEV_LINE_BYTES + 1))
        (answer,) = self.printed()
        self.assertEqual(answer["message"], f"a line is at most {DEV_LINE_BYTES} bytes")
        self.assertFalse(self.wire.connected)


class Client(Protocol):
    """Keeps what it receives."""

    def __init__(self):
        self.printed: DeferredQueue[bytes] = DeferredQueue()

    def dataReceived(self, data):
        """Keep it."""
        self.printed.put(data)


class ListeningTests(TestCase):
    """The socket itself."""

    def setUp(self):
        """A socket in a data directory."""
        self.bench = Bench(self)
        self.path = self.bench.data.dev_socket
        self.socket = self.made(reactor)

    def made(self, on):
        """Make a socket that listens on a reactor."""
        made = DevSocket(on, self.path, linking_of(self.bench), "1.2.3")
        self.addCleanup(made.close)
        return made

    def warnings(self, listening):
        """Listen; gives what is warned of."""
        with capturedLogs() as logs:
            listening.listen()
        printed = [e for e in logs if e["log_namespace"].startswith("bridge.")]
        return [str(e.get("why", e["log_format"])) for e in printed]

    async def greeting(self):
        """Connect; gives the client, and the first that comes."""
        endpoint = UNIXClientEndpoint(reactor, str(self.path))
        client = await endpoint.connect(Factory.forProtocol(Client))
        return client, json.loads(await client.printed.get())

    async def test_listens(self):
        """It is a socket for its owner alone, and gone when it is closed."""
        before = os.umask(0)
        self.addCleanup(os.umask, before)
        self.socket.listen()
        self.assertEqual(os.umask(0), 0)
        mode = self.path.lstat().st_mode
        self.assertTrue(stat.S_ISSOCK(mode))
        self.assertEqual(stat.S_IMODE(mode), 0o600)
        _, greeting = await self.greeting()
        self.assertEqual(greeting["type"], "ready")
        await self.socket.close()
        self.assertFalse(os.path.lexists(self.path))

    async def test_after_a_kill(self):
        """The socket of a daemon that was killed is replaced."""
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(str(self.path))
        stale.close()
        self.socket.listen()
        await self.greeting()
        await self.socket.close()

    def test_attack_link_in_its_place(self):
        """What is no socket of ours is neither used nor removed."""
        target = self.bench.data.root / "target"
        for make in (
            lambda: self.path.symlink_to(target),
            lambda: self.path.write_text("precious"),
            self.path.mkdir,
        ):
            make()
            warned = self.warnings(self.socket)
            self.assertEqual(warned, [f"{self.path} is not a socket of ours"])
            self.assertTrue(os.path.lexists(self.path))
            if self.path.is_dir():
                self.path.rmdir()
            else:
                self.path.unlink()
        self.assertFalse(target.exists())

    def test_attack_foreign_socket(self):
        """The socket of another user is not removed."""
        foreign = socket.socket(socket.AF_UNIX)
        foreign.bind(str(self.path))
        foreign.close()
        self.patch(os, "geteuid", lambda: os.getuid() + 1)
        self.assertEqual(
            self.warnings(self.socket), [f"{self.path} is not a socket of ours"]
        )
        self.assertTrue(os.path.lexists(self.path))

    def test_too_long_a_path(self):
        """A path that no socket can have is a warning, no failure."""
        self.path = fresh_directory(self) / ("x" * 120)
        (warned,) = self.warnings(self.made(reactor))
        self.assertIn("too long", warned)

    def test_no_unix_sockets(self):
        """A system without such sockets is reported."""
        (warned,) = self.warnings(self.made(object()))
        self.assertIn("this system has no Unix sockets", warned)

    def test_too_many(self):
        """There are only so many clients at a time; one that goes makes room."""
        self.patch(devsocket, "DEV_LINKS", 2)
        wires = []
        for _ in range(2):
            self.assertFalse(self.socket.full)
            connection = self.socket.connection()
            wire = StringTransportWithDisconnection()
            wire.protocol = connection
            connection.makeConnection(wire)
            wires.append(wire)
        self.assertTrue(self.socket.full)
        factory = devsocket._Connections(self.socket)
        self.assertIs(factory.buildProtocol(None), None)
        wires[0].loseConnection()
        self.assertFalse(self.socket.full)
        self.assertIsNot(factory.buildProtocol(None), None)
        self.socket._open.pop()
        wires[1].loseConnection()

    async def test_close_unlinks(self):
        """Closing waits until nothing is linked any more."""
        tree = self.bench.repositories / "work"
        write_tree(tree, files_of("mine"), None)
        self.socket.listen()
        client, _ = await self.greeting()
        asked = {"directory": str(tree), "files": ["main.ts", "plugin.json"]}
        client.transport.write(json.dumps(asked).encode() + b"\n")
        await client.printed.get()
        self.assertEqual(self.bench.left()[0], [LINK])
        await self.socket.close()
        self.assertEqual(self.bench.left()[0], [])
