"""``plugin-bridge sign``, ``verify`` and ``keygen``."""

import json
import os
import re
import shutil
import stat
from pathlib import Path
from unittest import mock

from bridge.cli.authoring import worktree
from bridge.cli.authoring.worktree import chosen_key, default_key_file
from bridge.cli.terminal import CommandError
from bridge.plugins.tree.tree import key_id, public_key_of, read_tree, verify_tree
from bridge.settings.host import load_profile

from ....directories import write_files
from ...commandcase import CommandTestCase
from ...repository import clone, commit, git

HOST = load_profile("vrcnext")
NOW = 1_790_000_000
SEED = b"\x01" * 32
MANIFEST = {"id": "demo", "name": "Demo", "version": "1.2.3", "apiVersion": "^0.7.0"}


class SignTestCase(CommandTestCase):
    def setUp(self):
        super().setUp()
        self.now = NOW
        self.key = self.root / "key"
        self.key.write_text(SEED.hex() + "\n")
        self.plugin = self.root / "demo"
        self.plugin.mkdir()
        self.write("plugin.json", json.dumps(MANIFEST))
        self.write("main.ts", "export default 1\n")

    def write(self, path: str, content: str) -> None:
        write_files(self.plugin, {path: content})

    def git(self, *arguments: str) -> str:
        """Run git in the plugin; gives what it prints."""
        return git(self.plugin, *arguments)

    def commit(self) -> None:
        commit(self.plugin)

    def sign(self, *arguments: str, **environ: str) -> tuple[int, str, str]:
        if "--key" not in arguments and not environ:
            arguments = ("--key", str(self.key), *arguments)
        with (
            mock.patch("time.time", return_value=self.now + 0.9),
            mock.patch.dict(os.environ, environ),
        ):
            return self.run_main("sign", *arguments, str(self.plugin))

    def assert_signed(self, *arguments: str, **environ: str) -> None:
        """Signing works, the signature verifies, and the author learns what is next."""
        out = self.done(self.sign(*arguments, **environ))
        self.verify(self.plugin)
        for words in ("demo 1.2.3", key_id(public_key_of(SEED)), "Commit it and push"):
            self.assertIn(words, out)
        self.assertNotIn(SEED.hex(), out)

    def verify(self, root: Path) -> None:
        signed = verify_tree(read_tree(root), "demo", HOST, NOW)
        self.assertEqual(signed.public_key, public_key_of(SEED))
        self.assertEqual(signed.signed_at, NOW)

    def assert_refused(self, words: str, *arguments: str, **environ: str) -> None:
        """Signing fails with one line, and leaves nothing."""
        before = sorted(os.listdir(self.plugin)) if self.plugin.exists() else []
        err = self.failed(self.sign(*arguments, **environ))
        self.assertEqual(err, f"plugin-bridge sign: {words}\n")
        after = sorted(os.listdir(self.plugin)) if self.plugin.exists() else []
        self.assertEqual(after, before)


class SignTests(SignTestCase):
    """Signing a directory that is not under git."""

    def test_key_from_the_environment(self):
        """The variable holds the key itself; a key file that is named wins."""
        self.assert_signed(BRIDGE_SIGNING_KEY=SEED.hex())
        self.assert_signed("--key", str(self.key), BRIDGE_SIGNING_KEY="00" * 32)
        self.assert_refused(
            "BRIDGE_SIGNING_KEY does not hold 64 hexadecimal digits",
            BRIDGE_SIGNING_KEY="Zq9",
        )

    def test_default_key(self):
        """The key that keygen makes is used when none is named."""
        place = self.root / "config"
        with mock.patch.dict(os.environ, {"XDG_CONFIG_HOME": str(place)}):
            path = place / "plugin-bridge" / "signing-key"
            path.parent.mkdir(parents=True)
            self.key.rename(path)
            self.assert_signed(BRIDGE_HOST="vrcnext")
        create = f"to create one, run: plugin-bridge keygen --out {self.key}"
        self.assert_refused(f"there is no key file {self.key}; {create}")

    def test_attack_published_key(self):
        """A key inside the plugin would be published with it."""
        inside = self.plugin / "key"
        self.key.rename(inside)
        (self.root / "link").symlink_to(inside)
        for path in (inside, self.root / "link"):
            self.assert_refused(
                "the key file is one of the plugin's files; anyone who has it can sign "
                "as you, so keep it elsewhere",
                "--key",
                str(path),
            )

    def test_unwritable(self):
        """A signature that cannot be written is reported."""
        refused = PermissionError(13, "Permission denied")
        with mock.patch.object(worktree, "write_atomically", side_effect=refused):
            self.assert_refused("plugin.sig cannot be written: Permission denied")

    def test_for_another_host(self):
        """What new has made for one is not signed for another."""
        data = load_profile("reference").data_dir()
        (self.plugin / ".host").symlink_to(data / "host")
        self.assert_fails("another host; add --host reference, or", self.sign())


