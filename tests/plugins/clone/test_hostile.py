"""Clones of repositories that git would not make, from the real git where it can."""

from __future__ import annotations

import os
import time

from ...forge import serve_pack
from . import packs
from .clones import CloneTestCase
from .packs import DIRECTORY, FILE, SUBMODULE, SYMLINK, blob, commit, tree


class HostileTreeTests(CloneTestCase):
    """Repositories whose trees git would not make, served by the real git."""

    async def one(self, mode: bytes, name: bytes) -> str:
        """The refusal of a tree with one entry."""
        made = blob()
        root = tree((mode, name, made))
        return await self.hostile([made, root, commit(root)])

    async def test_symlink(self) -> None:
        """A symlink is a hit of the source policy."""
        self.assertEqual(
            await self.one(SYMLINK, b"main.ts"), "policy: main.ts:1 symlink"
        )

    async def test_nested_symlink(self) -> None:
        """A symlink is named by its path."""
        made = blob(b"/etc/passwd")
        inner = tree((SYMLINK, b"b.ts", made))
        root = tree((DIRECTORY, b"a", inner))
        message = await self.hostile([made, inner, root, commit(root)])
        self.assertEqual(message, "policy: a/b.ts:1 symlink")

    async def test_submodule(self) -> None:
        """A submodule is a hit of the source policy."""
        root = tree((SUBMODULE, b"vendor", b"\1" * 20))
        message = await self.hostile([root, commit(root)])
        self.assertEqual(message, "policy: vendor:1 submodule")

    async def test_odd_mode(self) -> None:
        """What is neither file nor directory is refused."""
        self.assertIn(
            "neither a file nor a directory", await self.one(b"10644", b"pipe")
        )

    async def test_git_directory_in_disguise(self) -> None:
        """Git's own directory is refused in all of its disguises."""
        names = [".git", ".GIT", ".Git", ".git ", ".git.", ".git...", "git~1", "GIT~2"]
        names += [".git::$INDEX_ALLOCATION", ".g\u200cit", "\ufeff.git", ".gi\u202et"]
        names += ["\uff0egit", ".g\u0131t\u200d", ".\uff47it", ".git\\config", ".git/x"]
        for name in names:
            message = await self.one(FILE, name.encode("utf-8"))
            self.assertIn("clone_failed: an unsafe file name", message, name)

    async def test_way_out(self) -> None:
        """A name that leads out of the tree is refused."""
        for name in ("..", ".", "../x", "/etc/x", "a/b", "..\\x", "a\\b", "c:x", "C:"):
            message = await self.one(FILE, name.encode("utf-8"))
            self.assertIn("clone_failed: an unsafe file name", message, name)

    async def test_directory_out(self) -> None:
        """A directory that leads out of the tree is refused."""
        made = blob()
        inner = tree((FILE, b"evil", made))
        root = tree((DIRECTORY, b"..", inner))
        message = await self.hostile([made, inner, root, commit(root)])
        self.assertIn("unsafe file name", message)
        self.assertEqual(os.listdir(self.base), [])

    async def test_control_characters(self) -> None:
        """A name that plays with a terminal or a reader is refused."""
        for name in (b"a\nb", b"a\x1b[2J", b"a\x7f", "a\u202eb".encode(), b"\xff"):
            self.assertIn("unsafe file name", await self.one(FILE, name), name)

    async def test_windows_names(self) -> None:
        """What Windows reads in its own way is refused."""
        for name in ("con", "NUL.ts", "com1", "lpt\u00b9.x", "a:b", "a.", "a ", "a?"):
            self.assertIn("unsafe file name", await self.one(FILE, name.encode()), name)

    async def test_twins(self) -> None:
        """Names that some systems take for one are refused."""
        for first, second in (
            ("A.ts", "a.ts"),
            ("caf\u00e9", "cafe\u0301"),
            ("stra\u00dfe", "STRASSE"),
            ("a", "\uff41"),
            ("same", "same"),
        ):
            made = blob()
            root = tree((FILE, first.encode(), made), (FILE, second.encode(), made))
            message = await self.hostile([made, root, commit(root)])
            self.assertIn("differ only in case or in form", message)

    async def test_file_and_directory_twins(self) -> None:
        """A file and a directory of one name are refused."""
        made = blob()
        inner = tree((FILE, b"x", made))
        root = tree((FILE, b"src", made), (DIRECTORY, b"SRC", inner))
        message = await self.hostile([made, inner, root, commit(root)])
        self.assertIn("differ only in case or in form", message)

    async def test_tree_bomb(self) -> None:
        """Directories that name the same directory many times are given up."""
        level = tree((FILE, b"x", made := blob()))
        objects = [made, level]
        for _ in range(10):
            level = tree(*[(DIRECTORY, b"%02d" % n, level) for n in range(10)])
            objects.append(level)
        message = await self.hostile([*objects, commit(level)])
        self.assertIn("too many files and directories", message)

    async def test_deep_tree(self) -> None:
        """Directories nested too deep are refused."""
        level = tree((FILE, b"x", made := blob()))
        objects = [made, level]
        for _ in range(100):
            level = tree((DIRECTORY, b"d", level))
            objects.append(level)
        message = await self.hostile([*objects, commit(level)])
        self.assertIn("more than 32 directories deep", message)

    async def test_too_many_files(self) -> None:
        """One file over the limit is too many."""
        made = blob()
        entries = [(FILE, b"%05d" % number, made) for number in range(2001)]
        root = tree(*entries)
        message = await self.hostile([made, root, commit(root)])
        self.assertIn("more than 2000 files", message)

    async def test_too_large_tree(self) -> None:
        """One content used often counts as often."""
        made = blob(bytes(1024 * 1024))
        root = tree(*[(FILE, b"%02d" % number, made) for number in range(17)])
        message = await self.hostile([made, root, commit(root)])
        self.assertIn("files of more than 16777216 bytes", message)


