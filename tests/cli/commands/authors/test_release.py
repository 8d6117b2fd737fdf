"""``plugin-bridge release``; ``tests/e2e/test_commands.py`` has the real check."""

import json
import os
from pathlib import Path
from unittest import mock

from bridge.cli.authoring import releases
from bridge.cli.authoring.checker import Outcome, Report, StepResult
from bridge.cli.terminal import CommandError
from bridge.plugins.tree.tree import key_id, public_key_of, read_tree, verify_tree

from ...repository import AUTHOR, clone
from .test_sign import HOST, MANIFEST, NOW, SEED, SignTestCase


def report(outcome: Outcome) -> Report:
    """Make the report of a check."""
    step = StepResult("policy", outcome, "policy: 1 hit")
    ok = outcome is Outcome.OK
    return Report(ok, outcome, "vrcnext", "demo", "1.2.3", None, [step], [], None, [])


class ReleaseTestCase(SignTestCase):
    def setUp(self):
        super().setUp()
        self.patch(os, "environ", {"PATH": os.environ["PATH"], **AUTHOR})
        self.outcome: Outcome | None = Outcome.OK
        self.checked: list[str] = []
        self.manifest = json.dumps(MANIFEST, indent=2) + "\n"
        self.write("plugin.json", self.manifest)
        self.commit()

    def version(self) -> str:
        """Return the version that the work tree has."""
        return str(json.loads((self.plugin / "plugin.json").read_text())["version"])

    def check(self, *_):
        """Check the plugin, or so it seems."""
        self.checked.append(self.version())
        if self.outcome is None:
            raise KeyboardInterrupt
        return report(self.outcome)

    def release(self, version: str, *arguments: str) -> tuple[int, str, str]:
        named = arguments or ("--key", str(self.key))
        with (
            mock.patch("time.time", return_value=self.now + 0.9),
            mock.patch("bridge.cli.commands.authors.release.check_plugin", self.check),
        ):
            return self.run_main("release", *named, str(self.plugin), version)

    def assert_released(self, wanted: str, version: str) -> str:
        """A release is committed, tagged and signed; return the output."""
        out = self.done(self.release(wanted))
        self.assertEqual(self.version(), version)
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.assertEqual(self.git("log", "-1", "--format=%s"), f"Release {version}")
        self.assertEqual(
            self.git("rev-parse", f"v{version}^{{commit}}"),
            self.git("rev-parse", "HEAD"),
        )
        self.assertEqual(self.git("cat-file", "-t", f"v{version}"), "tag")
        signed = verify_tree(read_tree(self.plugin), "demo", HOST, NOW + 1)
        self.assertEqual(signed.public_key, public_key_of(SEED))
        return out

    def assert_not_released(self, words: str, version: str, *arguments: str) -> None:
        """A release fails with one line, and changes nothing."""
        before = self.state()
        self.assert_fails(words, self.release(version, *arguments))
        self.assertEqual(self.state(), before)

    def state(self) -> list[str]:
        """Return all that a release could change."""
        return [
            self.git("for-each-ref"),
            self.git("status", "--porcelain"),
            (self.plugin / "plugin.json").read_text(),
        ]


