"""Whole clones from real and from hostile servers."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial

from attrs import evolve
from twisted.internet import reactor
from twisted.internet.defer import Deferred

from bridge.http.client import make_client
from bridge.protocol.errors import BridgeError

from ...forge import PROJECT, respond, start_forge_process
from . import packs
from .clones import CloneTestCase, run_git
from .packs import commit, tree

CONTENT = {
    "plugin.json": b'{"id": "demo"}\r\n',
    "main.ts": b"export default 1\n",
    ".gitattributes": b"* text eol=lf filter=evil\n",
    "src/deep/bytes.bin": bytes(range(256)) * 40,
    "src/caf\u00e9 \u2603.md": b"\xff\xfe",
    "a.txt": b"line of text that repeats\n" * 400,
    "b.txt": b"line of text that repeats\n" * 400 + b"and ends\n",
}


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

    async def test_content(self) -> None:
        """Every file arrives as the bytes that were published, and no other file."""
        self.assertEqual(await self.clone(self.forge.url(self.name)), self.commit)
        self.assertEqual(self.files(), CONTENT)

    async def test_real_repository(self) -> None:
        """Git finds nothing wrong with the clone, and no file changed."""
        await self.clone(self.forge.url(self.name))
        run = partial(run_git, self.into, ca_file=self.forge.ca_file)
        self.assertEqual(run("fsck", "--full", "--strict", "--no-dangling"), "")
        self.assertEqual(run("status", "--porcelain"), "")
        self.assertEqual(run("rev-parse", "HEAD").strip(), self.commit)
        self.assertEqual(run("rev-list", "--count", "HEAD").strip(), "1")

    async def test_later_fetch(self) -> None:
        """The clone can be deepened from its remote."""
        await self.clone(self.forge.url(self.name))
        run = partial(run_git, self.into, ca_file=self.forge.ca_file)
        run("fetch", "--quiet", "--depth=50", "origin")
        self.assertEqual(run("rev-list", "--count", "origin/HEAD").strip(), "2")
        self.assertEqual(run("fsck", "--full"), "")

    async def test_nothing_executable(self) -> None:
        """No file of a clone may be executed, and only the owner enters it."""
        await self.clone(self.forge.url(self.name))
        modes = {path.stat().st_mode & 0o111 for path in self.into.rglob("*.*")}
        self.assertEqual(self.into.stat().st_mode & 0o777, 0o700)
        self.assertIn(0, modes)
        for path in self.into.rglob("*"):
            if path.is_file():
                self.assertEqual(path.stat().st_mode & 0o111, 0)

    async def test_progress(self) -> None:
        """The received bytes are reported, and grow."""
        await self.clone(self.forge.url(self.name))
        self.assertTrue(self.progress)
        self.assertEqual(self.progress, sorted(self.progress))

    async def test_localhost(self) -> None:
        """A host name works, also when only some of its addresses answer."""
        url = self.forge.url(self.name).replace("127.0.0.1", "localhost")
        self.assertEqual(await self.clone(url), self.commit)

    async def test_old_protocol(self) -> None:
        """A server that speaks only version 0 of the protocol works too."""
        forge = start_forge_process(old=True)
        self.addCleanup(forge.stop)
        made = forge.publish(self.base / "worktree", "old")
        cloner = self.cloner(forge.ca_file)
        self.assertEqual(await self.clone(forge.url("old"), cloner), made)

    async def test_existing_directory(self) -> None:
        """A directory that is there already is neither used nor removed."""
        self.into.mkdir()
        (self.into / "kept").write_bytes(b"")
        url = self.forge.url(self.name)
        error = await self.assertFailure(self.cloning(url), BridgeError)
        self.assertEqual(
            error.message, "clone_failed: the files could not be written: File exists"
        )
        self.assertTrue((self.into / "kept").exists())

    async def test_full_disk(self) -> None:
        """A file that cannot be written takes the whole clone with it."""
        import resource

        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, before)

        def progress(received: int) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))

        cloning = self.cloner().clone(self.forge.url(self.name), self.into, progress)
        error = await self.assertFailure(Deferred.fromCoroutine(cloning), BridgeError)
        self.assertEqual(
            error.message,
            "clone_failed: the files could not be written: File too large",
        )
        self.assertFalse(self.into.exists())

    async def test_environment_is_ignored(self) -> None:
        """Proxies and git configuration of the user and the environment do nothing."""
        home = self.base / "home"
        home.mkdir()
        ran = self.base / "ran"
        (home / ".gitconfig").write_text(
            '[url "https://127.0.0.1:1024/"]\n\tinsteadOf = https://127.0.0.1\n'
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
        self.assertEqual(await self.clone(self.forge.url(self.name)), self.commit)
        self.assertEqual(self.files(), CONTENT)
        self.assertFalse(ran.exists())
        self.assertFalse((self.base / "keys").exists())

    async def test_environment_trusts_nobody(self) -> None:
        """A certificate authority named by the environment is not trusted."""
        self.set_environment({"SSL_CERT_FILE": str(self.forge.ca_file)})
        client = make_client(reactor, self.pool.call)
        cloner = evolve(self.cloner(), client=client)
        message = await self.refusal(self.forge.url(self.name), cloner)
        self.assertIn("certificate is not to be trusted", message)

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
import sys
from pathlib import Path
from twisted.internet import reactor
from twisted.internet.defer import Deferred, execute
from bridge.http.addresspolicy import AddressPolicy
from bridge.http.client import make_client
from bridge.plugins.clone.repositories import Repositories
assert not any(name.startswith(("dulwich", "urllib3")) for name in sys.modules)
seen = []
def watch(event, args):
    if event in {starts!r}:
        seen.append(event)
    if event == "open" and "git" in str(args[0]).rpartition("/")[2].lower():
        if not str(args[0]).endswith((".py", ".pyc", ".gitattributes")):
            seen.append(str(args[0]))
sys.addaudithook(watch)
client = make_client(reactor, execute, Path({str(self.forge.ca_file)!r}))
cloner = Repositories(client, reactor, execute, AddressPolicy(False))
into = Path({str(self.into)!r})
cloning = Deferred.fromCoroutine(
    cloner.clone({self.forge.url(self.name)!r}, into, id)
)
cloning.addBoth(lambda commit: print(commit, seen)).addBoth(lambda _: reactor.stop())
reactor.run()
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

    async def test_not_https(self) -> None:
        """A URL that breaks the rule is refused as such."""
        message = await self.refusal("http://127.0.0.1/x.git")
        self.assertEqual(message, "not_https: url: must start with https://")

    async def test_nobody_listens(self) -> None:
        """A host that refuses the connection could not be connected to."""
        message = await self.refusal("https://127.0.0.1:1024/x.git")
        self.assertEqual(message, "clone_failed: no connection with the server")

    async def test_unknown_host(self) -> None:
        """A name without an address could not be resolved."""
        message = await self.refusal("https://nowhere.invalid/x.git")
        self.assertIn("could not be resolved", message)

    async def test_not_there(self) -> None:
        """A missing repository is named by its HTTP status."""
        message = await self.refusal(self.forge.url("missing"))
        self.assertIn("HTTP status 404", message)

    async def test_empty(self) -> None:
        """A repository without a commit is called empty."""
        name = f"empty-{os.urandom(6).hex()}"
        made = commit(tree())
        packs.make_repository(self.forge.root, name, [made])
        (self.forge.root / f"{name}.git" / "refs" / "heads" / "main").unlink()
        message = await self.refusal(self.forge.url(name))
        self.assertIn("empty or has no default branch", message)

    async def test_not_a_repository(self) -> None:
        """A page that is not git's has an error of its own."""
        page = respond("200 OK", b"<html>", Content_Type="text/html")
        server = self.rogue(lambda line, body: [page])
        message = await self.refusal(server.url, self.cloner(server.ca_file))
        self.assertEqual(message, "clone_failed: not a git repository")

    async def test_wrong_authority(self) -> None:
        """A certificate of another authority is not trusted."""
        server = self.rogue(lambda line, body: [])
        message = await self.refusal(server.url)
        self.assertIn("certificate is not to be trusted", message)

    async def test_wrong_host_name(self) -> None:
        """A certificate for another name is not trusted."""
        self.names["forge.example"] = ["127.0.0.1"]
        url = self.forge.url("x").replace("127.0.0.1", "forge.example")
        self.assertIn("certificate is not to be trusted", await self.refusal(url))

    async def test_unreadable_ca_file(self) -> None:
        """A CA file that holds no certificate is named."""
        broken = self.base / "broken.pem"
        broken.write_bytes(b"nothing")
        for ca_file in (broken, self.base / "missing.pem"):
            message = await self.refusal(self.forge.url("x"), self.cloner(ca_file))
            self.assertEqual(message, "clone_failed: the CA file cannot be used")
