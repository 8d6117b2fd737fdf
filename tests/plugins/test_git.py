"""Tests of ``bridge.plugins.git``: whole clones from real and from hostile servers."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from attrs import evolve

from bridge.plugins.git import GitCloner
from bridge.protocol.errors import BridgeError

from ..forge import PROJECT, respond, serve_pack, start_forge_process
from . import packs
from .clones import CloneTestCase
from .packs import DIRECTORY, FILE, SUBMODULE, SYMLINK, blob, commit, tree

CONTENT = {
    "plugin.json": b'{"id": "demo"}\r\n',
    "main.ts": b"export default 1\n",
    ".gitattributes": b"* text eol=lf filter=evil\n",
    "src/deep/bytes.bin": bytes(range(256)) * 40,
    "src/caf\u00e9 \u2603.md": b"\xff\xfe",
    "a.txt": b"line of text that repeats\n" * 400,
    "b.txt": b"line of text that repeats\n" * 400 + b"and ends\n",
}


def git(directory: Path, ca_file: Path, *arguments: str) -> str:
    """Run the system's git; its output."""
    environment = {"PATH": os.defpath, "GIT_CONFIG_NOSYSTEM": "1"}
    environment |= {"HOME": str(directory), "GIT_SSL_CAINFO": str(ca_file)}
    done = subprocess.run(
        ["git", *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout + done.stderr


class GoodCloneTests(CloneTestCase):
    """What a clone is when all is well."""

    def setUp(self) -> None:
        """Publish two commits."""
        super().setUp()
        worktree = self.base / "worktree"
        for path, content in CONTENT.items():
            (worktree / path).parent.mkdir(parents=True, exist_ok=True)
            (worktree / path).write_bytes(content)
        self.name = f"good-{os.urandom(6).hex()}"
        (worktree / "old.txt").write_bytes(b"old")
        self.forge.publish(worktree, self.name)
        (worktree / "old.txt").unlink()
        self.commit = self.forge.publish(worktree, self.name)

    def files(self) -> dict[str, bytes]:
        """The files of the clone."""
        found = {}
        for path in self.into.rglob("*"):
            relative = path.relative_to(self.into)
            if path.is_file() and relative.parts[0] != ".git":
                found[str(relative)] = path.read_bytes()
        return found

    def test_content(self) -> None:
        """Every file arrives as the bytes that were published, and no other file."""
        self.assertEqual(self.clone(self.forge.url(self.name)), self.commit)
        self.assertEqual(self.files(), CONTENT)

    def test_real_repository(self) -> None:
        """Git finds nothing wrong with the clone, and no file changed."""
        self.clone(self.forge.url(self.name))
        run = lambda *words: git(self.into, self.forge.ca_file, *words)  # noqa: E731
        self.assertEqual(run("fsck", "--full", "--strict", "--no-dangling"), "")
        self.assertEqual(run("status", "--porcelain"), "")
        self.assertEqual(run("rev-parse", "HEAD").strip(), self.commit)
        self.assertEqual(run("rev-list", "--count", "HEAD").strip(), "1")

    def test_later_fetch(self) -> None:
        """The clone can be deepened from its remote."""
        self.clone(self.forge.url(self.name))
        run = lambda *words: git(self.into, self.forge.ca_file, *words)  # noqa: E731
        run("fetch", "--quiet", "--depth=50", "origin")
        self.assertEqual(run("rev-list", "--count", "origin/HEAD").strip(), "2")
        self.assertEqual(run("fsck", "--full"), "")

    def test_nothing_executable(self) -> None:
        """No file of a clone may be executed, and only the owner enters it."""
        self.clone(self.forge.url(self.name))
        modes = {path.stat().st_mode & 0o111 for path in self.into.rglob("*.*")}
        self.assertEqual(self.into.stat().st_mode & 0o777, 0o700)
        self.assertIn(0, modes)
        for path in self.into.rglob("*"):
            if path.is_file():
                self.assertEqual(path.stat().st_mode & 0o111, 0)

    def test_progress(self) -> None:
        """The received bytes are reported, and grow."""
        self.clone(self.forge.url(self.name))
        self.assertTrue(self.progress)
        self.assertEqual(self.progress, sorted(self.progress))

    def test_localhost(self) -> None:
        """A host name works, also when only some of its addresses answer."""
        url = self.forge.url(self.name).replace("127.0.0.1", "localhost")
        self.assertEqual(self.clone(url), self.commit)

    def test_old_protocol(self) -> None:
        """A server that speaks only version 0 of the protocol works too."""
        forge = start_forge_process(old=True)
        self.addCleanup(forge.stop)
        made = forge.publish(self.base / "worktree", "old")
        cloner = self.cloner(forge.ca_file)
        self.assertEqual(self.clone(forge.url("old"), cloner), made)

    def test_existing_directory(self) -> None:
        """A directory that is there already is neither used nor removed."""
        self.into.mkdir()
        (self.into / "kept").write_bytes(b"")
        url = self.forge.url(self.name)
        error = self.assertRaises(BridgeError, self.clone, url)
        self.assertEqual(error.message, "clone_failed: the files could not be written")
        self.assertTrue((self.into / "kept").exists())

    def test_full_disk(self) -> None:
        """A file that cannot be written takes the whole clone with it."""
        import resource

        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, before)

        def progress(received: int) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))

        url = self.forge.url(self.name)
        error = self.assertRaises(
            BridgeError, self.cloner().clone, url, self.into, progress, self.stop
        )
        self.assertEqual(error.message, "clone_failed: the files could not be written")
        self.assertFalse(self.into.exists())

    def test_environment_is_ignored(self) -> None:
        """Proxies and git configuration of the user and the environment do nothing."""
        home = self.base / "home"
        home.mkdir()
        ran = self.base / "ran"
        (home / ".gitconfig").write_text(
            '[url "https://127.0.0.1:1/"]\n\tinsteadOf = https://127.0.0.1\n'
            f'[filter "evil"]\n\tsmudge = touch {ran}\n\trequired = true\n'
            "[http]\n\tproxy = http://127.0.0.1:1\n",
            "utf-8",
        )
        poison = {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
            "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "http.proxy",
            "GIT_CONFIG_VALUE_0": "http://127.0.0.1:1",
            "GIT_DIR": str(home),
            "GIT_TEMPLATE_DIR": str(home),
            "https_proxy": "http://127.0.0.1:1",
            "HTTPS_PROXY": "http://127.0.0.1:1",
            "ALL_PROXY": "http://127.0.0.1:1",
            "SSLKEYLOGFILE": str(self.base / "keys"),
        }
        self.set_environment(poison)
        self.assertEqual(self.clone(self.forge.url(self.name)), self.commit)
        self.assertEqual(self.files(), CONTENT)
        self.assertFalse(ran.exists())
        self.assertFalse((self.base / "keys").exists())

    def test_environment_trusts_nobody(self) -> None:
        """A certificate authority named by the environment is not trusted."""
        self.set_environment({"SSL_CERT_FILE": str(self.forge.ca_file)})
        cloner = GitCloner(None, False, time.monotonic)
        message = self.refusal(self.forge.url(self.name), cloner)
        self.assertIn("TLS certificate is not trusted", message)

    def set_environment(self, values: dict[str, str]) -> None:
        """Set environment variables for this test."""
        for name, value in values.items():
            before = os.environ.get(name)
            if before is None:
                self.addCleanup(os.environ.pop, name, None)
            else:
                self.addCleanup(os.environ.__setitem__, name, before)
            os.environ[name] = value

    def test_no_program_no_configuration(self) -> None:
        """A clone starts no program and opens no git configuration but its own."""
        starts = (
            "subprocess.Popen",
            "os.exec",
            "os.fork",
            "os.posix_spawn",
            "os.system",
        )
        script = f"""
import sys, threading, time
from pathlib import Path
from bridge.plugins.git import GitCloner
assert not any(name.startswith(("dulwich", "urllib3")) for name in sys.modules)
seen = []
def watch(event, args):
    if event in {starts!r}:
        seen.append(event)
    if event == "open" and "git" in str(args[0]).rpartition("/")[2].lower():
        if not str(args[0]).endswith((".py", ".pyc", ".gitattributes")):
            seen.append(str(args[0]))
sys.addaudithook(watch)
cloner = GitCloner(Path({str(self.forge.ca_file)!r}), False, time.monotonic)
into = Path({str(self.into)!r})
print(cloner.clone({self.forge.url(self.name)!r}, into, id, threading.Event()), seen)
"""
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(done.stdout, f"{self.commit} []\n")