class ReleaseTests(ReleaseTestCase):
    def test_nothing_new(self):
        """A release that is finished is reported again, and nothing is changed."""
        self.assert_released("patch", "1.2.4")
        before = self.state()
        for wanted in ("patch", "1.2.4"):
            out = self.assert_released(wanted, "1.2.4")
            self.assertIn("is released  demo 1.2.4\n", out)
            self.assertIn("remote add origin URL\n", out)
            self.assertIn("push --atomic", out)
        self.assertEqual(self.state(), before)
        self.assertEqual(len(self.checked), 1)

    def test_another_part(self):
        """After a release that is finished, another part is another release."""
        self.git("tag", "v1.2.3")  # is no release: nothing is signed
        for wanted, version in (
            *(("patch", "1.2.4"), ("minor", "1.3.0"), ("1.9.9", "1.9.9")),
            *(("major", "2.0.0"), ("major", "2.0.0"), ("patch", "2.0.1")),
        ):
            self.assert_released(wanted, version)

    def test_json(self):
        """With ``--json`` it is one object, and so is a refusal."""
        named = ("--json", "--key", str(self.key))
        self.outcome = Outcome.REFUSED
        status, out, _ = self.release("1.2.3", *named)
        self.assertEqual(status, 1)
        self.assertIn("did not pass", json.loads(out)["error"]["message"])
        self.outcome = Outcome.OK
        out = self.done(self.release("1.2.3", *named))
        push = ["git", "-C", str(self.plugin), "push", "--atomic", "origin"]
        self.assertEqual(
            json.loads(out),
            {
                "id": "demo",
                "version": "1.2.3",
                "keyId": key_id(public_key_of(SEED)),
                "tag": "v1.2.3",
                "push": [*push, "main", "v1.2.3"],
            },
        )

    def test_remote(self):
        """The repository that the branch follows is the one to push to."""
        self.git("remote", "add", "mine", "https://example.org/x.git")
        out = self.assert_released("patch", "1.2.4")
        self.assertIn("main, if it is the default branch:\n", out)
        self.assertIn("push --atomic mine main v1.2.4\n", out)
        self.assertNotIn("remote add", out)
        self.git("remote", "add", "origin", "https://example.org/y.git")
        self.assertIn("push --atomic origin main", self.release("patch")[1])
        self.git("config", "branch.main.remote", "mine")
        for default, words in (("main", "you push main:"), ("next", "next, the")):
            head = f"refs/remotes/mine/{default}"
            self.git("symbolic-ref", "refs/remotes/mine/HEAD", head)
            self.git("update-ref", head, "HEAD")
            out = self.release("patch")[1]
            self.assertIn("push --atomic mine main", out)
            self.assertIn(f"Users get it when {words}", out)

    def test_attack_remote_with_control_codes(self):
        """Its name is shown with visible characters only."""
        for key, text in (("branch.main.remote", "a\x1bb"), ("remote.a\x1bb.url", "x")):
            self.git("config", key, text)
        self.assertIn("push --atomic ab main", self.assert_released("patch", "1.2.4"))

    def test_line_endings(self):
        """What a clone gets is signed, whatever the files are here."""
        self.write(".gitattributes", "* text=auto eol=crlf\n")
        self.commit()
        self.write("plugin.json", self.manifest.replace("\n", "\r\n"))
        self.git("add", "--renormalize", ".")
        self.done(self.release("patch"))
        self.assertIn(b"\r\n", (self.plugin / "plugin.json").read_bytes())
        made = clone(self.plugin, self.root / "clone")
        verify_tree(read_tree(made), "demo", HOST, NOW + 1)

    def test_pre_release(self):
        """The release of a pre-release is the next version."""
        for version, part, wanted in (
            ("1.0.0-rc.1+b", "patch", "1.0.0"),
            ("1.0.0-rc.1", "major", "1.0.0"),
            ("1.2.0-rc.1", "major", "2.0.0"),
            ("1.2.3-rc-1", "minor", "1.3.0"),
            ("1.2.3-rc-1", "patch", "1.2.3"),
            ("1.2.3+b", "patch", "1.2.4"),
            ("0.9.9", "minor", "0.10.0"),
        ):
            self.assertEqual(releases._raised(version, part), wanted)


class RefusedTests(ReleaseTestCase):
    def test_not_newer(self):
        """A version has to be newer than the last one that was signed."""
        self.assert_released("1.3.0", "1.3.0")
        self.commit()
        for version in ("1.2.9", "1.3.0"):
            self.assert_not_released(f"{version} is not newer than 1.3.0", version)
        self.write("plugin.json", self.manifest.replace("1.2.3", "1.5.0"))
        self.commit()
        self.assert_not_released("1.4.0 is lower than 1.5.0 in plugin.json", "1.4.0")
        self.git("tag", "v1.6.0", "HEAD~1")
        self.assert_not_released("the tag v1.6.0 exists already", "1.6.0")
        # By hand, without a release in between.
        self.git("commit", "--amend", "--message", "Release 1.5.0")
        self.assert_released("1.5.0", "1.5.0")

    def test_no_version(self):
        """A version obeys the rule of the host, and the message does not repeat it."""
        for version in ("Zq9", "1.0", "1.2.3-rc.1"):
            self.assert_not_released("a version is N.N.N, numbers", version)
        options = ("--host=reference", "--key", str(self.key))
        self.assert_not_released("a version is SemVer 2, or one of", "Zq9", *options)

    def test_dirty(self):
        """Nothing may be left uncommitted."""
        self.write("plugin.json", self.manifest.replace("Demo", "Other"))
        self.assert_not_released("not committed: plugin.json; a clone", "patch")

    def test_no_key(self):
        """Without a key, nothing is begun."""
        self.assert_not_released("there is no key file", "patch", "--key", "/no/key")
        self.key.rename(self.plugin / "key")
        self.commit()
        where = str(self.plugin / "key")
        self.assert_not_released(
            "is one of the plugin's files", "patch", "--key", where
        )

    def test_another_key(self):
        """Each user will be asked about a key that is another than last time."""
        first = key_id(public_key_of(SEED))
        self.assertNotIn("new key", self.assert_released("patch", "1.2.4"))
        self.key.write_text(f"{'02' * 32}\n")
        out = self.done(self.release("minor"))
        self.assertIn(f"new key      the last release has {first}, so each user", out)
        self.assertNotIn("new key", self.done(self.release("major")))

    def test_clock_behind(self):
        """What users would refuse as older than they have is not signed."""
        self.assert_released("patch", "1.2.4")
        self.now -= 1
        words = "clock says 2026-09-21T14:13:19Z, but the last signed commit was signed"
        self.assert_not_released(f"{words} at 2026-09-21T14:13:20Z, ", "minor")
        self.assert_fails(words, self.sign())
        self.key.write_text(f"{'02' * 32}\n")  # users compare with the same key's
        self.done(self.sign())
        self.key.write_text(f"{SEED.hex()}\n")
        (self.plugin / "plugin.sig").unlink()
        self.commit()
        self.assert_released("minor", "1.3.0")

    def test_check(self):
        """What the check refuses is not released; its report is printed."""
        for outcome, status in ((Outcome.REFUSED, 1), (Outcome.NOT_DONE, 4)):
            self.outcome = outcome
            before = self.state()
            found, out, err = self.release("patch")
            self.assertEqual(found, status)
            self.assertIn("policy: 1 hit", out)
            self.assertIn("the check did not pass; nothing was committed", err)
            self.assertEqual(self.state(), before)
            self.assertEqual(self.checked[-1], "1.2.4")

    def test_no_repository(self):
        """A repository needs a commit, a branch and a manifest."""
        self.git("checkout", "--quiet", "--detach")
        self.assert_not_released("no branch is checked out", "patch")
        self.git("checkout", "--quiet", "main")
        self.git("rm", "--quiet", "plugin.json")
        self.commit()
        self.assert_fails("plugin.json is not committed", self.release("patch"))
        self.write("plugin.json", "{}")
        self.commit()
        self.assert_not_released("the manifest breaks a rule: ", "patch")
        self.plugin = self.root / "empty"
        self.plugin.mkdir()
        self.assert_fails("is not the", self.release("patch"))
        self.git("init", "--quiet")
        self.assert_fails(f"run: git -C {self.plugin} add", self.release("patch"))

    def test_unwritable(self):
        """A failure of the disk is one line, which names the files."""
        why = "plugin.json, plugin.sig or a temporary file cannot be used: No space"
        full = OSError(28, "No space left on device")
        where = "bridge.cli.authoring.worktree.write_atomically"
        with mock.patch(where, side_effect=full):
            self.assert_fails(why, self.release("patch"))
        self.assert_released("patch", "1.2.4")


