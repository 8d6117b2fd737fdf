"""Builds with the real bundler: what is published, and what is refused."""

import gc
import json
import os
import re
import shutil
import sys
from hashlib import sha256
from itertools import product
from unittest import mock

from attrs import evolve
from twisted.internet import reactor
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock, deferLater

from bridge import __version__
from bridge.plugins.bundle import build, bundling, metafile
from bridge.protocol import limits
from bridge.settings.host import load_profile
from bridge.system.locks import acquire_directory

from ...directories import fresh_directory, planted
from ...threads import Threads
from ...waiting import until
from .workshop import SLOPPY, BuildCase, Workshop

SECRET = "hunter2-secret"
_MAP = '{"version":3,"sources":["%s"],"sourcesContent":["%s"],"mappings":"AAAA"}'


def importing(what: str) -> str:
    """Write a module that imports something, and exports it."""
    return f"import s from '{what}'; export default s;"


def mapped_by(url: str) -> str:
    """Write a module that says where its source map is."""
    return f"export default 1;\n//# sourceMappingURL={url}\n"


OUTSIDE = {
    "token.txt": SECRET,
    "token": SECRET,
    "token.js": SECRET,
    "state.json": f'{{"a": "{SECRET}"}}',
    "evil.ts": "export default 1;",
    "secret.json": _MAP % ("x", SECRET),
}
"""What is not the plugin's: files of the data directory, and what they hold."""

_MAY_NOT = "plugins/aa/main.ts:1 may not import "
_OWN = (
    "; a bundle holds only the host, the generated table and the bundled plugins' "
    "own files"
)
_FOREIGN_MAP = (
    "the source map holds a source that is no part of the bundle: "
    "plugins/aa/main.ts has a sourceMappingURL comment"
)
LEADING_OUT = {
    "the daemon's state": (
        {"main.ts": importing("../../state.json")},
        f"{_MAY_NOT}state.json{_OWN}",
    ),
    "a package.json that names another file for one of its own": (
        {
            "main.ts": importing("./n.txt"),
            "n.txt": "nothing",
            "package.json": '{"browser": {"./n.txt": "../../token.txt"}}',
        },
        f"{_MAY_NOT}token.txt{_OWN}",
    ),
    **{
        f"a package.json of a directory that names {what}": (
            {
                "main.ts": importing("./lib"),
                "lib/package.json": f'{{"main": "../../../{path}"}}',
            },
            f"{_MAY_NOT}{path};",
        )
        for what, path in (
            ("a source", "evil.ts"),
            ("what is no source", "token"),
            ("what would not compile", "token.js"),
        )
    },
    "a tsconfig.json that names a file": (
        {
            "main.ts": importing("@state"),
            "tsconfig.json": '{"compilerOptions": {"baseUrl": ".", "paths": '
            '{"@state": ["../../state.json"]}}}',
        },
        'esbuild failed:\nplugins/aa/main.ts:1:14: Could not resolve "@state", '
        "which is neither the host's API nor in the plugin",
    ),
    "a source map outside": ({"main.ts": mapped_by("../../secret.json")}, _FOREIGN_MAP),
    "a source map in a data: URL": (
        {
            "main.ts": mapped_by(
                "data:application/json," + _MAP % ("../../../etc/passwd", "x")
            )
        },
        _FOREIGN_MAP,
    ),
    "code in a data: URL, which no scan has seen": (
        {"main.ts": importing("data:text/javascript,export default 1")},
        f"{_MAY_NOT}a data: URL;",
    ),
    "a test file behind a query": (
        {"main.ts": importing("./a.test.ts?x/y"), "a.test.ts": "export default 1;"},
        f"{_MAY_NOT}plugins/aa/a.test.ts?x/y, with a query or a fragment",
    ),
    "sloppy code, which no scan has seen and no page could read": (
        {"main.ts": importing("./a"), "a.js": f"exports.b =\n{SLOPPY}"},
        'esbuild failed:\nplugins/aa/a.js:2: "a" cannot be bound multiple times',
    ),
}
"""Files of a plugin that lead to others, or are wrong; and how its refusal begins."""