class RefusedUrlTests(CloneTestCase):
    """Clones that end before anything is fetched."""

    def test_not_https(self) -> None:
        """A URL that breaks the rule is refused as such."""
        message = self.refusal("http://127.0.0.1/x.git")
        self.assertEqual(message, "not_https: url: must start with https://")

    def test_nobody_listens(self) -> None:
        """A host that refuses the connection could not be connected to."""
        message = self.refusal("https://127.0.0.1:1/x.git")
        self.assertEqual(message, "clone_failed: could not connect to the host")

    def test_unknown_host(self) -> None:
        """A name without an address could not be resolved."""
        message = self.refusal("https://nowhere.invalid/x.git")
        self.assertIn("could not be resolved", message)

    def test_not_there(self) -> None:
        """A missing repository is named by its HTTP status."""
        message = self.refusal(self.forge.url("missing"))
        self.assertIn("HTTP status 404", message)

    def test_empty(self) -> None:
        """A repository without a commit is called empty."""
        name = f"empty-{os.urandom(6).hex()}"
        made = commit(tree())
        packs.make_repository(self.forge.root, name, [made])
        (self.forge.root / f"{name}.git" / "refs" / "heads" / "main").unlink()
        message = self.refusal(self.forge.url(name))
        self.assertIn("empty or has no default branch", message)

    def test_not_a_repository(self) -> None:
        """A page that is not git's is told apart."""
        page = respond("200 OK", b"<html>", Content_Type="text/html")
        server = self.rogue(lambda line, body: [page])
        message = self.refusal(server.url, self.cloner(server.ca_file))
        self.assertEqual(message, "clone_failed: not a git repository")

    def test_wrong_authority(self) -> None:
        """A certificate of another authority is not trusted."""
        server = self.rogue(lambda line, body: [])
        message = self.refusal(server.url)
        self.assertIn("TLS certificate is not trusted", message)

    def test_wrong_host_name(self) -> None:
        """A certificate for another name is not trusted."""
        url = self.forge.url("x").replace("127.0.0.1", "127.0.0.2")
        cloner = evolve(
            self.cloner(),
            look_up=lambda *_: [(2, 1, 6, "", ("127.0.0.1", self.forge.port))],
        )
        self.assertIn("TLS certificate is not trusted", self.refusal(url, cloner))

    def test_unreadable_ca_file(self) -> None:
        """A CA file that holds no certificate is named."""
        broken = self.base / "broken.pem"
        broken.write_bytes(b"nothing")
        for ca_file in (broken, self.base / "missing.pem"):
            message = self.refusal(self.forge.url("x"), self.cloner(ca_file))
            self.assertEqual(message, "clone_failed: the CA file cannot be used")


