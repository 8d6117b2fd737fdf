"""The words for permissions are the same on the page and in the daemon's prompts."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.settings.host import load_profile

from .bundling import REFERENCE, printed

MODULE = REFERENCE / "packages" / "host" / "src" / "permissionwords.ts"
NAMED = ("--format=iife", "--global-name=page")
PRINTING = "--footer:js=console.log(JSON.stringify([...page.PERMISSION_WORDS]));"


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
            for name, words in printed(MODULE, PRINTING, *NAMED)
        ]
        self.assertEqual(page, prompts)
