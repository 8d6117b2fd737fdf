import os
import socket
import tempfile
import threading
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bridge.daemon import listening
from bridge.daemon.listening import Listening, StartError, bind, inherit, knock
from bridge.settings.values import Address, UnixAddress, listened_on

from ..directories import planted

PID = 4242


class InheritCase(SynchronousTestCase):
    """Has descriptors that are given as a supervisor gives them."""

    def given(self, fd: int, **changes: str) -> dict[str, str]:
        """Return an environment that hands a descriptor over."""
        self.patch(listening, "_FIRST", os.dup(fd))
        return {"LISTEN_FDS": "1", "LISTEN_PID": str(PID), **changes}

    def refused(self, given: socket.socket | int, words: str, **changes: str) -> None:
        """Expect a refusal in one line, and the descriptor closed."""
        fd = given if isinstance(given, int) else given.fileno()
        environ = self.given(fd, **changes)
        error = self.assertRaises(StartError, inherit, environ, PID)
        self.assertIn(words, str(error))
        self.assertNotIn("\n", str(error))

    def open(self, *kind: int) -> socket.socket:
        return self.enterContext(socket.socket(*kind))

    def unix(self, mode: int = 0o600) -> socket.socket:
        directory = tempfile.TemporaryDirectory(prefix="bridge-")
        self.addCleanup(directory.cleanup)
        opened = self.open(socket.AF_UNIX)
        opened.bind(f"{directory.name}/socket")
        os.chmod(opened.getsockname(), mode)
        opened.listen()
        return opened


class InheritTests(InheritCase):
    def taken(self, given: socket.socket) -> Listening:
        taken = inherit(self.given(given.fileno()), PID)
        self.addCleanup(taken.close)
        return taken

    def test_loopback(self) -> None:
        """A listening loopback socket is taken, with its port, and not given on."""
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            given = self.enterContext(socket.create_server((host, 0), family=family))
            port = given.getsockname()[1]
            taken = self.taken(given)
            self.assertEqual(taken.address, Address(host, port))
            self.assertEqual(
                (taken.port, str(taken)), (port, f"http://{taken.address}")
            )
            self.assertFalse(os.get_inheritable(listening._FIRST))
            self.assertFalse(os.get_blocking(listening._FIRST))

    def test_unix(self) -> None:
        """A private Unix-domain socket is accepted; Host is checked as on port 80."""
        given = self.unix()
        taken = self.taken(given)
        path = UnixAddress(given.getsockname())
        self.assertEqual((taken.address, taken.port), (path, 80))
        self.assertEqual(str(taken), f"unix:{given.getsockname()}")

    def test_none(self) -> None:
        """Without one, and with one for another process, there is none."""
        self.assertIsNone(inherit({}, PID))
        for name in ("LISTEN_FDS", "LISTEN_PID"):
            for value in ("", "0"):
                self.assertIsNone(inherit(self.given(0, **{name: value}), PID))
                os.close(listening._FIRST)

    def test_inherited_socket(self) -> None:
        """These tests inherit nothing; and no child of theirs may think it does."""
        variables = {"LISTEN_FDS": "1", "LISTEN_PID": "1", "LISTEN_FDNAMES": "x"}
        self.patch(os, "environ", {**variables, "HOME": "/"})
        self.assertIsNone(listening.inherited_socket())
        self.assertEqual(os.environ, {"HOME": "/"})

    def test_attack_beyond_loopback(self) -> None:
        """A socket that others can reach is refused, by any opener."""
        everywhere = "0.0.0.0"  # noqa: S104
        for family, host in ((socket.AF_INET, everywhere), (socket.AF_INET6, "::")):
            given = self.enterContext(socket.create_server((host, 0), family=family))
            self.refused(given, "loopback")

    def test_attack_unix_for_others(self) -> None:
        """A path that others may connect to, or that is nowhere, is refused."""
        for mode in (0o666, 0o660, 0o601):
            self.refused(self.unix(mode), "0600")
        gone = self.unix()
        path = Path(gone.getsockname())
        path.unlink()
        self.refused(gone, "0600")
        path.touch(0o600)
        self.refused(gone, "0600")
        foreign = self.unix()
        planted(self, Path(foreign.getsockname()))
        self.refused(foreign, "0600")
        for name in ("\0bridge-test-abstract", ""):
            abstract = self.open(socket.AF_UNIX)
            abstract.bind(name)
            abstract.listen()
            self.refused(abstract, "0600")

    def test_attack_other_kinds(self) -> None:
        """A datagram, a connected, a silent socket and a file are refused."""
        datagrams = self.open(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("127.0.0.1", 0))
        self.refused(datagrams, "stream")
        silent = self.open(socket.AF_INET, socket.SOCK_STREAM)
        silent.bind(("127.0.0.1", 0))
        self.refused(silent, "listening")
        for end in socket.socketpair():
            self.addCleanup(end.close)
            self.refused(end, "listening")
        with tempfile.TemporaryFile() as file:
            self.refused(file.fileno(), "not a socket")
            os.close(listening._FIRST)

    def test_several(self) -> None:
        """Two sockets, or a count that is none, are refused."""
        for count in ("2", "x", "-1", "1 "):
            self.refused(0, "one inherited", LISTEN_FDS=count)
            os.close(listening._FIRST)


class BindTests(SynchronousTestCase):
    def test_address_of_no_interface(self) -> None:
        """An error of the system is reported in its words, with the address once."""
        error = self.assertRaises(StartError, bind, Address("192.0.2.1", 1))
        self.assertEqual(
            str(error), "cannot listen on 192.0.2.1:1: Cannot assign requested address"
        )


class AddressFileTests(SynchronousTestCase):
    def test_both_kinds(self) -> None:
        """Where a daemon listens is read as it was written."""
        for address in Address("::1", 9), UnixAddress("/run/a b/é"):
            self.assertEqual(listened_on(str(address)), address)
        for wrong in ("", "unix:", "unix:s", "10.0.0.1:1"):
            self.assertRaises(ValueError, listened_on, wrong)


class KnockTests(SynchronousTestCase):
    """Tests for what is found out about an address before a token is made."""

    def test_knock_waits_for_an_answer(self) -> None:
        """It makes the request that starts a daemon, and waits until it answers."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            address = Address("127.0.0.1", listening.getsockname()[1])
            asked: list[bytes] = []

            def answer() -> None:
                connection, _ = listening.accept()
                with connection:
                    asked.append(connection.recv(4096))
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

            answering = threading.Thread(target=answer)
            answering.start()
            knock(address, 10.0)
            answering.join()
        self.assertTrue(asked[0].startswith(b"GET /v1/health HTTP/1.1\r\n"))

    def test_knock_is_never_an_error(self) -> None:
        """Nobody there, or no HTTP, is all the same."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            address = Address("127.0.0.1", listening.getsockname()[1])
            knock(address, 0.05)
        knock(address, 0.05)