class PublicOnlyTests(CloneTestCase):
    """``--public-clones-only``."""

    def refused(self, url: str, *addresses: str) -> None:
        """A host with these addresses is refused before it is dialled."""
        answers = [(2, 1, 6, "", (address, 1)) for address in addresses]
        cloner = GitCloner(None, True, time.monotonic, look_up=lambda *_: answers)
        message = self.refusal(url, cloner)
        self.assertEqual(
            message, "clone_failed: the host is not on the public internet"
        )

    def test_loopback_address(self) -> None:
        """A loopback address is refused."""
        cloner = GitCloner(self.forge.ca_file, True, time.monotonic)
        message = self.refusal(self.forge.url("x"), cloner)
        self.assertIn("not on the public internet", message)

    def test_local_name(self) -> None:
        """A name reserved for local use is refused whatever it resolves to."""
        self.refused("https://forge.localhost/x.git", "8.8.8.8")

    def test_private_answer(self) -> None:
        """A public name with a private address is refused."""
        self.refused("https://forge.example.org/x.git", "10.0.0.1")

    def test_mixed_answers(self) -> None:
        """One private address among public ones is enough."""
        self.refused("https://forge.example.org/x.git", "8.8.8.8", "192.168.1.1")

    def test_decimal_address(self) -> None:
        """Another spelling of an address is judged by what it resolves to."""
        cloner = GitCloner(None, True, time.monotonic)
        message = self.refusal("https://2130706433/x.git", cloner)
        self.assertIn("not on the public internet", message)