class WorkTreeTests(SignTestCase):
    def setUp(self):
        super().setUp()
        self.commit()

    def test_signed(self):
        """What is signed, committed and cloned verifies; signing again is no change."""
        self.write("src/a.ts", "export const a = 1")
        self.write(".gitignore", "node_modules/\n")
        self.commit()
        self.write("node_modules/x.js", "not published")
        for _ in range(2):
            self.assertEqual(self.sign()[0], 0)
            self.git("add", "plugin.sig")
        self.commit()
        self.assertEqual(self.sign()[0], 0)
        self.verify(clone(self.plugin, self.root / "clone"))

    def test_not_committed(self):
        """What a clone would not get is named, and nothing is signed."""
        tail = "; a clone would not get this tree"
        self.write("main.ts", "export default 2\n")
        self.assert_refused(f"not committed: main.ts{tail}")
        self.write("é\x1b.ts", "")
        self.assert_refused(f"not committed: main.ts, é.ts{tail}")
        for name in "abc":
            self.write(f"{name}.ts", "")
        self.git("add", "--all")
        self.assert_refused(f"not committed: a.ts, b.ts, c.ts, and 2 more{tail}")
        self.git("rm", "--quiet", "--cached", "-r", ".")
        self.assert_refused(
            f"not committed: main.ts, plugin.json, a.ts, and 3 more{tail}"
        )

    def test_ignored(self):
        """A key that is not published may be used; a signature is to be published."""
        self.key.rename(self.plugin / "key")
        self.key = self.plugin / "key"
        for ignored, says in (("key", False), ("key\n*.sig", True)):
            self.write(".gitignore", f"{ignored}\n")
            self.commit()
            add = f"run: git -C {self.plugin} add --force plugin.sig\n"
            self.assertEqual(add in self.done(self.sign()), says)

    def test_too_large(self):
        """Files too large to install are not read into memory; no signature counts."""
        files = worktree.published_tree(self.plugin).files
        self.patch(worktree, "TREE_BYTES", sum(map(len, files.values())))
        for _ in range(2):
            self.done(self.sign())
            self.commit()
        self.patch(worktree, "TREE_BYTES", 10)
        self.patch(worktree, "SIGNATURE_BYTES", 0)
        self.assert_refused("the committed files are larger than 10 bytes")

    def test_not_a_repository(self):
        """A .git that is none is not looked for further up; a folder is warned of."""
        shutil.rmtree(self.plugin / ".git")
        commit(self.root)
        words = f"warning: it is a folder of the git work tree {self.root.resolve()}; "
        self.assertIn(words, self.done(self.sign()))
        (self.plugin / ".git").mkdir()
        why = "plugin-bridge sign: git status failed: fatal: not a git"
        self.assert_fails(why, self.sign())
        (self.plugin / ".git").rmdir()
        self.git("init", "--quiet", "--object-format=sha256")
        self.commit()
        why = "plugin-bridge sign: the repository's object format is not SHA-1, so"
        self.assert_fails(why, self.sign())

    def test_no_git(self):
        """Without git a work tree cannot be signed, and the message names git."""
        with mock.patch.dict(os.environ, {"PATH": str(self.root)}):
            self.assert_refused("git is needed for a git work tree")
            (self.root / "git").write_text("")
            (self.root / "git").chmod(0o755)
            self.assert_refused("git config cannot be run: Exec format error")


class VerifyTests(SignTestCase):
    def run_verify(self, *arguments):
        return self.run_main("verify", *arguments, str(self.plugin))

    def test_signed(self):
        """What verifies is named, with its key's fingerprint and its date, if any."""
        self.assert_signed()
        out = self.done(self.run_verify())
        for words in ("demo 1.2.3", key_id(public_key_of(SEED)), "2026-09-2"):
            self.assertIn(words, out)
        key = key_id(public_key_of(SEED))
        found = {"id": "demo", "version": "1.2.3", "keyId": key, "signedAt": NOW}
        self.assertEqual(json.loads(self.done(self.run_verify("--json"))), found)
        path = self.plugin / "plugin.sig"
        path.write_text(path.read_text().replace(f'"signedAt": {NOW}', '"signedAt": 0'))
        self.assertNotIn("dated", self.done(self.run_verify()))

    def test_refused(self):
        """The words are those of an install."""
        self.assert_signed()
        self.write("main.ts", "export default 2\n")
        self.assertIn("verify: the tree", self.failed(self.run_verify()))


