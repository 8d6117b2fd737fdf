"""Builds with the real bundler: what is published, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from unittest import mock

from twisted.internet import reactor
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from bridge.lock import acquire_directory
from bridge.protocol.wire import unstructure

from ..directories import fresh_directory
from ..npm import ROOT
from .workshop import HOST, SlowClock, Workshop

SECRET = "hunter2-secret"


class BuildCase(TestCase):
    """A data directory with one plugin, ``aa``."""

    def setUp(self):
        """Make it."""
        self.shop = Workshop(fresh_directory(self)).fill()
        self.shop.plugin("aa")

    async def refusal(self, *ids: str) -> str:
        """Build, expect a refusal, and give it."""
        report = await self.shop.build(*(ids or ("aa",)))
        self.assertFalse(report.ok)
        self.assertEqual(len(report.errors), 1, report.errors)
        return report.errors[0]

    async def attack(self, error: str) -> None:
        """The build is refused with this text, and what was published stays."""
        good = HOST.replace("COMPILED_PLUGINS, ", "")
        host = (self.shop.data.root / "host/packages/host/src/index.ts").read_text()
        self.shop.write("host/packages/host/src/index.ts", good)
        report = await self.shop.build()
        self.assertTrue(report.ok, report.errors)
        self.shop.write("host/packages/host/src/index.ts", host)
        before = self.shop.published()
        self.assertEqual(await self.refusal(), error)
        self.assertEqual(self.shop.published(), before)


class LinkedTests(BuildCase):
    """A build with a linked tree in it."""

    async def test_linked(self):
        """A linked tree is compiled under its plugin's id, and the bundle says so."""
        self.shop.plugin("bb")
        (self.shop.data.plugin("bb")).rename(self.shop.data.linked("bb"))
        report = await self.shop.build("aa", ".tmp-dev-bb")
        self.assertEqual((report.errors, report.plugins), ([], ["aa", "bb"]))
        published = self.shop.published()
        self.assertIn(b'console.log("bb")', published["reference-host.js"])
        info = json.loads(published["info.json"])
        self.assertEqual((info["plugins"], info["dev"]), (["aa", "bb"], ["bb"]))

    async def test_attack_shadowed_tree(self):
        """A linked tree can't reach the installed one that it stands for."""
        self.shop.plugin("bb")
        source = 'import x from "../bb/main";\nexport default x;\n'
        self.shop.write("plugins/.tmp-dev-bb/main.ts", source)
        self.shop.write("plugins/.tmp-dev-bb/plugin.json", '{"id": "bb"}')
        report = await self.shop.build("aa", ".tmp-dev-bb")
        self.assertFalse(report.ok)
        self.assertIn("plugins/bb/main.ts", report.errors[0])


