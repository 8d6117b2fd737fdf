"""Host sources: what is taken from where, and how they replace the old."""

import gzip
import io
import os
import tarfile
from pathlib import Path
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.datadir.paths import DataDir
from bridge.protocol.limits import HOST_SOURCE_BYTES
from bridge.provision.hostsources import (
    digest_of,
    install_sources,
    installed_record,
    kept_sources,
    read_sources,
    unmodified_sources,
)
from bridge.provision.npm import SetupError

from ..directories import fresh_directory, read_files, write_files

NEEDED = {"packages/api/src/index.ts": b"api", "packages/host/src/index.ts": b"host"}


def archive(files: dict[str, bytes], *more: tarfile.TarInfo, mode: str = "w") -> bytes:
    """A tar archive of these files and members."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for member in more:
            tar.addfile(member)
    return made.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """A member that is no file."""
    member = tarfile.TarInfo(name)
    member.type = kind
    member.linkname = target
    return member


class SourcesCase(SynchronousTestCase):
    def setUp(self):
        self.root = fresh_directory(self)

    def read(self, content: bytes) -> dict[str, bytes]:
        (self.root / "a.tar").write_bytes(content)
        return read_sources(self.root / "a.tar")

    def refused(self, given: bytes | Path) -> str:
        """Read it, expect a refusal, and give its words."""
        read = self.read if isinstance(given, bytes) else read_sources
        error = self.assertRaises(SetupError, read, given)
        return str(error).removeprefix("--host-sources: ")

    def write(self, files: dict[str, bytes]) -> Path:
        top = self.root / "sources"
        write_files(top, files)
        return top


class ArchiveTests(SourcesCase):
    def test_forms(self):
        """Packed or not, below a folder or not, with or without a leading dot."""
        wanted = {**NEEDED, "node_modules/pk/i.js": b"x"}
        folder = special("packages/empty", tarfile.DIRTYPE)
        for prefix in ("", "./", "host-1.2/", "./host-1.2/"):
            files = {prefix + name: content for name, content in wanted.items()}
            more = {prefix + "README.md": b"", prefix + "packages/host/.npmrc": b""}
            for mode in ("w", "w:gz"):
                given = archive({**files, **more}, folder, mode=mode)
                self.assertEqual(self.read(given), wanted, (prefix, mode))

    def test_attack_path_traversal(self):
        """A path that leaves its place refuses the archive."""
        for path in (
            "packages/../../evil",
            "packages/./evil",
            "packages//evil",
            "packages/a\\..\\b",
            "packages/a\nb",
            "packages/c:evil",
            "../packages/x",
            "/packages/x",
        ):
            reported = self.refused(archive({**NEEDED, path: b"evil"}))
            self.assertEqual(reported, "the archive has an unsafe path", path)

    def test_attack_links_and_devices(self):
        """A link or a device refuses the archive."""
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE):
            member = special("packages/evil", kind, "/etc/passwd")
            reported = self.refused(archive(NEEDED, member))
            self.assertEqual(reported, "packages/evil is a link or a device")

    def test_attack_bomb(self):
        """An archive that unpacks to more than the limit is refused."""
        bomb = gzip.compress(b"\0" * (HOST_SOURCE_BYTES + 1), 1)
        self.assertTrue(self.refused(bomb).startswith("more than "))
        given = archive(NEEDED)
        with mock.patch("bridge.provision.hostsources.HOST_SOURCE_BYTES", len(given)):
            self.assertEqual(self.read(given), NEEDED)

    def test_attack_headers(self):
        """What claims to be larger than the archive is refused, or leads back in it."""
        first, none = tarfile.TarInfo("a").tobuf(), ("neither a directory nor a tar",)
        # Newer ones of Python take a size below zero for the end of the archive.
        negative = (*none, "there is no packages/api")
        for name, size, why in (
            ("packages/evil", HOST_SOURCE_BYTES + 1, ("more than ",)),
            *(("evil", size, negative) for size in (-512, -HOST_SOURCE_BYTES)),
            ("evil", 2**80, none),
        ):
            member = tarfile.TarInfo(name)
            member.size = size
            given = first + member.tobuf(tarfile.GNU_FORMAT)
            self.assertTrue(self.refused(given).startswith(why), size)
        nested = special("evil", tarfile.XGLTYPE).tobuf() * 2_000
        self.assertTrue(self.refused(nested).startswith(none))

    def test_too_many_files(self):
        """More files than the limit are refused."""
        with mock.patch("bridge.provision.hostsources.HOST_SOURCE_FILES", 2):
            self.read(archive(NEEDED))
            reported = self.refused(archive({**NEEDED, "packages/x": b""}))
        self.assertTrue(reported.startswith("more than 2 files"))

    def test_incomplete(self):
        """Without both entry points nothing is taken."""
        for name, content in NEEDED.items():
            why = "there is no packages/api/src/index.ts and packages/host/src/index.ts"
            for given in (archive({name: content}), self.write({name: content})):
                self.assertEqual(self.refused(given), why)
            (self.root / "sources" / name).unlink()

    def test_no_archive(self):
        """What is no archive, or is cut short, is refused."""
        packed = archive(NEEDED, mode="w:gz")
        for given_bytes in (b"x" * 600, b"", packed[:-20], b"\x1f\x8bxx", packed[:12]):
            self.refused(given_bytes)
        self.assertEqual(
            self.refused(self.root / "none"),
            "cannot be read: No such file or directory",
        )


class DirectoryTests(SourcesCase):
    def test_forms(self):
        """It may be the sources, or have one folder that is."""
        wanted = {**NEEDED, "node_modules/pk/i.js": b"x"}
        hidden = ("node_modules/.bin/x", "packages/.git/x", "packages/.x", "src/x")
        top = self.write({**wanted, **dict.fromkeys(hidden, b"")})
        (top / "node_modules/.link").symlink_to("pk")
        self.assertEqual(read_sources(top), wanted)
        self.assertEqual(read_sources(top.parent), wanted)

    def test_attack_link(self):
        """A link, to a file or a directory, is refused by its name."""
        fresh = "; take a fresh clone, in which npm install was not run"
        for path, target, fix in (
            ("packages/evil", "/etc/passwd", ""),
            ("packages/evil", "/etc", ""),
            ("node_modules/@x/api", "../../packages/api", fresh),
        ):
            link = self.write(NEEDED) / path
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)
            refused = self.refused(self.root / "sources")
            self.assertEqual(refused, f"{path} is a symbolic link{fix}")
            link.unlink()

    def test_attack_pipe(self):
        """A pipe is refused; nobody waits for it."""
        top = self.write(NEEDED)
        os.mkfifo(top / "packages/evil")
        self.assertEqual(self.refused(top), "packages/evil is a device or a pipe")

    def test_attack_depth(self):
        """Folders in folders are left before they take all that Python has."""
        top = self.write({f"packages/{'a/' * 600}x": b"", **NEEDED})
        self.assertEqual(self.refused(top), "over 1024 characters deep")

    def test_attack_large_together(self):
        """So many bytes may be in all files together."""
        size = sum(map(len, NEEDED.values()))
        with mock.patch("bridge.provision.hostsources.HOST_SOURCE_BYTES", size):
            self.assertEqual(read_sources(self.write(NEEDED)), NEEDED)
            top = self.write({"packages/x": b"x"})
            self.assertTrue(self.refused(top).startswith("more than "))

    def test_unreadable(self):
        """A folder that can't be listed is reported."""
        top = self.write(NEEDED)

        def walk(root, onerror):
            onerror(PermissionError(13, "Permission denied"))
            return []

        with mock.patch("os.walk", walk):
            self.assertEqual(self.refused(top), "cannot be read: Permission denied")