class KeygenTests(CommandTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.patch(os, "environ", {**os.environ, "XDG_CONFIG_HOME": str(self.root)})
        self.key = self.root / "key"

    def keygen(self, *arguments: str) -> tuple[int, str, str]:
        return self.run_main("keygen", *arguments)

    def test_made(self) -> None:
        """A key is 64 digits only its owner can read; its fingerprint is shown."""
        self.addCleanup(os.umask, os.umask(0))
        keys = set()
        for name in ("one", "two"):
            path = self.root / name
            out = self.done(self.keygen("--out", str(path)))
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
            self.assertTrue(re.fullmatch(r"[0-9a-f]{64}\n", path.read_text()))
            self.assertIn(key_id(public_key_of(chosen_key(path).seed)), out)
            self.assertNotIn(path.read_text().strip(), out)
            keys.add(path.read_text())
        self.assertEqual(len(keys), 2)

    def test_attack_overwrite(self) -> None:
        """What is there is never replaced, be it a key or a link to one."""
        self.key.write_text("precious")
        (self.root / "link").symlink_to("nowhere")
        for name in ("key", "link"):
            err = self.failed(self.keygen("--out", str(self.root / name)))
            why = "exists already; it is never replaced\n"
            self.assertEqual(err, f"plugin-bridge keygen: {self.root / name} {why}")
        self.assertEqual(self.key.read_text(), "precious")
        self.assertFalse((self.root / "nowhere").exists())

    def test_cannot_be_written(self) -> None:
        """No directory is made for a named file."""
        self.assert_fails(
            "cannot be written: No such file or directory",
            self.keygen("--out", str(self.root / "nowhere" / "key")),
        )
        self.assertEqual(list(self.root.iterdir()), [])

    def test_default_place(self) -> None:
        """A key goes to its owner's configuration, in a directory only for him."""
        out = self.done(self.keygen())
        path = default_key_file()
        self.assertIn(str(path), out)
        self.assertTrue(path.is_relative_to(self.root))
        self.assertEqual(stat.S_IMODE(path.parent.stat().st_mode), 0o700)

    def test_usage(self) -> None:
        """Nothing is created where no key was asked for."""
        for line in ("extra", "--unknown", "--out", "--key mine", "--show --out mine"):
            self.assertEqual(self.keygen(*line.split())[0], 2, line)
        self.assert_fails(
            "plugin-bridge keygen: there is no key file", self.keygen("--show")
        )
        self.assert_fails(
            "k cannot be read: File name too long",
            self.keygen("--show", "--key", "k" * 256),
        )
        self.assertEqual(list(self.root.iterdir()), [])

    def test_shown(self) -> None:
        """The fingerprint of a key file, or of the variable, is all that is printed."""
        self.key.write_text("01" * 32)
        wanted = key_id(public_key_of(b"\x01" * 32))
        show = ("--show", "--key", str(self.key))
        self.assertEqual(self.keygen(*show), (0, f"{wanted}\n", ""))
        self.assertEqual(json.loads(self.keygen("--json", *show)[1]), {"keyId": wanted})
        with mock.patch.dict(os.environ, {"BRIDGE_SIGNING_KEY": "02" * 32}):
            wanted = key_id(public_key_of(b"\x02" * 32))
            self.assertEqual(self.keygen("--show"), (0, f"{wanted}\n", ""))

    def test_read(self) -> None:
        """Digits of either case are a key; what is none is not repeated."""
        self.key.write_text(f" {'aB' * 32}\r\n")
        self.assertEqual(chosen_key(self.key).seed, b"\xab" * 32)
        why = f"{self.key} does not hold 64 hexadecimal digits"
        for content in (b"", b"Zq9" * 22, b"a" * 63, b"a" * 65, b"\xff" * 64, b"\0"):
            self.key.write_bytes(content)
            error = self.assertRaises(CommandError, chosen_key, self.key)
            self.assertEqual(str(error), why)
        for path, why in (
            (default_key_file(), "to create one, run: plugin-bridge keygen"),
            (self.root, "cannot be read: Is a directory"),
        ):
            error = self.assertRaises(CommandError, chosen_key, path)
            self.assertEqual(str(error)[-len(why) :], why)
