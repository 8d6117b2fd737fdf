"""Whole clones from real and from hostile servers."""

import os
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from bridge.http.target import NotPublicError

from ...directories import read_files, write_files
from ...programs import python
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
        super().setUp()
        worktree = self.base / "worktree"
        write_files(worktree, CONTENT)
        # A semicolon begins a comment in a configuration of git's.
        self.name = f"good;{os.urandom(6).hex()}"
        (worktree / "old.txt").write_bytes(b"old")
        self.forge.publish(worktree, self.name)
        (worktree / "old.txt").unlink()
        self.commit = self.forge.publish(worktree, self.name)

    def files(self) -> dict[str, bytes]:
        files = read_files(self.into).items()
        return {path: text for path, text in files if not path.startswith(".git/")}

    async def test_clone(self) -> None:
        """Every file arrives as it was published, in a repository without a fault."""
        self.assertEqual(await self.cloning(self.forge.url(self.name)), self.commit)
        self.assertEqual(self.files(), CONTENT)
        run = partial(run_git, self.into, ca_file=self.forge.ca_file)
        self.assertEqual(run("fsck", "--full", "--strict", "--no-dangling"), "")
        self.assertEqual(run("status", "--porcelain"), "")
        self.assertEqual(run("rev-parse", "HEAD").strip(), self.commit)
        self.assertEqual(run("rev-list", "--count", "HEAD").strip(), "1")
        # Git agrees with the index of the pack.
        [index] = (self.into / ".git/objects/pack").glob("*.idx")
        own = index.read_bytes()
        index.unlink()
        run("index-pack", str(index.with_suffix(".pack")))
        self.assertEqual(index.read_bytes(), own)
        # Nothing of it may be executed.
        files = filter(Path.is_file, self.into.rglob("*"))
        self.assertEqual({path.stat().st_mode & 0o111 for path in files}, {0})
        # It can be deepened from its remote.
        run("fetch", "--quiet", "--depth=50", "origin")
        self.assertEqual(run("rev-list", "--count", "origin/HEAD").strip(), "2")
        self.assertEqual(run("fsck", "--full"), "")

    def test_attack_environment(self) -> None:
        """A clone starts no program, and heeds no configuration of a user's."""
        home, ran = self.base / "home", self.base / "ran"
        home.mkdir()
        (home / ".gitconfig").write_text(
            '[url "https://127.0.0.1:1024/"]\n\tinsteadOf = https://127.0.0.1\n'
            f'[filter "evil"]\n\tsmudge = touch {ran}\n\trequired = true\n'
            "[http]\n\tproxy = http://127.0.0.1:1\n",
            "utf-8",
        )
        of_home = ("HOME", "XDG_CONFIG_HOME", "GIT_DIR", "GIT_TEMPLATE_DIR")
        proxies = ("https_proxy", "HTTPS_PROXY", "ALL_PROXY", "GIT_CONFIG_VALUE_0")
        poison = {
            **dict.fromkeys(of_home, str(home)),
            **dict.fromkeys(proxies, "http://127.0.0.1:1"),
            "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "http.proxy",
            "SSLKEYLOGFILE": str(self.base / "keys"),
        }
        script = f"""
import sys
from pathlib import Path
from twisted.internet import reactor
from twisted.internet.defer import Deferred, execute
from bridge.http.target import AddressPolicy
from bridge.http.client import HttpClient
from bridge.plugins.clone.repositories import Repositories
assert not any(name.startswith(("dulwich", "urllib3")) for name in sys.modules)
seen = []
def watch(event, args):
    if event.startswith(("subprocess", "os.exec", "os.fork", "os.posix", "os.system")):
        seen.append(event)
    if event == "open" and "git" in str(args[0]).rpartition("/")[2].lower():
        if not str(args[0]).endswith((".py", ".pyc", ".gitattributes")):
            seen.append(str(args[0]))
sys.addaudithook(watch)
client = HttpClient(reactor, execute).trusting(Path({str(self.forge.ca_file)!r}))
cloner = Repositories(client, reactor, execute, AddressPolicy(False))
into = Path({str(self.into)!r})
cloning = Deferred.fromCoroutine(
    cloner.clone({self.forge.url(self.name)!r}, into, id)
)
cloning.addBoth(lambda commit: print(commit, seen)).addBoth(lambda _: reactor.stop())
reactor.run()
"""
        done = python("-c", script, **poison)
        self.assertEqual(done.stdout, f"{self.commit} []\n", done.stderr)
        self.assertEqual(self.files(), CONTENT)
        self.assertFalse(ran.exists() or (self.base / "keys").exists())


class DialTests(CloneTestCase):
    """
    Whom a clone connects to.

    What the client does about names, addresses and certificates, ``tests.http`` has.
    """

    async def refused(self, url: str, *found: str) -> tuple[str, ...]:
        """A host with these addresses is refused before it is dialled."""
        self.names[urlsplit(url).hostname or ""] = list(found)
        cloning = self.cloning(url, self.cloner().public())
        error = await self.assertFailure(cloning, NotPublicError)
        self.assertEqual(
            error.message, "clone_failed: the host is not on the public internet"
        )
        return error.addresses

    async def test_attack_private_hosts(self) -> None:
        """Public hosts only: private addresses and names are refused, and named."""
        for url, found, named in (
            ("https://127.0.0.1/x.git", (), ("127.0.0.1",)),
            ("https://2130706433/x.git", ("127.0.0.1",), ("127.0.0.1",)),
            ("https://forge.localhost/x.git", ("8.8.8.8",), ()),
            (
                "https://forge.example.org/x.git",
                ("8.8.8.8", "10.0.0.1", "192.168.1.1"),
                ("10.0.0.1", "192.168.1.1"),
            ),
        ):
            self.assertEqual(await self.refused(url, *found), named)

    async def test_allowed(self) -> None:
        """An address or a private name that was allowed is dialled."""
        url = self.publish(tree(), commit(tree()))
        for host in ("127.0.0.1", "localhost"):
            also = frozenset({(host, self.forge.port)})
            at = url.replace("127.0.0.1", host)
            await self.cloning(at, self.cloner().public(also))
            # Nothing is missing: its commit has no parent.
            self.assertFalse((self.into / ".git/shallow").exists())
            self.into.rename(self.base / host)

    async def test_attack_another_host_than_was_allowed(self) -> None:
        """Another address, port or name than a prompt has shown is refused."""
        port = self.forge.port
        self.names["forge.example.org"] = ["127.0.0.1"]
        for host, allowed in (
            # The name leads elsewhere by then.
            ("forge.example.org", ("192.168.1.5", port)),
            ("forge.example.org", ("127.0.0.1", 443)),
            ("other.localhost", ("forge.localhost", port)),
        ):
            cloner = self.cloner().public(frozenset({allowed}))
            cloning = self.cloning(f"https://{host}:{port}/x.git", cloner)
            await self.assertFailure(cloning, NotPublicError)