class PublishingTests(BuildCase):
    """A build that succeeds."""

    async def test_two_plugins(self):
        """The bundle, its map and its description are published, and nothing else."""
        self.shop.plugin("bb")
        report = await self.shop.build("bb", "aa", "bb")
        self.assertEqual(report.errors, [])
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
            '{\n  "author": "plugin-bridge",\n  "version": "1.2.3",\n'
            f'  "sha256": "{sha256(script).hexdigest()}",\n'
            '  "plugins": [\n    "aa",\n    "bb"\n  ]\n}\n',
        )
        self.assertEqual(self.shop.warnings, [])

    async def test_the_source_map_names_no_place_on_this_machine(self):
        """Its sources are relative to the data directory."""
        await self.shop.build("aa")
        made = json.loads(self.shop.map.read_bytes())
        self.assertEqual(
            sorted(made["sources"]),
            [
                "build/static-plugins.ts",
                "host/packages/api/src/index.ts",
                "host/packages/host/src/index.ts",
                "plugins/aa/main.ts",
                "plugins/aa/plugin.json",
            ],
        )
        self.assertEqual(len(made["sourcesContent"]), 5)

    async def test_no_plugins(self):
        """A bundle without plugins is a bundle."""
        report = await self.shop.build()
        self.assertTrue(report.ok)
        self.assertEqual(
            (self.shop.data.build / "static-plugins.ts").read_text(),
            "// Generated by plugin-bridge. Do not edit.\n"
            "export const COMPILED_PLUGINS = [] as const;\n",
        )

    async def test_the_report_on_the_wire(self):
        """A report is spelled as the page reads it."""
        report = unstructure(await self.shop.build("aa"))
        self.assertGreaterEqual(report.pop("durationMs"), 0)
        self.assertEqual(report, {"ok": True, "plugins": ["aa"], "errors": []})

    async def test_reproducible(self):
        """Other directories, reached through a link, give the same bytes."""
        other = Workshop(fresh_directory(self) / "sp ace #%é" / "deeper")
        other.root.mkdir(parents=True)
        (other.root / "real").mkdir()
        (other.root / "data").symlink_to(other.root / "real")
        other.fill().plugin("aa")
        for shop in (self.shop, other):
            shop.write("plugins/aa/ü %20 x.ts", "export default 1;")
            shop.write(
                "plugins/aa/main.ts",
                b"\xef\xbb\xbfimport x from './\xc3\xbc %20 x.js'; export default x;",
            )
            report = await shop.build("aa")
            self.assertEqual(report.errors, [])
        self.assertEqual(self.shop.published(), other.published())

    async def test_warnings(self):
        """What the bundler complains about in a good bundle is passed on."""
        self.shop.plugin("aa", main__ts="export default import.meta.url;")
        report = await self.shop.build("aa")
        self.assertTrue(report.ok)
        self.assertIn("import.meta", self.shop.warnings[0])

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
        self.shop.write(
            f"{root}/i.js.map",
            '{"version": 3, "sources": ["i.ts"], "sourcesContent": ["let it"],'
            '"mappings": "AAAA", "names": []}',
        )
        self.shop.write(
            "host/packages/host/src/index.ts", 'import x from "pk"; console.log(x);'
        )
        report = await self.shop.build()
        self.assertEqual(report.errors, [])
        made = json.loads(self.shop.map.read_bytes())
        at = made["sources"].index("host/node_modules/pk/i.ts")
        self.assertIsNone(made["sourcesContent"][at])

    async def test_stale_staging_is_removed(self):
        """What an interrupted build left behind is gone after the next."""
        (self.shop.folder / ".build-1" / "x").mkdir(parents=True)
        (self.shop.folder / ".build-2").write_text("x")
        self.assertTrue((await self.shop.build("aa")).ok)
        self.assertEqual(len(self.shop.published()), 3)

    async def test_two_daemons_with_one_theme_directory(self):
        """A build waits until another daemon's has ended, and then publishes."""
        self.shop.folder.mkdir(parents=True)
        other = acquire_directory(self.shop.folder)
        building = self.shop.build("aa")
        await deferLater(reactor, 0.3)
        self.assertEqual(list(self.shop.folder.iterdir()), [])
        self.assertFalse(building.called)
        other.release()
        self.assertTrue((await building).ok)

    async def test_another_build_without_end(self):
        """It does not wait for ever, and can be cancelled while it waits."""
        self.shop.folder.mkdir(parents=True)
        other = acquire_directory(self.shop.folder)
        self.addCleanup(other.release)
        building = self.shop.build("aa")
        building.cancel()
        await self.assertFailure(building, CancelledError)
        with mock.patch("bridge.plugins.build.BUILD_SECONDS", 0.0):
            self.assertEqual(
                await self.refusal(),
                "another daemon builds into the same theme directory",
            )

    async def test_a_broken_tsconfig_of_a_plugin(self):
        """A plugin's own tsconfig.json has no say in the build."""
        self.shop.plugin("aa", tsconfig__json="{ this is no JSON")
        self.assertTrue((await self.shop.build("aa")).ok)

    async def test_the_reference_host(self):
        """Our own host and its sample plugin build."""
        reference = ROOT / "bridge" / "reference"
        for source, to in (
            (reference / "packages", "host/packages"),
            (reference / "sample-plugin", "plugins/hello-bridge"),
        ):
            for path in source.rglob("*"):
                if path.is_file():
                    inside = path.relative_to(source).as_posix()
                    self.shop.write(f"{to}/{inside}", path.read_bytes())
        report = await self.shop.build("hello-bridge")
        self.assertEqual(report.errors, [])