class LinkedTests(BuildCase):
    async def test_attack_shadowed_tree(self):
        """A linked tree can't reach the installed one that it stands for."""
        self.shop.plugin("bb")
        source = 'import x from "../bb/main";\nexport default x;\n'
        self.shop.write("plugins/.tmp-dev-bb/main.ts", source)
        self.shop.write("plugins/.tmp-dev-bb/plugin.json", '{"id": "bb"}')
        report = await self.shop.build("aa", ".tmp-dev-bb")
        self.assertFalse(report.ok)
        self.assertIn("plugins/bb/main.ts", report.errors[0])


class SloppyTests(BuildCase):
    async def test_made_strict(self):
        """Sloppy code that the bundler writes as strict code is in the bundle."""
        self.shop.write("plugins/aa/main.ts", importing("./a"))
        for code in (
            "#!/bin/node\nexports.a = () => 010;",
            r"exports.a = () => '\033[0m';",
            "exports.a = function (interface) { if (a) function g() {} };",
        ):
            self.shop.write("plugins/aa/a.js", code)
            report = await self.built("aa")
            self.assertEqual((report.plugins, report.errors), (["aa"], []), code)


class PublishingTests(BuildCase):
    async def test_two_plugins(self):
        """
        The bundle, its map and its description are published, and nothing else.

        A linked tree is compiled under its plugin's id, which the description names.
        """
        linked = self.shop.data.plugins / ".tmp-dev-bb"
        self.shop.plugin("bb")
        self.shop.data.plugin("bb").rename(linked)
        report = await self.built(linked.name, "aa")
        self.assertTrue(report.ok)
        self.assertEqual(report.plugins, ["aa", "bb"])
        published = self.shop.published()
        self.assertEqual(
            sorted(published),
            ["info.json", "reference-host.js", "reference-host.js.map"],
        )
        script = published["reference-host.js"]
        self.assertIn(b'console.log("bb")', script)
        self.assertTrue(
            script.endswith(b"//# sourceMappingURL=reference-host.js.map\n")
        )
        self.assertEqual(
            published["info.json"].decode(),
            '{\n  "author": "plugin-bridge",\n'
            f'  "version": "{__version__}",\n'
            f'  "sha256": "{sha256(script).hexdigest()}",\n'
            f'  "mapSha256": "{sha256(self.shop.map.read_bytes()).hexdigest()}",\n'
            '  "plugins": [\n    "aa",\n    "bb"\n  ],\n'
            '  "dev": [\n    "bb"\n  ]\n}\n',
        )
        self.assertEqual(self.shop.warnings, [])
        sources = json.loads(self.shop.map.read_bytes())["sources"]
        # None of them names a place on this machine.
        expected = ["build/static-plugins.ts", "host/packages/api/src/index.ts"]
        expected.append("host/packages/host/src/index.ts")
        for name in (linked.name, "aa"):
            expected += [f"plugins/{name}/main.ts", f"plugins/{name}/plugin.json"]
        self.assertEqual(sorted(sources), expected)

    async def test_reproducible(self):
        """Other directories, reached through a link, give the same bytes."""
        other = Workshop(fresh_directory(self) / "sp ace #%é" / "deeper")
        other.root.mkdir(parents=True)
        (other.root / "real").mkdir()
        (other.root / "data").symlink_to(other.root / "real")
        other.fill().plugin("aa")
        main = b"\xef\xbb\xbfimport x from './\xc3\xbc %20 x.js'; export default x;"
        for plugins in ("modules", "texts"):
            for shop in (self.shop, other):
                shop.profile = evolve(shop.profile, plugins=plugins)
                shop.write("host/packages/host/src/realm/runtime.ts", "export {};\n")
                shop.write("plugins/aa/ü %20 x.ts", "export default 1;")
                shop.write("plugins/aa/main.ts", main)
                report = await shop.build("aa")
                self.assertEqual(report.errors, [])
            self.assertEqual(self.shop.published(), other.published())

    async def test_warnings(self):
        """What the bundler warns of in a good bundle is passed on."""
        self.shop.plugin("aa", main__ts="export default import.meta.url;")
        self.shop.write("host/packages/host/src/realm/runtime.ts", "export {};\n")
        for plugins in ("modules", "texts"):
            self.shop.profile = evolve(self.shop.profile, plugins=plugins)
            report = await self.shop.build("aa")
            self.assertTrue(report.ok)
            self.assertIn("import.meta", self.shop.warnings.pop())

    async def test_advice(self):
        """What the bundler refuses has its place and what its author can do."""
        self.shop.write("plugins/aa/i.svg", "<svg/>")
        for source, words in (
            (
                importing("./i.svg"),
                "14: a .svg file cannot be imported, only .ts, .mts, .cts, .tsx, .js, "
                ".mjs, .cjs, .jsx, .json, .txt",
            ),
            (
                "await 1;",
                "0: await cannot be used at the top level; use it in activate",
            ),
        ):
            self.shop.plugin("aa", main__ts=source)
            lines = f"plugins/aa/main.ts:1:{words}\n    {source}"
            self.assertEqual(await self.refusal(), f"esbuild failed:\n{lines}")

    async def test_packages_of_the_host(self):
        """The host may use packages, and these may have maps and leave modules out."""
        root = "host/node_modules/pk"
        self.shop.write(
            f"{root}/package.json",
            '{"main": "i.js", "browser": {"fs": false, "./z.js": false}}',
        )
        self.shop.write(
            f"{root}/i.js",
            "import fs from 'fs'; import './z.js'; export default [4, fs];\n"
            "//# sourceMappingURL=i.js.map\n",
        )
        self.shop.write(f"{root}/z.js", "")
        self.shop.write(f"{root}/i.js.map", _MAP % ("i.ts", "let it"))
        self.shop.write(
            "host/packages/host/src/index.ts", 'import x from "pk"; console.log(x);'
        )
        await self.built()
        made = json.loads(self.shop.map.read_bytes())
        at = made["sources"].index("host/node_modules/pk/i.ts")
        self.assertIsNone(made["sourcesContent"][at])

    async def test_attack_changed_while_it_waits(self):
        """What is built was verified after the other daemon's build, not before."""
        self.shop.folder.mkdir(parents=True)
        self.shop.plugin("bb")
        other = acquire_directory(self.shop.folder)
        sound, verified = self.shop.trees("aa", "bb"), []

        def verify():
            verified.append(list(sound))
            # An operation was moving trees; others can build meanwhile.
            return (sound, {}) if verified[1:] else None

        self.patch(build, "_PATIENCE_SECONDS", 9.0)
        building = Deferred.fromCoroutine(self.shop.builder().build(verify))
        await deferLater(reactor, 0.3)
        del sound["aa"]
        other.release()
        self.assertEqual((await building).plugins, ["bb"])
        self.assertEqual(verified, [["bb"], ["bb"]])

    async def test_another_build_without_end(self):
        """It does not wait for ever, and can be cancelled while it waits."""
        self.shop.folder.mkdir(parents=True)
        self.addCleanup(acquire_directory(self.shop.folder).release)
        building = self.shop.build("aa")
        building.cancel()
        await self.assertFailure(building, CancelledError)
        with mock.patch("bridge.plugins.bundle.build._PATIENCE_SECONDS", 0.0):
            why = "another build, or an operation, has been running for 0 s"
            self.assertEqual(await self.refusal(), why)