class HostileTreeTests(CloneTestCase):
    """Repositories whose trees git would not make, served by the real git."""

    def one(self, mode: bytes, name: bytes) -> str:
        """The refusal of a tree with one entry."""
        made = blob()
        root = tree((mode, name, made))
        return self.hostile([made, root, commit(root)])

    def test_symlink(self) -> None:
        """A symlink is a hit of the source policy."""
        self.assertEqual(self.one(SYMLINK, b"main.ts"), "policy: main.ts:1 symlink")

    def test_nested_symlink(self) -> None:
        """A symlink is named by its path."""
        made = blob(b"/etc/passwd")
        inner = tree((SYMLINK, b"b.ts", made))
        root = tree((DIRECTORY, b"a", inner))
        message = self.hostile([made, inner, root, commit(root)])
        self.assertEqual(message, "policy: a/b.ts:1 symlink")

    def test_submodule(self) -> None:
        """A submodule is a hit of the source policy."""
        root = tree((SUBMODULE, b"vendor", b"\1" * 20))
        message = self.hostile([root, commit(root)])
        self.assertEqual(message, "policy: vendor:1 submodule")

    def test_odd_mode(self) -> None:
        """What is neither file nor directory is refused."""
        self.assertIn("neither a file nor a directory", self.one(b"10644", b"pipe"))

    def test_git_directory_in_disguise(self) -> None:
        """Git's own directory is refused in all of its disguises."""
        names = [".git", ".GIT", ".Git", ".git ", ".git.", ".git...", "git~1", "GIT~2"]
        names += [".git::$INDEX_ALLOCATION", ".g\u200cit", "\ufeff.git", ".gi\u202et"]
        names += ["\uff0egit", ".g\u0131t\u200d", ".\uff47it", ".git\\config", ".git/x"]
        for name in names:
            message = self.one(FILE, name.encode("utf-8"))
            self.assertIn("clone_failed: an unsafe file name", message, name)

    def test_way_out(self) -> None:
        """A name that leads out of the tree is refused."""
        for name in ("..", ".", "../x", "/etc/x", "a/b", "..\\x", "a\\b", "c:x", "C:"):
            message = self.one(FILE, name.encode("utf-8"))
            self.assertIn("clone_failed: an unsafe file name", message, name)

    def test_directory_out(self) -> None:
        """A directory that leads out of the tree is refused."""
        made = blob()
        inner = tree((FILE, b"evil", made))
        root = tree((DIRECTORY, b"..", inner))
        message = self.hostile([made, inner, root, commit(root)])
        self.assertIn("unsafe file name", message)
        self.assertEqual(os.listdir(self.base), [])

    def test_control_characters(self) -> None:
        """A name that plays with a terminal or a reader is refused."""
        for name in (b"a\nb", b"a\x1b[2J", b"a\x7f", "a\u202eb".encode(), b"\xff", b""):
            self.assertIn("unsafe file name", self.one(FILE, name), name)

    def test_windows_names(self) -> None:
        """What Windows reads in its own way is refused."""
        for name in ("con", "NUL.ts", "com1", "lpt\u00b9.x", "a:b", "a.", "a ", "a?"):
            self.assertIn("unsafe file name", self.one(FILE, name.encode()), name)

    def test_twins(self) -> None:
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
            message = self.hostile([made, root, commit(root)])
            self.assertIn("differ only in case or in form", message)

    def test_file_and_directory_twins(self) -> None:
        """A file and a directory of one name are refused."""
        made = blob()
        inner = tree((FILE, b"x", made))
        root = tree((FILE, b"src", made), (DIRECTORY, b"SRC", inner))
        message = self.hostile([made, inner, root, commit(root)])
        self.assertIn("differ only in case or in form", message)

    def test_tree_bomb(self) -> None:
        """Directories that name the same directory many times are given up."""
        level = tree((FILE, b"x", made := blob()))
        objects = [made, level]
        for _ in range(10):
            level = tree(*[(DIRECTORY, b"%02d" % n, level) for n in range(10)])
            objects.append(level)
        message = self.hostile([*objects, commit(level)])
        self.assertIn("too many files and directories", message)

    def test_deep_tree(self) -> None:
        """Directories nested too deep are refused."""
        level = tree((FILE, b"x", made := blob()))
        objects = [made, level]
        for _ in range(100):
            level = tree((DIRECTORY, b"d", level))
            objects.append(level)
        message = self.hostile([*objects, commit(level)])
        self.assertIn("more than 32 directories deep", message)

    def test_too_many_files(self) -> None:
        """One file over the limit is too many."""
        made = blob()
        entries = [(FILE, b"%05d" % number, made) for number in range(2001)]
        root = tree(*entries)
        message = self.hostile([made, root, commit(root)])
        self.assertIn("more than 2000 files", message)

    def test_too_large_tree(self) -> None:
        """One content used often counts as often."""
        made = blob(bytes(1024 * 1024))
        root = tree(*[(FILE, b"%02d" % number, made) for number in range(17)])
        message = self.hostile([made, root, commit(root)])
        self.assertIn("files of more than 16777216 bytes", message)


