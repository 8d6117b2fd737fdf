"""
A plugin's repository, and the releases in it.

A release is one commit with the version and the signature, and a tag of its name.  Each
step can be repeated: what an interrupted release has left is recognized, and kept.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ...classes import frozen
from ...plugins.tree import manifest
from ...plugins.tree.jsontext import replace_string
from ...plugins.tree.manifest import MANIFEST_FILE
from ...plugins.tree.tree import SIGNATURE_FILE, key_id, verify_tree
from ...plugins.tree.versions import is_lower, is_plain_version, is_version
from ...protocol.errors import BridgeError
from ...protocol.text import shown
from ...settings.host import HostProfile
from ..terminal import CommandError
from . import worktree
from .programs import git, printed, typed_git

PARTS: Final = ("major", "minor", "patch")
"""Which number of the version a release can raise."""

_VERSION_FIELD: Final = "version"


@frozen
class Release:
    """
    A version that is to be released, or was.

    :ivar is_committed: Whether ``HEAD`` is its commit.
    :ivar is_tagged: Whether ``HEAD`` has its tag.
    """

    version: str
    is_committed: bool = False
    is_tagged: bool = False

    @property
    def tag(self) -> str:
        """The tag's name."""
        return f"v{self.version}"

    @property
    def subject(self) -> str:
        """The commit's message."""
        return f"Release {self.version}"