class InstallingTests(SourcesCase):
    """How the old sources are replaced."""

    def setUp(self):
        super().setUp()
        self.data = DataDir(self.root)
        (self.root / "token").write_text("kept")
        install_sources(
            {**NEEDED, "packages/old.ts": b""}, self.data, "1.0", force=False
        )

    def expected(self) -> dict[str, bytes]:
        """The needed sources, their record, and what was there besides."""
        record = b'{"version":"1.0","digest":"%b","host":"","given":false}'
        return {
            "token": b"kept",
            "host/installed.json": record % digest_of(NEEDED).encode(),
            **{f"host/{path}": content for path, content in NEEDED.items()},
        }

    def test_replaced_as_a_whole(self):
        """Old files go, and all but the sources stays; the same are not written."""
        for version, force, written in (
            ("1.1", False, True),
            ("1.0", False, True),
            ("1.0", False, False),
            ("1.0", True, True),
        ):
            before = self.data.host.stat().st_ino
            done = install_sources(NEEDED, self.data, version, force=force)
            self.assertEqual(done, written)
            self.assertEqual(self.data.host.stat().st_ino != before, written)
            self.assertEqual(installed_record(self.data).version, version)
        self.assertEqual(read_files(self.root), self.expected())

    def test_not_its_own(self):
        """More than sources, which no setup has installed, is refused."""
        (self.data.host / "installed.json").rename(self.data.host / "README.md")
        before = read_files(self.root)
        with self.assertRaisesRegex(SetupError, "host is not what setup installed; "):
            install_sources(NEEDED, self.data, "1.0", force=True)
        self.assertEqual(read_files(self.root), before)

    def test_durable(self):
        """When it is done, the files and then the directory's name are on the disk."""

        def check(directory: Path) -> None:
            contents.assert_called_once()
            self.assertEqual(directory, self.data.root)
            self.assertIsNotNone(installed_record(self.data))

        name = "bridge.provision.hostsources.sync_directory"
        with (
            mock.patch("os.sync") as contents,
            mock.patch(name, side_effect=check) as synced,
        ):
            install_sources(NEEDED, self.data, "1.0", force=False)
        synced.assert_called_once()

    def test_unmodified(self):
        """What somebody changed, added or removed is replaced, and kept aside."""
        install_sources(NEEDED, self.data, "1.0", force=False)
        file = self.data.host / "packages/api/src/index.ts"
        record = self.data.host / "installed.json"
        for spoil in (
            lambda: file.write_bytes(b"mine"),
            file.with_name("mine.ts").touch,
            file.unlink,
            # A link, even if what it leads to is the same.
            lambda: file.symlink_to(file.rename(self.root / "elsewhere")),
            # As another program, and as no version, has installed them.
            record.unlink,
            lambda: record.write_text('{"version":1}'),
        ):
            self.assertEqual(unmodified_sources(self.data), NEEDED)
            spoil()
            self.assertIsNone(unmodified_sources(self.data), spoil)
            self.assertTrue(install_sources(NEEDED, self.data, "1.0", force=False))
        kept = kept_sources(self.data)
        self.assertEqual([path.name for path in kept][::5], ["host.1", "host.6"])
        self.assertEqual((kept[0] / "packages/api/src/index.ts").read_bytes(), b"mine")

    def test_killed_while_it_deletes(self):
        """What is left of the old sources is not kept as changed ones."""

        def killed(path: Path, **_: object) -> None:
            for file in path.rglob("old.ts"):
                file.unlink()
                raise KeyboardInterrupt

        with (
            mock.patch("shutil.rmtree", side_effect=killed),
            self.assertRaises(KeyboardInterrupt),
        ):
            install_sources(NEEDED, self.data, "1.0", force=False)
        install_sources(NEEDED, self.data, "1.0", force=False)
        self.assertEqual(read_files(self.root), self.expected())

    def test_attack_same_digest(self):
        """Neither a name nor where a file ends can be moved into another."""
        for one, other in (
            ({"a": b""}, {"": b"a"}),
            ({"a": b"b1:cd"}, {"a": b"b", "c": b"d"}),
            ({"a": b"b", "c": b"d"}, {"a": b"d", "c": b"b"}),
        ):
            self.assertNotEqual(digest_of(one), digest_of(other))

    def test_failures(self):
        """Wherever it fails, the old sources are there, and nothing else is left."""
        before = read_files(self.root)
        real = Path.rename
        for fails, how in (
            ("host", OSError(28, "No space left on device")),
            (".host-new", OSError(28, "No space left on device")),
            (".host-new", KeyboardInterrupt()),
        ):

            def rename(path, target, fails=fails, how=how):
                if path.name == fails:
                    raise how
                return real(path, target)

            with (
                mock.patch.object(Path, "rename", rename),
                self.assertRaises(type(how)),
            ):
                install_sources(NEEDED, self.data, "1.0", force=False)
            self.assertEqual(read_files(self.root), before)
        full = OSError(28, "No space left on device")
        with (
            mock.patch("bridge.datadir.paths.write_file", side_effect=full),
            self.assertRaises(OSError),
        ):
            install_sources(NEEDED, self.data, "1.0", force=False)
        self.assertEqual(read_files(self.root), before)

    def test_link(self):
        """A link in their place is replaced, not what it leads to, each time."""
        elsewhere = self.data.host.rename(self.root / "elsewhere")
        self.data.host.symlink_to(elsewhere)
        for version in ("1.1", "1.2"):
            install_sources(NEEDED, self.data, version, force=False)
            self.assertEqual(installed_record(self.data).version, version)
        self.assertTrue((elsewhere / "packages/old.ts").exists())

    def test_interrupted(self):
        """A setup that died half-way is completed by the next."""
        install_sources(NEEDED, self.data, "1.0", force=False)
        self.data.host.rename(self.root / ".host-old")
        (self.root / ".host-new").mkdir()
        self.assertFalse(install_sources(NEEDED, self.data, "1.0", force=False))
        self.assertEqual(read_files(self.root), self.expected())
        self.assertEqual(len(list(self.root.iterdir())), 2)