class HostilePackTests(CloneTestCase):
    """Packs made to cost memory, time or disk."""

    def test_too_many_objects(self) -> None:
        """More objects than the limit are refused by the pack's header."""
        made = [blob(b"%d" % number) for number in range(20)]
        root = tree(*[(FILE, b"%02d" % number, one) for number, one in enumerate(made)])
        message = self.hostile([*made, root, commit(root)], objects=21)
        self.assertIn("more than 21 objects", message)

    def test_too_many_bytes(self) -> None:
        """Receiving ends at the limit."""
        made = blob(os.urandom(300_000))
        root = tree((FILE, b"x", made))
        objects = [made, root, commit(root)]
        message = self.hostile(objects, received_bytes=200_000)
        self.assertIn("more than 200000 bytes received", message)

    def test_blob_of_zeros(self) -> None:
        """A file that inflates to more than the limit is refused."""
        made = blob(bytes(33 * 1024 * 1024))
        root = tree((FILE, b"x", made))
        message = self.hostile([made, root, commit(root)])
        self.assertIn("too large when unpacked", message)

    def test_pack_bomb(self) -> None:
        """1.5 GB of zeros in 1.5 MB are refused at once, before they are inflated."""
        size = 1536 * 1024 * 1024
        bomb = packs.entry_head(packs.BLOB, size) + packs.zeros_deflated(size)
        tip = commit(tree())
        pack = packs.make_pack(packs.packed(tip), bomb)
        self.assertLess(len(pack), 2_000_000)
        server = self.rogue(serve_pack(pack, tip.name.hex()))
        started = time.monotonic()
        message = self.refusal(server.url, self.cloner(server.ca_file))
        self.assertIn("too large when unpacked", message)
        self.assertLess(time.monotonic() - started, 5)

    def test_served_pack(self) -> None:
        """The server of these tests is believed when its pack is good."""
        made = blob()
        root = tree((FILE, b"x", made))
        tip = commit(root)
        pack = packs.make_pack(*map(packs.packed, (tip, root, made)))
        server = self.rogue(serve_pack(pack, tip.name.hex()))
        self.clone(server.url, self.cloner(server.ca_file))
        self.assertEqual((self.into / "x").read_bytes(), b"x")

    def test_missing_object(self) -> None:
        """A pack without the files of its commit is refused."""
        tip = commit(tree((FILE, b"x", blob())))
        pack = packs.make_pack(packs.packed(tip))
        server = self.rogue(serve_pack(pack, tip.name.hex()))
        message = self.refusal(server.url, self.cloner(server.ca_file))
        self.assertIn("an object is missing", message)

    def test_other_commit(self) -> None:
        """A pack without the commit that was announced is refused."""
        pack = packs.make_pack(packs.packed(commit(tree())), packs.packed(tree()))
        server = self.rogue(serve_pack(pack, "ab" * 20))
        message = self.refusal(server.url, self.cloner(server.ca_file))
        self.assertIn("an object is missing", message)