class InterruptedTests(ReleaseTestCase):
    def interrupt(self, step: str) -> None:
        original = releases.git

        def fail(root, *arguments, **more):
            if arguments[0] == step and more:
                raise CommandError(f"git {step} failed: x")
            return original(root, *arguments, **more)

        with mock.patch.object(releases, "git", fail):
            self.assert_fails(f"git {step} failed: x", self.release("patch"))

    def hook(self, script: str) -> Path:
        """Have git run a script before each commit."""
        hook = self.plugin / ".git" / "hooks" / "pre-commit"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(script)
        hook.chmod(0o755)
        return hook

    def test_between_any_steps(self):
        """Whatever was done, the rest is done, and the version is raised once."""
        for step, version in (("add", "1.2.4"), ("commit", "1.2.5"), ("tag", "1.2.6")):
            self.write("main.ts", f"export default {version[-1]}\n")
            self.commit()
            self.interrupt(step)
            self.assert_released("patch" if step != "tag" else version, version)

    def test_another_key_after_its_tag_failed(self):
        """That each user will be asked about the key is said when it is released."""
        self.assert_released("patch", "1.2.4")
        self.key.write_text(f"{'02' * 32}\n")
        self.write("main.ts", "export default 2\n")
        self.commit()
        self.interrupt("tag")
        # As a hook may have written it.
        self.git("commit", "--amend", "--message", "[main] Release 1.2.5")
        self.assertIn("new key", self.done(self.release("patch")))
        self.assertEqual(self.version(), "1.2.5")

    def test_by_the_user(self):
        """Ctrl-C during the check leaves the version as it was."""
        self.outcome = None
        self.assertEqual(self.release("patch")[0], 130)
        self.assertEqual(self.version(), "1.2.3")

    def test_killed_during_the_check(self):
        """The raised version that a kill leaves is recognized."""
        self.write("plugin.json", self.manifest.replace("1.2.3", "1.2.4"))
        self.write("plugin.sig", "half of a")
        self.assert_not_released("not committed: plugin.json", "2.0.0")
        self.assert_released("patch", "1.2.4")

    def test_hook_that_refuses_silently(self):
        """What git does not explain is named by its exit status."""
        hook = self.hook("#!/bin/sh\nexit 3\n")
        self.assert_fails("git commit failed: exit status 1", self.release("patch"))
        hook.unlink()
        self.assert_released("patch", "1.2.4")

    def test_attack_hook_that_changes_the_commit(self):
        """What a hook adds was not signed, so it is not tagged."""
        self.hook("#!/bin/sh\necho evil >>main.ts\ngit add main.ts\n")
        for _ in range(2):
            self.assert_fails("nothing was tagged, because", self.release("patch"))
            self.assertEqual(self.git("tag"), "")