class AttackTests(BuildCase):
    """Plugins that reach for what is not theirs."""

    async def test_attack_import_of_the_state_file(self):
        """A plugin can't bundle the daemon's state."""
        self.shop.write("state.json", f'{{"a": "{SECRET}"}}')
        self.shop.plugin(
            "aa", main__ts="import s from '../../state.json'; export default s;"
        )
        await self.attack(
            "the bundle may not include state.json; only the host, the generated table "
            "and the bundled plugins' own files"
        )

    async def test_attack_quoting_the_token_in_an_error(self):
        """What the bundler can't read of a file it was led to is not told."""
        token = "7d0f0bncl3FULVh3l1wEHWEJVe8q5aMvmcOyVJTjndc"
        self.shop.write("token", token)
        self.shop.plugin(
            "aa",
            main__ts="import s from './lib'; export default s;",
        )
        self.shop.write("plugins/aa/lib/package.json", '{"main": "../../../token"}')
        report = await self.shop.build("aa")
        self.assertFalse(report.ok)
        self.assertIn("is not quoted here", report.errors[0])
        for piece in (token, token[4:14], "7d0f"):
            self.assertNotIn(piece, str(report.errors))

    async def test_attack_browser_map_to_the_token(self):
        """A package.json can't turn an innocent import into the token."""
        self.shop.write("token.txt", SECRET)
        self.shop.plugin(
            "aa",
            main__ts="import s from './n.txt'; export default s;",
            n__txt="nothing",
            package__json='{"browser": {"./n.txt": "../../token.txt"}}',
        )
        await self.attack(
            "the bundle may not include token.txt; only the host, the generated table "
            "and the bundled plugins' own files"
        )

    async def test_attack_package_main_outside(self):
        """A package.json can't point a directory's import out of the plugin."""
        self.shop.write("evil.ts", "export default 1;")
        self.shop.plugin("aa", main__ts="import s from './sub'; export default s;")
        self.shop.write("plugins/aa/sub/package.json", '{"main": "../../../evil.ts"}')
        self.assertIn("may not include evil.ts", await self.refusal())

    async def test_attack_tsconfig_paths(self):
        """A plugin's tsconfig.json can't give a name to a file outside."""
        self.shop.write("state.json", f'{{"a": "{SECRET}"}}')
        self.shop.plugin(
            "aa",
            main__ts="import s from '@state'; export default s;",
            tsconfig__json='{"compilerOptions": {"baseUrl": ".", "paths": '
            '{"@state": ["../../state.json"]}}}',
        )
        error = await self.refusal()
        self.assertIn('Could not resolve "@state"', error)
        self.assertFalse(self.shop.bundle.exists())

    async def test_attack_source_map_of_a_secret(self):
        """A sourceMappingURL can't bring a file from outside into the map."""
        secret = '{"version": 3, "sources": ["x"], "sourcesContent": ["%s"],'
        self.shop.write(
            "secret.json", secret % SECRET + '"mappings": "AAAA", "names": []}'
        )
        self.shop.plugin(
            "aa",
            main__ts="export default 1;\n//# sourceMappingURL=../../secret.json\n",
        )
        await self.attack(
            "the source map holds a source that is no part of the bundle: "
            "plugins/aa/main.ts has a sourceMappingURL comment"
        )

    async def test_attack_source_map_that_names_its_own_file(self):
        """Nor by a map that says the secret is the plugin's own main.ts."""
        self.shop.write(
            "plugins/aa/main.ts.map",
            '{"version": 3, "sources": ["main.ts"], "mappings": "AAAA", "names": [],'
            f'"sourcesContent": ["{SECRET}"]}}',
        )
        self.shop.write(
            "plugins/aa/main.ts",
            "export default 1;\n//# sourceMappingURL=main.ts.map\n",
        )
        await self.attack(
            "plugins/aa/main.ts differs from what the source map says it is; a "
            "sourceMappingURL comment can do that"
        )

    async def test_attack_inline_source_map(self):
        """Nor by a map in a data: URL."""
        self.shop.write(
            "plugins/aa/main.ts",
            "export default 1;\n//# sourceMappingURL=data:application/json,"
            '{"version":3,"sources":["../../../etc/passwd"],"sourcesContent":["x"],'
            '"mappings":"AAAA","names":[]}\n',
        )
        self.assertIn("has a sourceMappingURL comment", await self.refusal())

    async def test_attack_data_url(self):
        """Code in a data: URL, which no scan has seen, is refused."""
        self.shop.plugin(
            "aa",
            main__ts="import s from 'data:text/javascript,export default 1';"
            "export default s;",
        )
        error = await self.refusal()
        self.assertIn("the bundle may not include a data: URL", error)

    async def test_attack_remote_module(self):
        """An import of a URL, which the bundler leaves in place, is refused."""
        self.shop.plugin(
            "aa",
            main__ts="import s from 'https://x.example/s.js'; export default s;",
        )
        self.assertEqual(
            await self.refusal(), "plugins/aa/main.ts imports what is not in the bundle"
        )

    async def test_attack_another_plugins_file(self):
        """A plugin can't reach into another one of the same bundle."""
        self.shop.plugin("bb")
        self.shop.plugin(
            "aa", main__ts="import s from '../bb/main.ts'; export default s;"
        )
        self.assertEqual(
            await self.refusal("aa", "bb"),
            "plugins/aa/main.ts may not import plugins/bb/main.ts",
        )

    async def test_attack_plugin_that_is_not_in_this_build(self):
        """A plugin can't bring in one that was left out."""
        self.shop.plugin("bb")
        self.shop.plugin(
            "aa", main__ts="import s from '../bb/main.ts'; export default s;"
        )
        self.assertIn("may not include plugins/bb/main.ts", await self.refusal("aa"))

    async def test_attack_host_internals(self):
        """A plugin can't import what the host keeps to itself."""
        self.shop.write("host/packages/host/src/gate.ts", "export const open = true;")
        self.shop.plugin(
            "aa",
            main__ts="import * as s from '../../host/packages/host/src/gate.ts';"
            "export default s;",
        )
        self.assertEqual(
            await self.refusal(),
            "plugins/aa/main.ts may not import host/packages/host/src/gate.ts",
        )

    async def test_attack_packages_of_the_host(self):
        """A plugin can't import a package of the host."""
        self.shop.write("host/node_modules/pk/index.js", "export default 1;")
        self.shop.plugin(
            "aa",
            main__ts="import s from '../../host/node_modules/pk/index.js';"
            "export default s;",
        )
        self.assertIn("may not import host/node_modules", await self.refusal())

    async def test_attack_api_that_imports_the_host(self):
        """The API's own sources reach nothing of the host."""
        self.shop.write(
            "host/packages/api/src/index.ts",
            "export * from '../../host/src/gate.ts'; export const definePlugin = 1;",
        )
        self.shop.write("host/packages/host/src/gate.ts", "export const open = true;")
        self.assertEqual(
            await self.refusal(),
            "host/packages/api/src/index.ts may not import "
            "host/packages/host/src/gate.ts",
        )

    async def test_attack_test_file(self):
        """A test file, which no scan has seen, is refused."""
        self.shop.plugin("aa", main__ts="import s from './a.test.js'; export default s")
        self.shop.write("plugins/aa/a.test.ts", "export default 1;")
        self.assertEqual(
            await self.refusal(),
            "plugins/aa/a.test.ts is a test file; nothing may import one",
        )

    async def test_attack_test_file_behind_a_query(self):
        """Not even when a query hides its name."""
        self.shop.plugin(
            "aa", main__ts="import s from './a.test.ts?x/y'; export default s"
        )
        self.shop.write("plugins/aa/a.test.ts", "export default 1;")
        self.assertIn("with a query or a fragment", await self.refusal())

    async def test_attack_tooling_without_its_ending(self):
        """A tool's file, which no scan has seen, is refused however it is named."""
        self.shop.plugin(
            "aa", main__ts="import s from './eslint.config'; export default s"
        )
        self.shop.write("plugins/aa/eslint.config.js", "export default 1;")
        self.assertIn("is a tool's file", await self.refusal())

    async def test_attack_git_directory(self):
        """What is in .git is neither scanned nor signed, and refused."""
        self.shop.plugin("aa", main__ts="import s from './.git/x'; export default s")
        self.shop.write("plugins/aa/.git/x.ts", "export default 1;")
        self.assertIn("plugins/aa/.git/x.ts is git's", await self.refusal())

    async def test_attack_symbolic_link(self):
        """A link out of the plugin shows where it leads, and is refused."""
        self.shop.write("state.json", f'{{"a": "{SECRET}"}}')
        self.shop.plugin("aa", main__ts="import s from './s.json'; export default s")
        (self.shop.data.plugin("aa") / "s.json").symlink_to("../../state.json")
        self.assertIn("may not include state.json", await self.refusal())

    async def test_style_sheet(self):
        """A style sheet, which would be a file beside the bundle, is refused."""
        self.shop.plugin("aa", main__ts="import './a.css'; export default 1")
        self.shop.write("plugins/aa/a.css", "a { color: red }")
        await self.attack(
            "the bundler wrote reference-host.css beside the bundle; a bundle is one "
            "script, and nothing it imports may make further files"
        )

    async def test_source_that_is_not_utf8(self):
        """A source the bundler would mend silently is refused."""
        self.shop.write("plugins/aa/main.ts", b'export default "\xff";')
        self.assertEqual(await self.refusal(), "plugins/aa/main.ts is not UTF-8")

    async def test_a_plugin_that_does_not_compile(self):
        """The error is the bundler's own words, without control characters."""
        self.shop.write("plugins/aa/main.ts", "export default (\x1b[31m;")
        error = await self.refusal()
        self.assertTrue(error.startswith("esbuild failed:\n"), error)
        self.assertIn("plugins/aa/main.ts:1", error)
        self.assertNotIn("\x1b", error)
        self.assertNotIn("\r", error)