class SlowServerTests(CloneTestCase):
    """Servers that keep a clone waiting."""

    def slow(self, pieces: int) -> tuple[str, Path]:
        """A server whose answer comes in pieces, 0.1 s apart."""

        def script(line: str, body: bytes) -> Iterator[bytes]:
            yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
            for _ in range(pieces):
                yield b"X"
                server.pause(0.1)
            server.pause(60)

        server = self.rogue(script)
        return server.url, server.ca_file

    def test_dribble(self) -> None:
        """A server that sends a byte now and then is cut off at the deadline."""
        url, ca_file = self.slow(1000)
        started = time.monotonic()
        message = self.refusal(url, self.cloner(ca_file, seconds=1.0))
        self.assertEqual(message, "clone_failed: not finished within 1 seconds")
        self.assertLess(time.monotonic() - started, 3)

    def test_stall(self) -> None:
        """A server that goes silent is cut off at the deadline."""
        url, ca_file = self.slow(0)
        message = self.refusal(url, self.cloner(ca_file, seconds=0.5))
        self.assertIn("not finished within 0.5 seconds", message)

    def test_no_handshake(self) -> None:
        """A server that never answers the handshake is cut off at the deadline."""
        import socket

        with socket.create_server(("127.0.0.1", 0)) as listening:
            url = f"https://127.0.0.1:{listening.getsockname()[1]}/x.git"
            message = self.refusal(url, self.cloner(seconds=0.5))
        self.assertIn("not finished within 0.5 seconds", message)

    def test_no_connection(self) -> None:
        """A host that never takes the connection is cut off at the deadline."""
        import socket

        with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
            address = listening.getsockname()
            held = []
            for _ in range(4):
                waiting = socket.socket()
                waiting.setblocking(False)
                waiting.connect_ex(address)
                held.append(waiting)
            url = f"https://127.0.0.1:{address[1]}/x.git"
            message = self.refusal(url, self.cloner(seconds=0.5))
            for waiting in held:
                waiting.close()
        self.assertIn("not finished within 0.5 seconds", message)

    def test_stopped(self) -> None:
        """Another thread ends a clone within a second."""
        url, ca_file = self.slow(1000)
        timer = threading.Timer(0.3, self.stop.set)
        timer.start()
        started = time.monotonic()
        message = self.refusal(url, self.cloner(ca_file))
        timer.join()
        self.assertEqual(message, "clone_failed: stopped before it was finished")
        self.assertLess(time.monotonic() - started, 1.5)

    def test_stopped_before(self) -> None:
        """A clone that is stopped before it starts does not start."""
        self.stop.set()
        message = self.refusal(self.forge.url("x"))
        self.assertIn("stopped before it was finished", message)

    def test_broken_off(self) -> None:
        """A connection that is closed early is named as such."""
        server = self.rogue(lambda line, body: [])
        message = self.refusal(server.url, self.cloner(server.ca_file))
        self.assertEqual(message, "clone_failed: the connection broke off")
