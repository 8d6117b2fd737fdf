"""Published sources are accepted, except for what was looked at by hand."""

import subprocess
from typing import Final

import pytest
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.reading import LOADERS, TSCONFIG_RAW, suffix_of

from ..npm import esbuild
from .fetching import PACKAGES, Package, fetch, sources
from .scanning import UNREADABLE, corpus, differences, reviewed, smoke

SECONDS: Final = 60.0


def compiles(name: str, content: bytes) -> bool:
    """Whether the bundler compiles a source at all, with the options of the build."""
    run = subprocess.run(
        [
            str(esbuild()),
            f"--loader={LOADERS[suffix_of(name)]}",
            f"--tsconfig-raw={TSCONFIG_RAW}",
            "--target=es2022",
            "--log-level=silent",
        ],
        input=content,
        capture_output=True,
        check=False,
        env={},
        timeout=SECONDS,
    )
    return run.returncode == 0


class CorpusTests(SynchronousTestCase):
    def test_smoke(self) -> None:
        """Some files of every package are refused only as they are known to be."""
        chosen, table = smoke(corpus()), reviewed()
        self.assertGreater(len(chosen), 40)
        self.assertGreater(sum(map(len, chosen.values())), 200)
        self.assertTrue(all(chosen.values()))
        for name, files in chosen.items():
            self.assertEqual(differences(name, files, table.get(name, {})), [])

    def test_differences(self) -> None:
        """A refusal that is not in the table is found, and one that is gone."""
        files = {"a.ts": b"eval('x')", "b.ts": b"let x = 1"}
        wrong = differences("p", files, {"b.ts": ("eval",)})
        self.assertEqual(len(wrong), 2)
        self.assertEqual(differences("p", files, {"a.ts": ("eval",)}), [])

    def test_table(self) -> None:
        """The table names files of the corpus."""
        table, files = reviewed(), corpus()
        unknown = [
            f"{package} {name}"
            for package, own in table.items()
            for name in own
            if name not in files.get(package, {})
        ]
        self.assertEqual(unknown, [])

    def test_unreadable(self) -> None:
        """What is refused as unreadable is what the build does not compile either."""
        files = corpus()
        wrong = [
            f"{package} {name}"
            for package, own in reviewed().items()
            for name, rules in own.items()
            if UNREADABLE.intersection(rules) and compiles(name, files[package][name])
        ]
        self.assertEqual(wrong, [])


@pytest.mark.corpus
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.spec)
def test_whole_package(package: Package) -> None:
    """Every file of a package is refused only as it is known to be."""
    fetch()
    files, table = sources(package), reviewed().get(package.name, {})
    assert differences(package.name, files, table) == []
