"""Tests for ``bridge.freedesktop.bus``."""

import os
import socket
import string

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.freedesktop import bus
from bridge.freedesktop.bus import RUNTIME, VARIABLE, names_bus, session_sockets

from ..directories import fresh_directory

plain = "-_/.\\*" + string.ascii_letters + string.digits


def at(address):
    """The sockets that an address leads to."""
    return session_sockets({VARIABLE: address, RUNTIME: "/run/user/7"})


def escaped(path):
    """A path as an address has it."""
    return "".join(
        chr(byte) if chr(byte) in plain else f"%{byte:02x}"
        for byte in os.fsencode(path)
    )


class SessionSocketsTests(SynchronousTestCase):
    def test_addresses(self):
        """They are tried in their order; other transports, and none, are no sockets."""
        for address, sockets in (
            ("unix:path=/run/user/7/bus", ["/run/user/7/bus"]),
            ("unix:path=/x/y,guid=00ff", ["/x/y"]),
            ("unix:abstract=/tmp/dbus-x", ["\0/tmp/dbus-x"]),
            ("unix:runtime=yes", ["/run/user/7/bus"]),
            ("unix:runtime=no", []),
            ("tcp:host=localhost,port=1;unix:path=/a;unix:path=/b", ["/a", "/b"]),
            *((a, []) for a in ("autolaunch:", "unixexec:path=/bin/sh", ";;")),
            *((a, []) for a in ("unix", "unix:", "unix:path=", "unix:path")),
            ("unix:path=/a%00b", []),
            ("unix:=/a", []),
        ):
            self.assertEqual(at(address), sockets, address)

    @given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1))
    def test_every_path_can_be_escaped(self, path):
        """Whatever a path is made of, its escaped form leads to it."""
        self.assertEqual(at(f"unix:path={escaped(path)}"), [path])

    @given(st.text())
    def test_any_text(self, text):
        """No text breaks it, and none gives a socket with NUL inside."""
        for path in at(text):
            self.assertNotIn("\0", path[1:])

    def test_falls_back_to_the_runtime_directory(self):
        """Without an address, the runtime directory's is used if it is ours."""
        directory = fresh_directory(self)
        place = {RUNTIME: str(directory)}
        self.assertEqual(session_sockets(place), [])
        (directory / "bus").write_text("no socket")
        self.assertEqual(session_sockets(place), [])
        (directory / "bus").unlink()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(directory / "bus"))
            expected = [str(directory / "bus")]
            self.assertEqual(session_sockets(place), expected)
            self.assertEqual(session_sockets({**place, VARIABLE: ""}), expected)
            # Another user's would see every prompt.
            self.patch(bus, "is_own", lambda _: False)
            self.assertEqual(session_sockets(place), [])
        # A relative one is ignored, as its specification wants.
        self.assertEqual(session_sockets({RUNTIME: "run"}), [])
        self.assertEqual(session_sockets({}), [])


class NamesBusTests(SynchronousTestCase):
    def test_names(self):
        """An address is a name, whatever it is, and so is a runtime directory."""
        for environ in ({VARIABLE: "tcp:host=x"}, {RUNTIME: "/run/user/7"}):
            self.assertTrue(names_bus(environ))
        for environ in ({}, {VARIABLE: "", RUNTIME: ""}, {RUNTIME: "here"}):
            self.assertFalse(names_bus(environ))