class MissingTests(BuildCase):
    """A data directory in which something is missing, and how it is told."""

    async def test_what_is_missing(self):
        """The error names what is missing and the command that brings it."""
        for path, what in (
            ("bin/esbuild", "bundler missing"),
            ("bin/esbuild.sha256", "bundler checksum missing"),
            ("host/packages/host/src/index.ts", "host sources missing"),
            ("host/packages/api/src/index.ts", "host sources missing"),
        ):
            with self.subTest(path=path):
                file = self.shop.data.root / path
                away = file.rename(file.with_suffix(".away"))
                self.assertEqual(
                    await self.refusal(),
                    f"{what}: there is no {path}; run plugin-bridge setup",
                )
                away.rename(file)
        self.assertFalse(self.shop.theme_dir.exists())

    async def test_attack_tampered_bundler(self):
        """A bundler that is not the one of the checksum never runs."""
        witness = self.shop.root / "ran"
        (self.shop.data.bin / "esbuild").write_text(f"#!/bin/sh\ntouch {witness}\n")
        self.assertEqual(
            await self.refusal(),
            "esbuild checksum mismatch: bin/esbuild is not what bin/esbuild.sha256 "
            "says, so it was not run; run plugin-bridge setup",
        )
        self.assertFalse(witness.exists())
        self.assertEqual(self.shop.published(), {})

    async def test_attack_bundler_swapped_between_hash_and_run(self):
        """What runs is what was hashed, whatever the file is by then."""
        witness = self.shop.root / "ran"

        class Swapping(SlowClock):
            def spawnProcess(clock, *args, **kwargs):  # noqa: N805
                path = self.shop.data.bin / "esbuild"
                path.unlink()
                path.write_text(f"#!/bin/sh\ntouch {witness}\n")
                path.chmod(0o755)
                return super().spawnProcess(*args, **kwargs)

        report = await self.shop.builder(Swapping()).build(["aa"])
        self.assertEqual(report.errors, [])
        self.assertFalse(witness.exists())

    async def test_upper_case_checksum(self):
        """The checksum file may be upper-case and name the file, as tools write it."""
        path = self.shop.data.bin / "esbuild.sha256"
        path.write_text(f"{path.read_text().strip().upper()}  esbuild\n")
        self.assertTrue((await self.shop.build("aa")).ok)


