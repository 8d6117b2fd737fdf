"""
The state in memory, and its file with the generation before it.

That a kill at any call leaves one of them whole is in ``plugins.operations.crashes``.
"""

import errno
import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import limits
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.strictjson import loads
from bridge.store import state
from bridge.store.state import (
    DAEMON_PREFIX,
    Generations,
    NotDurableError,
    Put,
    Remove,
    StoreError,
    Tables,
)

from ..directories import fresh_directory
from ..disk import ALL, full, going_wrong

names = st.sampled_from(["host", "plugin:a", "bridge.plugins", "b", "a"])
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
edits = st.one_of(
    st.builds(Put, names, names, values),
    st.builds(Remove, names, names),
    st.builds(Remove, names),
)


def content(tables: Tables) -> dict[str, dict[str, Any]]:
    """Give everything that is held."""
    return {ns: tables.entries(ns) for ns in tables.namespaces()}


def in_file(tables: Tables) -> bytes:
    """Give everything as it goes into the file."""
    return b"".join(tables.pieces())


def edited(model: dict[str, dict[str, Any]], edit: Any) -> None:
    """Do to plain dictionaries what ``edit`` does to tables."""
    match edit:
        case Put():
            model.setdefault(edit.ns, {})[edit.key] = edit.value
        case Remove(key=None):
            model.pop(edit.ns, None)
        case Remove():
            model.get(edit.ns, {}).pop(edit.key, None)
    for ns in [ns for ns, held in model.items() if not held]:
        del model[ns]


class TablesTests(SynchronousTestCase):
    @given(st.lists(edits, max_size=12))
    def test_counted(self, made: list[Any]) -> None:
        """What is counted is what the file takes, also after loading it."""
        tables = Tables().edited(made)
        loaded = Tables.load(content(tables))
        self.assertEqual(loaded._sizes, tables._sizes)
        self.assertEqual(loads(in_file(loaded)), loads(in_file(tables)))
        # A comma after each last entry is counted, but not written; braces are not.
        written = len(in_file(tables)) - len("{}") + (1 if content(tables) else 0)
        counted = sum(tables._sizes.values()) - len(tables.namespaces())
        self.assertEqual(counted, written)

    def test_copied(self) -> None:
        """Changing a value after it was put changes nothing that is held."""
        value = {"a": [1]}
        tables = Tables()
        tables = tables.edited([Put("a", "k", value)])
        value["a"].append(2)
        self.assertEqual(tables.get("a", "k"), {"a": [1]})