class SwappedTests(BuildCase):
    """Files that change between their verification and the end of a build."""

    def build(self, change):
        """Build; the change comes right after the verification."""
        builder = self.shop.builder()

        def verify():
            trees = self.shop.trees("aa")
            change()
            return trees, {}

        return builder.build(verify)

    async def test_attack_swapped_after_it_was_verified(self):
        """What was verified is what is published, whatever is on the disk by then."""
        self.shop.write("state.json", SECRET)
        main = self.shop.data.plugin("aa") / "main.ts"

        def link():
            main.unlink()
            main.symlink_to("../../state.json")

        good = (await self.shop.build("aa")).errors, self.shop.published()
        for change in (
            lambda: main.write_text("export default 'SWAPPED';"),
            lambda: main.write_text("export default ("),
        ):
            report = await self.build(change)
            self.assertEqual((report.errors, self.shop.published()), good)
            self.shop.plugin("aa")
        for removal, words in (
            # A link shows where it leads.
            (link, "may not import state.json"),
            (main.unlink, "esbuild failed:"),
        ):
            [error] = (await self.build(removal)).errors
            self.assertIn(words, error)
            self.assertNotIn(SECRET, error)
            self.assertEqual(self.shop.published(), good[1])
            main.unlink(missing_ok=True)
            self.shop.plugin("aa")

    async def test_attack_added_after_it_was_verified(self):
        """A file that came later is not in the bundle, though an import leads there."""
        self.shop.write("plugins/aa/x.js", "export default 1;")
        self.shop.plugin("aa", main__ts="import x from './x'; export default x;")
        later = self.shop.data.plugin("aa") / "x.ts"
        report = await self.build(lambda: later.write_text("export default 'L';"))
        self.assertEqual(
            report.errors,
            [
                "plugins/aa/main.ts:1 may not import plugins/aa/x.ts, which was not "
                "there when the plugin was verified"
            ],
        )

    async def test_attack_package_swapped(self):
        """Nor does a package lead elsewhere that is not the verified one."""
        self.shop.write("plugins/aa/x.ts", "export default 1;")
        self.shop.write("plugins/aa/y.ts", "export default 2;")
        self.shop.plugin("aa", main__ts="import x from './x'; export default x;")
        package = self.shop.data.plugin("aa") / "package.json"
        swapped = '{"browser": {"./x.ts": "./y.ts"}}'
        report = await self.build(lambda: package.write_text(swapped))
        self.assertEqual(
            report.errors, ["plugins/aa/package.json was changed during the build"]
        )


