"""Which values there are to complete."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.catalogue import COMMANDS
from bridge.cli.completing.values import (
    ARGUMENTS,
    FILES,
    Kind,
    listed,
    methods,
    values_of,
)
from bridge.cli.completing.words import all_words, words_of

from ...directories import fresh_directory

OF_FILES = {
    "bundle",
    "bundler",
    "ca-file",
    "host-sources",
    "key",
    "library",
    "log-file",
    "out",
}


class ValuesTests(SynchronousTestCase):
    """Tests for the tables."""

    def test_every_option_is_thought_of(self) -> None:
        """Only what names a file is completed with files."""
        found = {
            word.name.removeprefix("--")
            for word in all_words()
            if word.takes_value and word.values == FILES
        }
        self.assertEqual(found, OF_FILES)

    def test_one_meaning(self) -> None:
        """An option takes a value with every command, or with none."""
        kinds: dict[str, bool] = {}
        for name in COMMANDS:
            for word in words_of(name):
                self.assertEqual(
                    kinds.setdefault(word.name, word.takes_value), word.takes_value
                )

    def test_arguments_of_commands(self) -> None:
        """They are of commands that exist."""
        self.assertLessEqual(ARGUMENTS.keys(), COMMANDS.keys())
        self.assertIn("install", methods()["plugins"])
        self.assertIs(values_of("sink").kind, Kind.WORDS)

    def test_listed(self) -> None:
        """Ids are those of the data directory, however it is named."""
        data = fresh_directory(self)
        (data / "state.json").write_text(
            json.dumps({"bridge.plugins": {"b": 1, "a": 1}})
        )
        for words in (
            ["plugin-bridge", "update", "--data-dir", str(data), ""],
            ["plugin-bridge", "update", f"--data-dir={data}", "--host=reference"],
            ["/usr/bin/vrcnext-bridge", "update", "--data-dir", "=", str(data)],
        ):
            self.assertEqual(listed("plugins", words), ["a", "b"])
            self.assertEqual(listed("keys", words), [])

    def test_nothing_is_reported(self) -> None:
        """What cannot be read lists nothing; a shell must print no error."""
        data = fresh_directory(self)
        (data / "state.json").write_text("{")
        for words in ([], ["plugin-bridge", "--data-dir", str(data)]):
            self.assertIsInstance(listed("plugins", words), list)
        self.assertEqual(listed("plugins", ["p", "--host=/nowhere"]), [])