class RefusalTests(SynchronousTestCase):
    def refused(self, tables: Tables, *made: Any) -> BridgeError:
        error: BridgeError = self.assertRaises(BridgeError, tables.edited, made)
        is_own = made[0].ns.startswith(DAEMON_PREFIX)
        self.assertEqual(error.code, Code.INTERNAL if is_own else Code.BAD_REQUEST)
        return error

    def test_too_deep_for_the_file(self) -> None:
        """A value is refused that the file could not be read back with."""
        value: list[Any] = []
        for _ in range(61):
            value = [value]
        tables = Tables()
        tables = tables.edited([Put("a", "k", value)])
        loads(in_file(tables))
        error = self.refused(tables, Put("a", "k", [value]))
        self.assertIn("nested deeper", error.message)

    def test_page_full(self) -> None:
        """The page's namespaces take at most their limit in the file."""
        tables = Tables.load({"plugin:a": {"k": "x" * (limits.STATE_FILE_BYTES - 100)}})
        # Braces, both names and braces, the keys, quotes.
        room = 100 - len('{"plugin:a":{"k":""},"b":{"k":""}}')
        self.refused(tables, Put("b", "k", "x" * (room - 1)))
        tables = tables.edited([Put("b", "k", "x" * (room - 2))])
        error = self.refused(tables, Put("c", "k", 1))
        self.assertIn("the page's values", error.message)

    def test_attack_one_plugin_takes_all(self) -> None:
        """A namespace has a quota, and what others have is not its own."""
        tables = Tables()
        name = "plugin:a"
        room = limits.STATE_NAMESPACE_BYTES - len(f',"{name}":{{"k":"",}}')
        tables = tables.edited([Put(name, "k", "x" * room)])
        for edit in (Put(name, "k", "x" * (room + 1)), Put(name, "l", 1)):
            self.assertIn("a namespace takes", self.refused(tables, edit).message)
        tables = tables.edited([Put("plugin:b", "k", "x" * room)])
        tables = tables.edited([Put(name, "k", "x"), Put(name, "l", "x" * (room - 10))])

    def test_attack_plugins_block_switches_and_grants(self) -> None:
        """What plugins have filled leaves host and daemon all their room."""
        large = {"k": "x" * limits.STATE_NAMESPACE_BYTES}
        full = Tables.load({f"plugin:{number}": large for number in range(5)})
        self.assertIn("the page's", self.refused(full, Put("b", "k", 1)).message)
        for ns, most, whose in (
            ("host", limits.STATE_HOST_BYTES, "the host's"),
            ("bridge.plugins", limits.STATE_DAEMON_BYTES, "the daemon's"),
        ):
            tables = full.edited([Put(ns, "k", "x" * (most - 100))])
            error = self.refused(tables, Put(ns, "l", "x" * 100))
            self.assertIn(f"{whose} values", error.message)

    def test_over_the_limit_can_shrink(self) -> None:
        """What was loaded over the limit can be made smaller, or stay as large."""
        big = "x" * (limits.STATE_HOST_BYTES // 2)
        tables = Tables.load({"host": {"a": big, "b": big, "c": big}})
        tables = tables.edited([Remove("host", "a")])
        tables = tables.edited([Put("host", "b", "small")])
        self.assertEqual(list(tables.entries("host")), ["b", "c"])
        size = limits.STATE_NAMESPACE_BYTES + 1
        tables = Tables.load({"a": {"k": "x" * size}})
        tables = tables.edited([Put("a", "k", "y" * size)])
        self.assertEqual(tables.get("a", "k"), "y" * size)


FIRST, SECOND, THIRD, REFUSED = (b'{"a":{"k":%d}}' % n for n in range(4))


class GenerationsCase(SynchronousTestCase):
    """A directory with a file of two generations."""

    def setUp(self) -> None:
        self.directory = fresh_directory(self)
        self.file = Generations(self.directory / "kept")
        self.file.replace([FIRST[:5], FIRST[5:]])
        self.file.replace([SECOND])

    def names(self) -> set[str]:
        return set(os.listdir(self.directory))


class ReplaceTests(GenerationsCase):
    def test_order(self) -> None:
        """The content is durable before it has the name, the name before the end."""
        with going_wrong(None) as watched:
            self.file.replace([THIRD])
        calls = [c for c in watched.calls if c[0] in ("fsync", "link", "replace")]
        names = [name for name, _ in calls]
        self.assertEqual(names, ["fsync", "link", "replace", "replace", "fsync"])
        self.assertEqual(calls[2:4], [("replace", "kept.bak"), ("replace", "kept")])

    def test_killed_between_the_two(self) -> None:
        """When both names are of one file, nothing but the two newest is left."""
        os.unlink(self.file.previous)
        os.link(self.file.path, self.file.previous)
        self.file.replace([THIRD])
        self.assertEqual(self.file.previous.read_bytes(), SECOND)
        self.assertEqual(self.names(), {"kept", "kept.bak"})

    def test_symlink_attack_on_the_temporary_file(self) -> None:
        """A link planted under the temporary name is removed, not written through."""
        target = self.directory / "target"
        target.write_bytes(b"untouched")
        (self.directory / "kept.tmp").symlink_to(target)
        self.file.replace([THIRD])
        self.assertEqual(target.read_bytes(), b"untouched")
        self.assertFalse(self.file.path.is_symlink())

    def test_full_disk_at_every_call(self) -> None:
        """Whichever calls fail, the file is as it was, or is known not to be."""
        # As on a file system without links.
        none = mock.Mock(side_effect=PermissionError(errno.EPERM, "not permitted"))
        for link, count in product((os.link, none), (1, ALL)):
            self.enterContext(mock.patch.object(os, "link", link))
            with going_wrong(None) as watched:
                self.file.replace([SECOND])
            for at in range(len(watched.calls)):
                what = (link, count, at)
                failing = going_wrong(full(at, count))
                with failing, self.assertRaises(OSError) as caught:
                    self.file.replace([REFUSED])
                # Then the directory is synced.
                renamed = at == len(watched.calls) - 1
                known = isinstance(caught.exception, NotDurableError)
                self.assertEqual(known, renamed, what)
                expected = REFUSED if renamed else SECOND
                self.assertEqual(self.file.path.read_bytes(), expected, what)
                if count == 1:
                    self.assertEqual(self.names(), {"kept", "kept.bak"}, what)
                self.file.replace([SECOND])

    def test_renamed_although_that_failed(self) -> None:
        """Some disks report that of a rename: then the new one is there."""
        replace = os.replace

        def late(source: Path, target: Path) -> None:
            replace(source, target)
            if target == self.file.path:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

        with mock.patch.object(os, "replace", late):
            self.assertRaises(NotDurableError, self.file.replace, [THIRD])
        self.assertEqual(self.file.path.read_bytes(), THIRD)

    def test_broken_source(self) -> None:
        """When what is to be written cannot be made, nothing is left of it."""

        def pieces() -> Iterator[bytes]:
            yield b"half"
            raise ZeroDivisionError

        self.assertRaises(ZeroDivisionError, self.file.replace, pieces())
        self.assertEqual(self.file.path.read_bytes(), SECOND)
        self.assertEqual(self.names(), {"kept", "kept.bak"})


class LoadTests(GenerationsCase):
    def test_damaged(self) -> None:
        """A damaged file is kept aside, and the previous generation is used."""
        self.file.path.write_bytes(b"trunca")
        with going_wrong(None) as watched:
            found, notice = self.file.load()
        self.assertEqual([name for name, _ in watched.calls[-2:]], ["rename", "fsync"])
        self.assertEqual(found.get("a", "k"), 0)
        self.assertEqual(
            notice,
            "kept could not be read and is kept as kept.corrupt-1; "
            "kept.bak, the generation before it, is used",
        )
        aside = self.directory / "kept.corrupt-1"
        self.assertEqual(aside.read_bytes(), b"trunca")

    def test_damaged_after_a_kill_between_the_two(self) -> None:
        """Loading gives each name a file of its own, or damage would be of both."""
        os.unlink(self.file.previous)
        os.link(self.file.path, self.file.previous)
        with mock.patch.object(state, "write_new", side_effect=OSError):
            found, notice = self.file.load()  # with a full disk, too
        self.assertEqual((found.get("a", "k"), notice), (1, None))
        self.file.load()
        self.file.path.write_bytes(b"trunca")
        found, _ = self.file.load()
        self.assertEqual(found.get("a", "k"), 1)
        self.assertEqual(self.names(), {"kept.bak", "kept.corrupt-1"})

    def test_both_damaged(self) -> None:
        """When both are damaged both are kept aside, and nothing is found."""
        self.file.path.write_bytes(b"trunca")
        self.file.previous.write_bytes(b"")
        found, notice = self.file.load()
        self.assertEqual(found.namespaces(), [])
        self.assertIn("kept.bak could not be read", notice)
        self.assertIn("starting with an empty one", notice)
        self.assertEqual(self.names(), {"kept.corrupt-1", "kept.corrupt-2"})

    def test_missing(self) -> None:
        """A missing current generation is reported, and the previous one used."""
        self.file.path.unlink()
        found, notice = self.file.load()
        self.assertEqual(found.get("a", "k"), 0)
        why = "kept is missing; kept.bak, the generation before it, is used"
        self.assertEqual(notice, why)

    def test_linked(self) -> None:
        """The file may be a link to where its user keeps it."""
        self.file.path.symlink_to(self.file.path.rename(self.directory / "elsewhere"))
        self.assertEqual(self.file.load()[0].get("a", "k"), 1)

    def test_refused_before_anything_is_touched(self) -> None:
        """A file of an unknown shape stays where it is, as does the rest."""
        self.file.path.write_bytes(b"damaged")
        for newer in (b'{"version":2,"tables":{}}', b"[]", b'{"a":{},"b":[]}'):
            self.file.previous.write_bytes(newer)
            error = self.assertRaises(StoreError, self.file.load)
            self.assertIn(f"{self.file.path}: not an object of objects", str(error))
            self.assertEqual(self.file.previous.read_bytes(), newer)
        self.assertEqual(self.names(), {"kept", "kept.bak"})

    def test_unreadable(self) -> None:
        """What can't be read now is not damaged: neither file is set aside."""
        denied = f"denied; make it yours, run: sudo chown -R $USER {self.directory}"
        for code, why in ((errno.EACCES, denied), (errno.EIO, "error; try again")):
            failing = OSError(code, os.strerror(code))
            for content in (b"trunca", SECOND):
                self.file.path.write_bytes(content)
                before = [] if content == SECOND else [self.file.path.open("rb")]
                with mock.patch.object(
                    state, "open_regular", side_effect=[*before, failing]
                ):
                    error = self.assertRaises(StoreError, self.file.load)
                self.assertIn(f"{self.file.path} cannot be read: ", str(error))
                self.assertIn(why, str(error))
                self.assertEqual(self.names(), {"kept", "kept.bak"})

    def test_directory_or_pipe_in_its_place(self) -> None:
        """What is no regular file is set aside, and never waited for."""
        self.file.path.unlink()
        for make in (os.mkfifo, os.mkdir):
            make(self.file.path)
            self.assertEqual(self.file.load()[0].get("a", "k"), 0)
        self.assertIn("kept.corrupt-2", self.names())