class AttackTests(BuildCase):
    """Plugins that reach for what is not theirs."""

    async def test_attack_files_that_are_not_its_own(self):
        """Whatever leads to another file is refused, and what was published stays."""
        self.assertTrue((await self.shop.build()).ok)
        before = self.shop.published()
        self.shop.plugin("bb")
        for path, content in OUTSIDE.items():
            self.shop.write(path, content)
        for case, (files, words) in LEADING_OUT.items():
            shutil.rmtree(self.shop.data.plugin("aa"))
            self.shop.plugin("aa")
            for name, content in files.items():
                self.shop.write(f"plugins/aa/{name}", content)
            refusal = await self.refusal()
            self.assertTrue(refusal.startswith(words), (case, refusal))
            self.assertNotIn(SECRET, refusal)
            self.assertEqual(self.shop.published(), before, case)

    async def test_attack_source_map_of_its_own(self):
        """What a file's own map calls the text of that file is published nowhere."""
        self.shop.plugin("aa", main__ts=mapped_by("main.ts.map"))
        self.shop.write("plugins/aa/main.ts.map", _MAP % ("main.ts", SECRET))
        await self.built()
        self.assertNotIn(SECRET, self.shop.map.read_text())

    async def test_attack_the_name_of_the_window(self):
        """None of ever so many imports that lead nowhere is given the window's name."""
        names = [f"a{n}" for n in range(12_000)]
        imports = ",\n".join(f"x as {name}" for name in names)
        letters = f"'{'top' * 60}'," * 600  # the most frequent ones come first
        self.shop.plugin(
            "aa",
            main__ts=f"import {{ {imports} }} from './re';\n"
            f"export default [{letters} {', '.join(f'() => {n}' for n in names)}];",
            re__ts="export { x } from './types';",
            types__ts="export type x = 1;",
        )
        await self.built()
        given = set(re.findall(rb"\(\)=>([\w$]+)", self.shop.bundle.read_bytes()))
        self.assertIn(b"tot", given)
        self.assertNotIn(b"top", given)


