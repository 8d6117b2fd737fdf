"""Builds after builds: what of the last one is used again, and what never is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from unittest import mock

from bridge.plugins.bundle import build as build_module
from bridge.plugins.bundle.build import Builder, Report
from bridge.plugins.bundle.confinement.alone import Confinement

from ...directories import planted
from .workshop import MAIN, BuildCase


class RebuildingCase(BuildCase):
    """A builder that builds more than once, and what it bundles alone."""

    def setUp(self):
        """Make a second plugin, and a builder."""
        super().setUp()
        self.shop.plugin("bb")
        self.builder: Builder = self.shop.builder()
        self.alone: list[list[str]] = []
        real = build_module.own_arguments

        def own_arguments(profile, directories, staging):
            self.alone.append(list(directories))
            return real(profile, directories, staging)

        self.patch(build_module, "own_arguments", own_arguments)

    async def build(self, *directories: str) -> Report:
        """Build these, or both."""
        trees = {name: self.shop.tree(name) for name in directories or ("aa", "bb")}
        self.alone.clear()
        return await self.builder.build(lambda: trees)

    async def good(self, *directories: str) -> list[list[str]]:
        """Build without an error; return what was bundled alone, run by run."""
        report = await self.build(*directories)
        self.assertEqual(report.errors, [])
        return list(self.alone)

    @property
    def bound(self) -> Path:
        """Where plugins are that were bound."""
        return self.shop.data.root / "build" / "bound"


class ReuseTests(RebuildingCase):
    """What is used again."""

    async def test_same_bundle(self):
        """Trees that stay the same are bound once, and the bundle is the same."""
        self.assertEqual(await self.good(), [["aa", "bb"]])
        first = self.shop.published()
        self.assertEqual(await self.good(), [])
        self.assertEqual(self.shop.published(), first)

    async def test_one_that_changes(self):
        """Only a tree that is another one is bound again."""
        await self.good()
        self.shop.write("plugins/aa/main.ts", MAIN.replace("MARK", "later"))
        self.assertEqual(await self.good(), [["aa"]])
        self.assertIn(b"later", self.shop.bundle.read_bytes())
        self.assertNotIn(b'log("aa")', self.shop.bundle.read_bytes())

    async def test_manifest_that_changes(self):
        """A manifest decides what the scope holds, so it is part of the tree."""
        self.shop.write("plugins/aa/main.ts", "export default [document];")
        await self.good()
        self.shop.write("plugins/aa/plugin.json", '{"id": "aa", "dom": true}')
        self.assertEqual(await self.good(), [["aa"]])
        self.assertIn("page.document", (self.bound / "aa" / "scope.js").read_text())

    async def test_fewer_and_more(self):
        """What is not in a build is gone, and bound again when it comes back."""
        await self.good()
        self.assertEqual(await self.good("bb"), [])
        self.assertEqual([path.name for path in self.bound.iterdir()], ["bb"])
        self.assertNotIn(b'log("aa")', self.shop.bundle.read_bytes())
        self.assertEqual(await self.good(), [["aa"]])

    async def test_another_bundler(self):
        """What another bundler has made is not used."""
        await self.good()
        binary = self.shop.data.bin / "esbuild"
        binary.write_bytes(binary.read_bytes() + b"\0")
        self.shop.sign_bundler()
        self.assertEqual(await self.good(), [["aa", "bb"]])

    async def test_after_a_failure(self):
        """A build that fails leaves nothing to be used."""
        await self.good()
        self.shop.write("plugins/aa/main.ts", "import './nothing';")
        self.assertFalse((await self.build()).ok)
        self.shop.plugin("aa")
        self.assertEqual(await self.good(), [["aa", "bb"]])


class AttackTests(RebuildingCase):
    """What somebody does to the files between two builds, or during one."""

    async def test_attack_files_between_builds(self):
        """Bound files that are changed, replaced, removed or joined by others go."""
        main, outside = self.bound / "aa" / "main.js", self.shop.root / "outside"

        def replace() -> None:
            main.rename(outside)
            main.symlink_to(outside)

        def redirect() -> None:
            main.parent.rename(outside)
            main.parent.symlink_to(outside)

        for change in (
            lambda: main.write_text("export default secret;"),
            lambda: (self.bound / "aa" / "scope.js").write_text("export {};"),
            lambda: (self.bound / "aa" / "package.json").write_text("{}"),
            (self.bound / "aa" / "x").mkdir,
            lambda: main.parent.chmod(0o777),
            lambda: main.chmod(0o666),
            lambda: planted(self, main),
            lambda: planted(self, self.bound / "aa" / "@api.js"),
            main.unlink,
            replace,
            redirect,
        ):
            await self.good()
            before = self.shop.published()
            change()
            self.assertEqual(await self.good(), [["aa"]])
            self.assertEqual(self.shop.published(), before)
            self.assertFalse(main.is_symlink() or main.parent.is_symlink())
            self.assertEqual(main.parent.stat().st_mode & 0o022, 0)
            if outside.is_file():
                outside.unlink()

    async def test_attack_files_next_to_it(self):
        """Whatever else is put there is removed."""
        await self.good()
        (self.bound / "package.json").write_text('{"sideEffects": false}')
        (self.bound / "cc").mkdir()
        (self.bound / "dd").symlink_to(self.shop.data.plugins)
        self.assertEqual(await self.good(), [])
        self.assertEqual(
            sorted(path.name for path in self.bound.iterdir()), ["aa", "bb"]
        )
        self.assertTrue((self.shop.data.plugins / "aa" / "main.ts").exists())

    async def test_attack_opened_during_the_build(self):
        """Where others can write while the bundler reads, its bundle is refused."""
        real = Confinement.prepare
        for change in (
            lambda: self.bound.chmod(0o777),
            lambda: (self.bound / "aa").chmod(0o777),
            lambda: (self.bound / "aa" / "main.js").chmod(0o666),
            lambda: self.write_package(self.bound),
            lambda: self.write_package(self.bound / "aa"),
        ):
            await self.good()

            def prepare(confinement, bundler, change=change):
                real(confinement, bundler)
                change()

            with mock.patch.object(Confinement, "prepare", prepare):
                [error] = (await self.build()).errors
            self.assertIn("was changed during the build", error)

    def write_package(self, folder: Path) -> None:
        """Write what the bundler reads of a directory, for others to change."""
        (folder / "package.json").write_text("{}")
        (folder / "package.json").chmod(0o666)

    async def test_attack_package_above(self):
        """A package of another user's, wherever above, is not used."""
        for folder in (self.shop.data.root, self.shop.data.root.parent):
            package = folder / "package.json"
            package.write_text('{"sideEffects": false}')
            planted(self, package)
            [error] = (await self.build()).errors
            self.assertTrue(error.startswith(f"{package} "), error)
            package.unlink()
        await self.good()

    async def test_attack_package_that_unbinds(self):
        """A package above replaces no bound plugin, and does not drop the prelude."""
        await self.good()
        published = self.shop.published()
        for package in (
            {"sideEffects": False},
            {"browser": {"./build/freeze.js": False}},
            {"browser": {"./build/bound/aa/scope.js": False}},
            {"browser": {"./build/bound/aa/main.js": "./plugins/aa/main.ts"}},
        ):
            self.shop.write("package.json", json.dumps(package))
            await self.good()
            self.assertEqual(self.shop.published(), published, package)

    async def test_attack_directory_open_to_others(self):
        """All is bound again where others could have written."""
        await self.good()
        self.bound.chmod(0o777)
        self.assertEqual(await self.good(), [["aa", "bb"]])
        self.assertEqual(self.bound.stat().st_mode & 0o022, 0)

    async def test_attack_directory_elsewhere(self):
        """A link in the place of all of it is not followed."""
        await self.good()
        self.bound.rename(self.shop.root / "elsewhere")
        self.bound.symlink_to(self.shop.root / "elsewhere")
        self.assertEqual(await self.good(), [["aa", "bb"]])
        self.assertFalse(self.bound.is_symlink())
        self.assertEqual(len(list((self.shop.root / "elsewhere").iterdir())), 2)

    async def test_file_in_its_place(self):
        """A file in the place of the directory is removed."""
        self.bound.parent.mkdir(exist_ok=True)
        self.bound.write_text("")
        self.assertEqual(await self.good(), [["aa", "bb"]])

    async def test_private(self):
        """Nobody else can read or write what is bound, whatever the umask is."""
        self.addCleanup(os.umask, os.umask(0))
        await self.good()
        modes = {path.stat().st_mode & 0o777 for path in self.bound.glob("*/*")}
        self.assertEqual(modes, {0o600})

    async def test_attack_source_open_to_others(self):
        """The files of a plugin that is bound in this build are checked."""
        for name in ("main.ts", "plugin.json"):
            path = self.shop.data.plugins / "aa" / name
            path.chmod(0o666)
            [error] = (await self.build("aa")).errors
            self.assertIn(f"{path} can be written by other users", error)
            path.chmod(0o644)

    async def test_attack_changed_while_used(self):
        """A bound file that changes after it was checked is not published."""
        await self.good()
        real = Confinement.prepare

        def prepare(confinement, bundler):
            real(confinement, bundler)
            self.shop.write("build/bound/aa/main.js", "export default secret;")

        with mock.patch.object(Confinement, "prepare", prepare):
            report = await self.build()
        self.assertEqual(
            report.errors, ["build/bound/aa/main.js was changed during the build"]
        )
        self.assertEqual(await self.good(), [["aa", "bb"]])

    async def test_attack_other_tree_than_verified(self):
        """
        What was bound from another tree than the verified one is never used for it.

        An exchange of trees during a build does this without any attack.
        """
        verified = self.shop.tree("aa")
        self.shop.write("plugins/aa/main.ts", MAIN.replace("MARK", "another"))
        report = await self.builder.build(lambda: {"aa": verified})
        self.assertEqual(report.errors, [])
        self.shop.plugin("aa")
        self.assertEqual(await self.good("aa"), [["aa"]])
        self.assertNotIn(b"another", self.shop.bundle.read_bytes())

    async def test_attack_other_manifest_than_verified(self):
        """A manifest that is exchanged while its tree is bound grants nothing."""
        self.shop.write("plugins/aa/main.ts", "export default [document];")
        path = self.shop.data.plugins / "aa" / "plugin.json"
        verified = path.read_text()
        real = Confinement.bind

        def bind(confinement, bindings):
            path.write_text('{"id": "aa", "dom": true}')
            real(confinement, bindings)
            path.write_text(verified)

        with mock.patch.object(Confinement, "bind", bind):
            await self.good()
        self.assertEqual(await self.good(), [])
        scope = (self.bound / "aa" / "scope.js").read_text()
        self.assertNotIn("document", scope)

    async def test_attack_tree_that_cannot_be_verified_again(self):
        """What was bound from a tree that no digest fits is not kept, either."""
        verified = self.shop.tree("aa")
        link = self.shop.data.plugins / "aa" / "link"
        link.symlink_to("main.ts")
        report = await self.builder.build(lambda: {"aa": verified})
        self.assertEqual(report.errors, [])
        link.unlink()
        self.assertEqual(await self.good("aa"), [["aa"]])

    async def test_attack_source_changed_after_it_was_verified(self):
        """What is used again is what was verified, in the bundle and in its map."""
        await self.good()
        published = self.shop.published()
        verified = {name: self.shop.tree(name) for name in ("aa", "bb")}
        self.shop.write("plugins/aa/main.ts", MAIN.replace("MARK", "another"))
        report = await self.builder.build(lambda: verified)
        self.assertEqual((report.errors, self.shop.published()), ([], published))