class BundlerEndTests(BuildCase):
    """Bundlers that misbehave: scripts, with their right checksums."""

    async def test_attack_that_hangs(self):
        """It is killed at the deadline, with the child it started."""
        self.shop.replace_bundler(
            "#!/bin/sh\n"
            f"sleep 600 & echo $! > {self.shop.root}/child\n"
            f"echo $$ > {self.shop.root}/leader\nwait\n"
        )
        clock = SlowClock()
        building = self.shop.builder(clock).build(["aa"])
        await self._until_written("leader")
        clock.advance(60)
        report = await building
        self.assertEqual(report.errors, ["esbuild did not finish within 60s"])
        self.assertEqual(report.duration_ms, 60000)
        self.assertEqual(self.shop.published(), {})
        await self._until_dead("leader", "child")

    async def test_attack_child_that_holds_the_terminal(self):
        """A child that left the session can't make the build wait for it."""
        self.shop.replace_bundler(
            f"#!/bin/sh\nsetsid sleep 600 &\necho $! > {self.shop.root}/child\n"
            f"sleep 0.2\necho $$ > {self.shop.root}/leader\n"
        )
        clock = SlowClock()
        building = self.shop.builder(clock).build(["aa"])
        await self._until_written("leader")
        self.addCleanup(os.kill, self._pid("child"), signal.SIGKILL)
        await self._until_dead("leader")
        self.assertNoResult(building)
        clock.advance(60)
        self.assertEqual((await building).errors, ["esbuild did not finish within 60s"])

    async def test_attack_megabytes_of_output(self):
        """What it says is cut at 4000 characters."""
        self.shop.replace_bundler(
            f"#!{sys.executable} -IS\nprint('ü' * 3000000)\nraise SystemExit(1)\n"
        )
        error = await self.refusal()
        self.assertEqual(error, "esbuild failed:\n" + "ü" * 4000)

    async def test_silent_failure(self):
        """A bundler that says nothing is told by its exit status or signal."""
        self.shop.replace_bundler("#!/bin/sh\nexit 7\n")
        self.assertEqual(await self.refusal(), "esbuild failed:\nexit status 7")
        self.shop.replace_bundler("#!/bin/sh\nkill -SEGV $$\n")
        self.assertEqual(await self.refusal(), "esbuild failed:\nended by signal 11")

    async def test_it_gets_nothing_of_the_daemon(self):
        """Its environment is empty, its directory the data directory."""
        self.shop.replace_bundler(
            f"#!{sys.executable} -IS\nimport os\n"
            "env = [name for name in os.environ if name != 'LC_CTYPE']\n"
            "print(env, os.getcwd(), sorted(map(int, os.listdir('/proc/self/fd')))[:3])"
            "\nraise SystemExit(1)\n"
        )
        error = await self.refusal()
        self.assertEqual(
            error, f"esbuild failed:\n[] {self.shop.data.root.resolve()} [0, 1, 2]"
        )

    async def test_metafile_missing(self):
        """A bundler that writes nothing gives an error, not a bundle."""
        self.shop.replace_bundler("#!/bin/sh\nexit 0\n")
        self.assertEqual(
            await self.refusal(),
            "the bundle could not be made: No such file or directory",
        )

    async def test_attack_metafile_without_inputs(self):
        """A metafile that names no inputs is refused."""
        self.shop.replace_bundler(
            "#!/bin/sh\n"
            'for a; do case $a in --metafile=*) echo "{}" > "${a#*=}";; esac; done\n'
        )
        self.assertEqual(await self.refusal(), "the bundler's metafile names no inputs")

    async def test_a_file_too_large(self):
        """A metafile of any size is not read."""
        self.shop.replace_bundler(
            "#!/bin/sh\nfor a; do case $a in "
            '--metafile=*) truncate -s 1G "${a#*=}";; esac; done\n'
        )
        self.assertEqual(
            await self.refusal(), "the bundle or its map is over 67108864 bytes"
        )

    async def test_it_cannot_be_started(self):
        """A system that can't start a process gives an error."""

        class Full(SlowClock):
            def spawnProcess(self, *args, **kwargs):
                raise OSError(11, "Resource temporarily unavailable")

        report = await self.shop.builder(Full()).build(["aa"])
        self.assertEqual(
            report.errors,
            ["esbuild could not be started: Resource temporarily unavailable"],
        )

    async def test_cancelled(self):
        """A cancelled build ends when the bundler is dead and nothing is left."""
        self.shop.replace_bundler(
            f"#!/bin/sh\necho $$ > {self.shop.root}/leader\nexec sleep 600\n"
        )
        building = self.shop.build("aa")
        await self._until_written("leader")
        building.cancel()
        with self.assertRaises(CancelledError):
            await building
        self.assertEqual(self.shop.published(), {})
        await self._until_dead("leader")

    async def test_cancelled_while_a_thread_works(self):
        """A build cancelled in a thread's work ends when that has ended."""
        begun: Deferred[None] = Deferred()
        go_on: Deferred[None] = Deferred()

        async def late(work, *args):
            if not begun.called:
                begun.callback(None)
            await go_on
            return await deferToThread(work, *args)

        def defer(work, *args):
            return Deferred.fromCoroutine(late(work, *args))

        building = self.shop.builder(defer_to_thread=defer).build(["aa"])
        await begun
        building.cancel()
        self.assertNoResult(building)
        go_on.callback(None)
        with self.assertRaises(CancelledError):
            await building
        self.assertEqual(self.shop.published(), {})

    async def test_it_dies_with_the_daemon(self):
        """A daemon that is killed takes the real bundler with it."""
        os.mkfifo(self.shop.data.root / "host/packages/host/src/hang.ts")
        self.shop.write("host/packages/host/src/index.ts", "import './hang.ts'")
        script = (
            "import sys; from pathlib import Path\n"
            "from twisted.internet import reactor\n"
            "from tests.plugins.workshop import Workshop\n"
            "Workshop(Path(sys.argv[1])).build()\n"
            "reactor.run()\n"
        )
        with subprocess.Popen(
            [sys.executable, "-c", script, str(self.shop.root)], cwd=ROOT
        ) as daemon:
            leader = await self._child_of(daemon.pid)
            (self.shop.root / "leader").write_text(str(leader))
            daemon.kill()
        await self._until_dead("leader")

    async def _child_of(self, parent: int) -> int:
        children = f"/proc/{parent}/task/{parent}/children"
        for _ in range(200):
            await deferLater(reactor, 0.05)
            with open(children) as file:
                pids = file.read().split()
            # Not between fork and exec: then it is the daemon's twin.
            if pids and os.path.realpath(f"/proc/{pids[0]}/exe").startswith("/memfd:"):
                await deferLater(reactor, 0.1)
                return int(pids[0])
        raise AssertionError("the bundler never started")

    def _pid(self, name: str) -> int:
        return int((self.shop.root / name).read_text())

    async def _until_written(self, name: str) -> None:
        path = self.shop.root / name
        for _ in range(200):
            if path.exists() and path.read_text().endswith("\n"):
                return
            await deferLater(reactor, 0.05)
        raise AssertionError("the bundler never started")

    async def _until_dead(self, *names: str) -> None:
        """Processes end a moment after they are killed."""
        deadline = time.monotonic() + 10
        for name in names:
            while _alive(self._pid(name)):
                self.assertLess(time.monotonic(), deadline, f"{name} is alive")
                await deferLater(reactor, 0.02)