class MissingTests(BuildCase):
    """A data directory in which something is missing, and how it is reported."""

    async def test_what_is_missing(self):
        """The error names what is missing and the command that brings it."""
        self.shop.profile = load_profile("reference")
        self.shop.write("host/packages/host/src/realm/runtime.ts", "export {};\n")
        for path, what in (
            ("bin/esbuild", "bundler missing"),
            ("bin/esbuild.sha256", "bundler missing"),
            ("host/packages/host/src/index.ts", "host sources missing"),
            ("host/packages/api/src/index.ts", "host sources missing"),
            ("host/packages/host/src/realm/runtime.ts", "host sources missing"),
        ):
            file = self.shop.data.root / path
            away = file.rename(file.with_suffix(".away"))
            self.assertEqual(
                await self.refusal(),
                f"{what}: there is no {path}; run: plugin-bridge setup --host x",
            )
            away.rename(file)
        self.assertFalse(self.shop.theme_dir.exists())

    async def test_attack_bundler_swapped_between_hash_and_run(self):
        """What runs is what was hashed, whatever the file is by then."""
        witness, spawn = self.shop.root / "ran", reactor.spawnProcess

        def swap(*arguments):
            path = self.shop.data.bin / "esbuild"
            path.unlink()
            path.write_text(f"#!/bin/sh\ntouch {witness}\n")
            path.chmod(0o755)
            return spawn(*arguments)

        self.patch(reactor, "spawnProcess", swap)
        await self.built()
        self.assertFalse(witness.exists())


class PlantedTests(BuildCase):
    """Files that another user may have written."""

    async def test_attack_planted_inputs(self):
        """Whatever a bundle is made of was written by nobody else."""
        root = self.shop.data.root.resolve()
        self.shop.write("host/packages/host/package.json", "{}")
        for path in (
            "host/packages/host/src/index.ts",
            "host/packages/host/src",
            "host/packages/host/package.json",
            "host/packages",
            "host",
            "bin/esbuild",
            "bin/esbuild.sha256",
            "bin",
        ):
            mode = (root / path).stat().st_mode
            (root / path).chmod(mode | 0o002)
            error = await self.refusal()
            self.assertIn(f"{root}/{path} can be written by other users", error)
            top = path.partition("/")[0]
            self.assertIn(f"run: chmod -R go-w {root}/{top}", error)
            (root / path).chmod(mode)
        planted(self, root / "host/packages/api/src/index.ts")
        self.assertIn("belongs to another user", await self.refusal())

    async def test_attack_package_above(self):
        """No package of another user's, wherever above, is used, and no list of any."""
        root = self.shop.data.root.resolve()
        names = ("package.json", ".pnp.data.json", ".pnp.cjs", ".pnp.js")
        for folder, name in product((root, root.parent), names):
            package = folder / name
            package.write_text('{"sideEffects": false}')
            if name == "package.json":
                planted(self, package)
            error = await self.refusal()
            self.assertTrue(error.startswith(f"{package} "), error)
            package.unlink()

    async def test_package_above(self):
        """The user's own package in a directory above, as the home, is not used."""
        main, x = "import './x'; export default 1;", "document.title = 'x';"
        self.shop.plugin("aa", main__ts=main, x__ts=x)
        await self.built()
        usual = self.shop.published()
        above = self.shop.data.root.parent / "package.json"
        above.write_text('{"sideEffects": false, "type": "module"}')
        await self.built()
        self.assertEqual(self.shop.published(), usual)

    async def test_backslash(self):
        """Where the bundler would read other names, the reason is said."""
        self.shop = evolve(self.shop, root=fresh_directory(self) / "a\\b").fill()
        self.shop.plugin("aa")
        self.assertIn("reads each backslash in", await self.refusal())

    async def test_links(self):
        """A part of the data directory that is elsewhere is named."""
        self.shop.plugin("aa")
        for name in ("plugins", "host", "build"):
            place = self.shop.data.root / name
            moved = place.rename(place.with_name(f"{name}.elsewhere"))
            place.symlink_to(moved)
            self.assertIn(f"{place} is a symbolic link", await self.refusal())
            place.unlink()
            moved.rename(place)