class HostilePackTests(CloneTestCase):
    """Packs made to cost memory, time or disk."""

    async def test_too_many_objects(self) -> None:
        """More objects than the limit are refused by the pack's header."""
        made = [blob(b"%d" % number) for number in range(20)]
        root = tree(*[(FILE, b"%02d" % number, one) for number, one in enumerate(made)])
        message = await self.hostile([*made, root, commit(root)], objects=21)
        self.assertIn("more than 21 objects", message)

    async def test_too_many_bytes(self) -> None:
        """Receiving ends at the limit."""
        made = blob(os.urandom(300_000))
        root = tree((FILE, b"x", made))
        objects = [made, root, commit(root)]
        message = await self.hostile(objects, received_bytes=200_000)
        self.assertIn("more than 200000 bytes received", message)

    async def test_blob_of_zeros(self) -> None:
        """A file that inflates to more than the limit is refused."""
        made = blob(bytes(33 * 1024 * 1024))
        root = tree((FILE, b"x", made))
        message = await self.hostile([made, root, commit(root)])
        self.assertIn("too large when unpacked", message)

    async def test_pack_bomb(self) -> None:
        """1.5 GB of zeros in 1.5 MB are refused at once, before they are inflated."""
        size = 1536 * 1024 * 1024
        bomb = packs.entry_head(packs.BLOB, size) + packs.zeros_deflated(size)
        tip = commit(tree())
        pack = packs.make_pack(packs.packed(tip), bomb)
        self.assertLess(len(pack), 2_000_000)
        server = self.rogue(serve_pack(pack, tip.name.hex()))
        started = time.monotonic()
        message = await self.refusal(server.url, self.cloner(server.ca_file))
        self.assertIn("too large when unpacked", message)
        # Less than its deadline, even on a machine that is busy.
        self.assertLess(time.monotonic() - started, 30)

    async def test_served_pack(self) -> None:
        """The server of these tests is believed when its pack is good."""
        made = blob()
        root = tree((FILE, b"x", made))
        tip = commit(root)
        pack = packs.make_pack(*map(packs.packed, (tip, root, made)))
        server = self.rogue(serve_pack(pack, tip.name.hex()))
        await self.clone(server.url, self.cloner(server.ca_file))
        self.assertEqual((self.into / "x").read_bytes(), b"x")

    async def test_missing_object(self) -> None:
        """A pack without the files of its commit is refused."""
        tip = commit(tree((FILE, b"x", blob())))
        pack = packs.make_pack(packs.packed(tip))
        server = self.rogue(serve_pack(pack, tip.name.hex()))
        message = await self.refusal(server.url, self.cloner(server.ca_file))
        self.assertIn("an object is missing", message)

    async def test_other_commit(self) -> None:
        """A pack without the commit that was announced is refused."""
        pack = packs.make_pack(packs.packed(commit(tree())), packs.packed(tree()))
        server = self.rogue(serve_pack(pack, "ab" * 20))
        message = await self.refusal(server.url, self.cloner(server.ca_file))
        self.assertIn("an object is missing", message)
