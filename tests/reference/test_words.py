"""The words for permissions are the same on the page and in the daemon's prompts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from twisted.trial.unittest import SynchronousTestCase

from bridge.settings.host import load_profile

from ..npm import esbuild, run_node
from .bundling import REFERENCE

SECONDS = 60.0


def words_of_the_page() -> dict[str, dict[str, object]]:
    """Return the table of the page, by permission."""
    module = REFERENCE / "packages" / "host" / "src" / "permissionwords.ts"
    source = (
        f"import {{ PERMISSION_WORDS as all }} from {json.dumps(str(module))};"
        "console.log(JSON.stringify(Object.fromEntries(all)));"
    )
    with TemporaryDirectory() as scratch:
        code = Path(scratch) / "words.mjs"
        subprocess.run(
            [str(esbuild()), "--bundle", "--format=esm", f"--outfile={code}"],
            input=source,
            text=True,
            check=True,
            capture_output=True,
            timeout=SECONDS,
        )
        printed = run_node(code)
    table: dict[str, dict[str, object]] = json.loads(printed)
    return table


class WordsTests(SynchronousTestCase):
    """Two tables, one text."""

    def test_same_words(self) -> None:
        """Labels, meanings and risks are the same, in the same order."""
        prompts = [
            (name, one.label, one.effect, one.risky)
            for name, one in load_profile("reference").permission_words.items()
        ]
        page = [
            (name, words["label"], words["meaning"], words["risky"])
            for name, words in words_of_the_page().items()
        ]
        self.assertEqual(page, prompts)