class BundlerEndTests(BuildCase):
    """Bundlers that misbehave; that none is left then, ``test_conversation`` has."""

    async def test_attack_that_hangs(self):
        """It is killed at the deadline."""
        clock = Clock()
        clock.spawnProcess = reactor.spawnProcess
        self.shop.put_bundler(b"#!/bin/sh\nexec sleep 600\n")
        building = self.shop.build("aa", on=clock)
        # Its deadline.
        await until(clock.getDelayedCalls, "the bundler never started")
        clock.advance(60)
        report = await building
        self.assertEqual(report.errors, ["esbuild did not finish within 60s"])
        self.assertEqual(report.duration_ms, 60000)
        self.assertEqual(self.shop.published(), {})

    async def test_attack_megabytes_of_output(self):
        """What is more than any build needs is not read."""
        small = evolve(bundling.BUILD_LIMITS, output_bytes=100_000)
        self.patch(build, "BUILD_LIMITS", small)
        self.shop.write("plugins/aa/x.txt", "x" * 200_000)
        self.shop.plugin("aa", main__ts="import x from './x.txt'; export default x;")
        self.assertEqual(await self.refusal(), "esbuild wrote more than it may")
        self.patch(build, "BUILD_LIMITS", bundling.BUILD_LIMITS)
        for module, limit, error in (
            (limits, "BUILD_BUNDLE_BYTES", "the bundle or its map is over 1 bytes"),
            (metafile, "BUILD_METAFILE_BYTES", "the metafile is over 1 bytes"),
        ):
            with mock.patch.object(module, limit, 1):
                self.assertEqual(await self.refusal(), error)
        self.patch(limits, "BUILD_PLUGIN_BYTES", 1)
        self.assertTrue((await self.shop.build("aa")).ok)
        self.shop.needed = frozenset({"aa"})
        self.assertIn("; at most 1 are for one plugin", await self.refusal())
        self.patch(limits, "BUILD_BUNDLE_BYTES", self.shop.bundle.stat().st_size)
        self.assertIn("the bundle or its map is over ", await self.refusal())

    async def test_limits(self):
        """A bundler has them soon after it is started, and can't raise them."""
        script = (
            f"#!{sys.executable} -IS\nimport resource, sys, time\ntime.sleep(0.3)\n"
            "kinds = resource.RLIMIT_DATA, resource.RLIMIT_CPU\n"
            "print('panic:', *map(resource.getrlimit, kinds), file=sys.stderr)\n"
        )
        self.shop.put_bundler(script.encode())
        self.assertEqual(
            await self.refusal(), "esbuild crashed: (1073741824, 1073741824) (30, 30)"
        )

    async def test_another_version(self):
        """The report names the command that puts the pinned one in its place."""
        error = 'Cannot start service: Host version "0.28.2" does not match'
        self.shop.put_bundler(f"#!/bin/sh\necho '{error}' >&2; exit 1\n".encode())
        why = "bin/esbuild is not the pinned esbuild 0.28.2; run: plugin-bridge setup"
        self.assertIn(why, await self.refusal())

    async def test_cancelled_while_a_thread_works(self):
        """A build cancelled in a thread's work ends when that has ended."""

        def copies() -> int:
            gc.collect()
            opened = [os.readlink(fd.path) for fd in os.scandir("/proc/self/fd")]
            return sum("memfd:bundler" in path for path in opened)

        before, threads = copies(), Threads(slow="prepare")
        building = self.shop.build("aa", defer_to_thread=threads)
        self.assertEqual(len(threads.waiting), 1)
        building.cancel()
        self.assertNoResult(building)
        threads.go_on()
        await self.assertFailure(building, CancelledError)
        self.assertEqual(self.shop.published(), {})
        # Nor does a copy of the bundler stay.
        del building
        await deferLater(reactor, 0.01)
        self.assertLessEqual(copies(), before)


class FullDiskTests(BuildCase):
    async def test_writes_that_fail(self):
        """A full disk before publishing leaves the previous bundle."""
        await self.shop.build()
        before = self.shop.published()
        for why, said in (((), "I/O error"), (("Full", "/d/x"), "Full (/d/x)")):
            full = OSError(28, *why)
            with mock.patch("bridge.system.files.os.fsync", side_effect=full):
                refusal = await self.refusal()
            self.assertEqual(refusal, f"the bundle could not be made: {said}")
            self.assertEqual(self.shop.published(), before)