def _alive(pid: int) -> bool:
    """Whether it runs; one that nobody has reaped does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class FullDiskTests(BuildCase):
    """Storage that fails."""

    async def test_renames_that_fail(self):
        """Whichever rename fails, all of the previous bundle stays."""
        await self.shop.build()
        before = self.shop.published()
        real = os.replace
        for name in ("info.json", "reference-host.js.map", "reference-host.js"):

            def replace(source, to, name=name):
                if str(source).endswith(f"/{name}"):
                    raise OSError(28, "No space left on device")
                real(source, to)

            with self.subTest(name=name):
                with mock.patch("bridge.plugins.staging.os.replace", replace):
                    error = await self.refusal("aa")
                self.assertEqual(
                    error, "the bundle could not be made: No space left on device"
                )
                self.assertEqual(self.shop.published(), before)

    async def test_rename_that_fails_at_the_first_build(self):
        """When there was no bundle, nothing of the failed one is left."""
        real = os.replace

        def replace(source, to):
            if str(source).endswith("/reference-host.js"):
                raise OSError(28, "No space left on device")
            real(source, to)

        with mock.patch("bridge.plugins.staging.os.replace", replace):
            await self.refusal("aa")
        self.assertEqual(self.shop.published(), {})

    async def test_writes_that_fail(self):
        """A full disk before publishing leaves the previous bundle."""
        await self.shop.build()
        before = self.shop.published()
        with mock.patch("bridge.plugins.staging.os.fsync", side_effect=OSError(28, "")):
            self.assertEqual(
                await self.refusal(), "the bundle could not be made: I/O error"
            )
        self.assertEqual(self.shop.published(), before)

    async def test_theme_directory_that_is_a_file(self):
        """A theme directory that can't be made is told."""
        self.shop.theme_dir.write_text("")
        self.assertEqual(
            await self.refusal(), "the bundle could not be made: Not a directory"
        )
