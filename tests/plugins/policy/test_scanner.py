"""Scans as the daemon makes them: with the real reactor, threads and bundler."""

import os
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest import mock

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from bridge.plugins.esbuild.executable import (
    BINARY_NAME,
    CHECKSUM_NAME,
    BundlerError,
    Executable,
    HeldCopy,
)
from bridge.plugins.policy import reading, scan
from bridge.plugins.policy.scan import Scanner
from bridge.plugins.tree.tree import read_tree
from bridge.protocol import limits

from ...directories import fresh_directory, write_files
from ...npm import esbuild
from ...reactors import reactor


class ScannerCase(TestCase):
    timeout = 60

    def setUp(self) -> None:
        self.root = fresh_directory(self)
        self.copies: list[str] = []

    def write(self, name: str, content: str) -> None:
        write_files(self.root, {name: content})

    def bundler(self, binary: bytes) -> Path:
        """A directory with a bundler, and its checksum."""
        directory = fresh_directory(self)
        (directory / BINARY_NAME).write_bytes(binary)
        (directory / CHECKSUM_NAME).write_text(sha256(binary).hexdigest(), "ascii")
        return directory

    def scanner(self, directory: Path | None = None, *modules: str) -> Scanner:
        """What scans it with the bundler of a directory."""

        def copy() -> Executable:
            real = Executable(str(esbuild()), "mend it")
            found = HeldCopy("mend it").get(directory) if directory else real
            self.copies.append(found.path)
            return found

        return Scanner(reactor, deferToThread, copy, modules)

    async def reports(self, scanner: Scanner | None = None) -> list[str]:
        hits = await (scanner or self.scanner()).scan(read_tree(self.root))
        return [hit.report for hit in hits]

    async def error(self, scanner: Scanner) -> str:
        """Expect that the bundler cannot be used; return why."""
        with self.assertRaises(BundlerError) as caught:
            await scanner.scan(read_tree(self.root))
        return str(caught.exception)


class ScanTests(ScannerCase):
    async def test_nothing_to_read(self) -> None:
        """Without sources, no bundler is needed."""
        none = mock.Mock(side_effect=BundlerError("there is none"))
        scanner = Scanner(reactor, deferToThread, none, [])
        self.write("a.md", "eval(x)")
        self.assertEqual(await self.reports(scanner), [])
        self.write("a.ts", "eval(x)")
        self.assertEqual(await self.error(scanner), "there is none")

    async def test_verified_copy(self) -> None:
        """The bundler that runs is a verified copy, which goes in the end."""
        directory = self.bundler(esbuild().read_bytes())
        self.write("a.ts", "eval(1)")
        self.assertEqual(await self.reports(self.scanner(directory)), ["a.ts:1 eval"])
        (copy,) = self.copies
        self.assertFalse(os.path.exists(copy))

    async def test_modules(self) -> None:
        """The host's own modules may be imported."""
        self.write("a.ts", "import { a } from '/host'; a()")
        self.assertEqual(len(await self.reports()), 1)
        self.assertEqual(await self.reports(self.scanner(None, "/host")), [])

    async def test_attack_known_mark(self) -> None:
        """The mark is another one in every scan, so that no source can hold it."""
        marks: list[str] = []
        real = scan.read

        def read(bundler, source, mark: str, *others: Any, **named: Any):
            marks.append(mark)
            return real(bundler, source, mark, *others, **named)

        self.write("a.ts", "x = 1")
        with mock.patch.object(scan, "read", read):
            await self.reports()
            await self.reports()
        self.assertEqual(len(set(marks)), 2)

    async def test_attack_abandoned(self) -> None:
        """A look at millions of tokens ends with who has asked for it."""
        looking: Deferred[None] = Deferred()
        real = scan.output_hits

        def output_hits(*given: Any) -> None:
            reactor.callFromThread(looking.callback, None)
            while True:
                real(*given)

        self.write("a.ts", "x = 1")
        with mock.patch.object(scan, "output_hits", output_hits):
            scanning = Deferred.fromCoroutine(self.scanner().scan(read_tree(self.root)))
            await looking
            scanning.cancel()
            await self.assertFailure(scanning, CancelledError)


class BundlerTests(ScannerCase):
    """Bundlers that are overwhelmed; which are run, ``esbuild`` has."""

    async def test_attack_too_complex(self) -> None:
        """Of what the bundler has not read, the first file is named, and no other."""
        self.write("a.ts", "x = eval(s)")
        self.write("b.ts", "x = " + ("(" * 90 + "\n") * 12_000)
        self.write("c.ts", "x = fetch(u)")
        self.assertEqual(await self.reports(), ["b.ts:1 too complex to check"])

    async def test_attack_many_names(self) -> None:
        """One with more names than anybody writes is not read, and it is named."""
        for name in "adc":
            self.write(f"{name}.ts", "let a = 1")
        self.write("b.ts", "var a, b, c, d")
        for most, hits in ((3, ["b.ts:1 too complex to check"]), (4, [])):
            with mock.patch.object(reading, "SCAN_NAMES", most):
                self.assertEqual(await self.reports(), hits)

    async def test_crash(self) -> None:
        """A bundler that crashes is no fault of a source."""
        self.write("a.ts", "x = 1")
        script = b"#!/bin/sh\necho 'panic: x' >&2\nexit 2\n"
        error = await self.error(self.scanner(self.bundler(script)))
        self.assertEqual(error, "esbuild crashed: x")

    async def test_attack_too_complex_and_more(self) -> None:
        """What is known without the bundler is reported all the same."""
        self.write("a.json", '"eslint.config.js"')
        self.write("b.ts", "x = '\u200b'")
        with mock.patch.object(limits, "SCAN_SECONDS", 0.0):
            self.assertEqual(
                await self.reports(),
                [
                    "a.json:1 references a tooling config",
                    "b.ts:1 invisible characters",
                    "b.ts:1 too complex to check",
                ],
            )