@frozen
class Repository:
    """
    A plugin's repository before a release.

    :ivar at: The commit of ``HEAD``.
    :ivar branch: The branch that is checked out.
    :ivar manifest: As it is committed.
    """

    root: Path
    profile: HostProfile
    at: str
    branch: str
    manifest: manifest.Manifest

    @classmethod
    def read(cls, root: Path, profile: HostProfile) -> Repository:
        """
        Read the state of the repository whose top is ``root``.

        :raise CommandError: It is none, or in no state for a release.
        :raise BridgeError: Its manifest breaks a rule.
        """
        if not worktree.is_work_tree(root):
            raise CommandError(f"{root} is not the top of a git work tree")
        at, branch = worktree.head(root)
        if not at:
            here = typed_git(root)
            raise CommandError(
                f"nothing is committed yet; run: {here} add --all && {here} commit"
            )
        if not branch:
            raise CommandError("no branch is checked out")
        content = _blob(root, at, MANIFEST_FILE)
        if content is None:
            raise CommandError(f"{MANIFEST_FILE} is not committed")
        return cls(root, profile, at, branch, manifest.read_manifest(content, profile))

    def signer_before(self, release: Release) -> str | None:
        """Return the fingerprint of the key that signed what users may have."""
        start = f"{self.at}^@" if release.is_committed else self.at
        last = worktree.last_signature(self.root, start)
        return key_id(last.public_key) if last else None

    def choose(self, wanted: str) -> Release:
        """
        Return what to release.

        :param wanted: A version, or one of ``PARTS``.  When ``HEAD`` is a release that
            this has led to, finished or not, it is that one: nothing is new.
        :raise CommandError: The version breaks a rule, or is not newer.
        """
        here = self._release_at_head()
        if wanted in PARTS:
            if here is not None and not (here.is_tagged and self._leads_on(wanted)):
                return here
            return self._check_newer(_raised(self.manifest.version, wanted))
        if here is not None and here.version == wanted:
            return here
        plain = self.profile.plain_versions
        if not (is_plain_version(wanted) if plain else is_version(wanted)):
            rule = "N.N.N, numbers without leading zeros" if plain else "SemVer 2"
            raise CommandError(f"a version is {rule}, or one of {', '.join(PARTS)}")
        return self._check_newer(wanted)

    def _leads_on(self, part: str) -> bool:
        """Whether raising this part leads to another release than that at ``HEAD``."""
        commits = git(self.root, "rev-list", "--max-count=2", "--first-parent", self.at)
        before = _version_at(self.root, *commits.decode().split()[1:])
        return before is not None and _raised(before, part) != self.manifest.version

    def _release_at_head(self) -> Release | None:
        release = Release(self.manifest.version)
        only = "--max-count=1", self.at, "--", SIGNATURE_FILE
        if git(self.root, "rev-list", *only).decode().strip() != self.at:
            return None  # its author has chosen the message, or made the tag
        tagged = _tagged(self.root, release.tag)
        if tagged == self.at:
            return Release(self.manifest.version, True, True)
        # A hook may have added to it.
        subject = ("log", "-1", "--format=%s", "--no-show-signature", self.at)
        if tagged is None and release.subject.encode() in git(self.root, *subject):
            return Release(self.manifest.version, True)
        return None

    def _check_newer(self, version: str) -> Release:
        release = Release(version)
        released = _version_at(self.root, worktree.last_signed(self.root))
        if released is not None and not is_lower(released, version):
            raise CommandError(
                f"{version} is not newer than {released}, which is the last "
                "version that was signed"
            )
        if is_lower(version, self.manifest.version):
            raise CommandError(
                f"{version} is lower than {self.manifest.version} in {MANIFEST_FILE}"
            )
        if _tagged(self.root, release.tag) is not None:
            raise CommandError(f"the tag {release.tag} exists already")
        return release

    @contextmanager
    def version_set(self, release: Release) -> Iterator[None]:
        """
        Write the version into the manifest of the work tree; a block that fails takes
        it back.

        :raise CommandError: Something else is not committed.
        :raise OSError: It cannot be written.
        """
        path = self.root / MANIFEST_FILE
        before = path.read_bytes()
        committed = _blob(self.root, self.at, MANIFEST_FILE) or b""
        # The line endings here need not be the committed ones.
        wanted = replace_string(committed, _VERSION_FIELD, release.version)
        known = {_lines(committed), _lines(wanted)}
        ours = {MANIFEST_FILE} if _lines(before) in known else set()
        worktree.check_clean(self.root, {SIGNATURE_FILE, *ours})
        try:
            path.write_bytes(replace_string(before, _VERSION_FIELD, release.version))
            yield
        except BaseException:
            path.write_bytes(before)
            raise

    def commit(self, release: Release, key: worktree.SigningKey) -> None:
        """
        Sign what git will commit, and commit the manifest and the signature.

        :raise CommandError: git refuses, or changes the version.
        :raise BridgeError: The manifest or the tree cannot be signed.
        :raise OSError: The signature cannot be written.
        """
        self._git("add", "--", MANIFEST_FILE)
        tree = worktree.published_tree(self.root)
        staged = manifest.read_manifest(tree.files[MANIFEST_FILE], self.profile)
        if staged.version != release.version:
            raise CommandError(f"git did not add {MANIFEST_FILE} as it is here")
        key.sign(self.root, tree, self.manifest, self.profile)
        self._git("add", "--force", "--", SIGNATURE_FILE)
        self._git("commit", "--quiet", "--message", release.subject)

    def verify_head(self) -> str:
        """
        Verify the signature of what is committed, whatever hooks and filters did.

        :return: The fingerprint of the key.
        :raise CommandError: It does not verify.
        """
        worktree.check_clean(self.root, ())
        try:
            tree = worktree.published_tree(self.root)
            plugin_id = self.manifest.id
            return verify_tree(tree, plugin_id, self.profile, time.time()).key_id
        except BridgeError as e:
            commit = worktree.head(self.root)[0][: worktree.SHORT]
            raise CommandError(
                f"nothing was tagged, because {commit} is not as it was signed; a hook "
                f"or an attribute of git may change it ({e.message})"
            ) from None

    def tag(self, release: Release) -> None:
        """
        Tag ``HEAD``.

        :raise CommandError: git refuses.
        """
        message = f"{self.manifest.name} {release.version}"
        self._git("tag", "--annotate", "--message", message, release.tag)

    def _git(self, *arguments: str) -> None:
        """Change the repository as its author would."""
        git(self.root, *arguments, as_author=True)

    def push(self, release: Release) -> list[str]:
        """Return the command that publishes a release, as its words."""
        words = ["git", "-C", str(self.root), "push", "--atomic"]
        return [*words, self.remote() or "origin", self.branch, release.tag]

    def when_users_get_it(self) -> str:
        """Return the line before the command that pushes the branch."""
        ref = f"refs/remotes/{self.remote() or 'origin'}/HEAD"
        head = git(self.root, "for-each-ref", "--format=%(symref:lstrip=3)", ref)
        default, branch = printed(head.strip()), shown(self.branch)
        if default not in ("", branch):
            return (
                f"Users get it when {default}, the default branch, has it; to push "
                f"{branch}:"
            )
        # Only a clone knows it.
        condition = "" if default else ", if it is the default branch"
        return f"Users get it when you push {branch}{condition}:"

    def remote(self) -> str | None:
        """Return the name of the repository to push to, if there is one."""
        remotes = git(self.root, "remote").decode("utf-8", "replace").split()
        key = f"branch.{self.branch}.remote"
        found = git(self.root, "config", "--default", "", "--get", key).decode()
        chosen = (found.strip(), "origin", *remotes)
        return next((shown(name) for name in chosen if name in remotes), None)


def _blob(root: Path, commit: str, name: str) -> bytes | None:
    if not git(root, "ls-tree", commit, "--", name):
        return None
    return git(root, "cat-file", "blob", f"{commit}:{name}")


def _tagged(root: Path, tag: str) -> str | None:
    """Return the commit that a tag names."""
    names = "%(objectname) %(*objectname)"
    found = git(root, "for-each-ref", f"--format={names}", f"refs/tags/{tag}").split()
    return found[-1].decode("ascii") if found else None


def _version_at(root: Path, commit: str | None = None) -> str | None:
    content = _blob(root, commit, MANIFEST_FILE) if commit else None
    if content is None:
        return None
    try:
        # The rules of another host, or of an earlier version, may have been others.
        version = manifest.read_object(content).get(_VERSION_FIELD)
    except BridgeError:
        return None
    return version if type(version) is str and is_version(version) else None


def _raised(version: str, part: str) -> str:
    """Return the next version; that of a pre-release is its release."""
    core, *more = version.partition("+")[0].split("-", 1)
    numbers = [int(number) for number in core.split(".")]
    at = PARTS.index(part)
    if more and not any(numbers[at + 1 :]):
        return core
    numbers[at:] = [numbers[at] + 1, *(0 for _ in numbers[at + 1 :])]
    return ".".join(map(str, numbers))


def _lines(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n")
