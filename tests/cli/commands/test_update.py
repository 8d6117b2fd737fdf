import io
import json
import sys
from collections.abc import Callable
from typing import Any, TextIO
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.commands import plugins
from bridge.cli.commands.plugins import look, show, update_all
from bridge.cli.session import Session
from bridge.cli.terminal import ProgressLine
from bridge.protocol.errors import BridgeError, Code
from bridge.settings.host import locate

PLACE = locate("reference", None, None)
NEWS = {"commit": "c", "summary": "Release 1.1.0", "time": 1}


def behind(plugin_id: str, commits: int = 1, summary: str = "Release 1.1.0") -> Any:
    """Make what ``check_updates`` lists of a plugin."""
    log = [{**NEWS, "summary": summary}] * min(commits, 50)
    return {"id": plugin_id, "commitsBehind": commits, "changelog": log}


def found(updates: Any = (), unknown: Any = (), pending: Any = ()) -> dict[str, Any]:
    """Make an answer of ``check_updates``."""
    return {"updates": [*updates], "unknown": [*unknown], "pending": [*pending]}


UNKNOWN = {"id": "lost", "reason": "clone_failed: no"}


_NONE: dict[str, list[str]] = {"gained": [], "lost": []}
PREVIEW = {
    "manifest": {"id": "good", "version": "1.1.0"},
    "installed": {"version": "1.0.0"},
    "changes": {
        **dict.fromkeys(("optionalPermissions", "actions", "events"), _NONE),
        "permissions": {"gained": ["network"], "lost": []},
        "hosts": {"gained": ["api.example"], "lost": []},
    },
}


class Asking(Session):
    """A session with a daemon that has these answers of ``check_updates``."""

    def __init__(self, answers: list[Any], as_json: bool, err: TextIO) -> None:
        progress = ProgressLine(err)
        super().__init__(PLACE, mock.Mock(), mock.Mock(), as_json, progress)
        self.answers = answers
        self.calls: list[Any] = []

    def call(self, service: str, method: str, /, **params: Any) -> Any:
        self.calls.append(
            (method, {**params, "ref": ""} if "ref" in params else params)
        )
        if method == "check_updates":
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if method == "preview":
            if params["id"] != "good":
                raise BridgeError(Code.RATE_LIMITED, "later")
            return PREVIEW
        return {"updated": True, "plugin": {"version": "1.1.0"}}


class UpdateTests(SynchronousTestCase):
    """Tests for looking for updates, and for making all of them."""

    def setUp(self) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.patch(sys, "stdout", self.out)
        clock = iter(range(0, 1000, 20))
        self.patch(plugins, "time", mock.Mock(monotonic=lambda: next(clock)))

    def session(self, *answers: Any, as_json: bool = False) -> Session:
        """Make a session whose daemon finds this."""
        self.asking = Asking(list(answers), as_json, self.err)
        return self.asking

    def printed(self, work: Callable[[Session], int], *answers: Any) -> tuple[int, str]:
        """Run a command's work: its status and its output."""
        return work(self.session(*answers)), self.out.getvalue()

    def test_versions(self) -> None:
        """An update has its versions where they are known, and else its commits."""
        answer = found([behind("good"), behind("other", 3, "Fix x")], [UNKNOWN])
        status, out = self.printed(show, answer)
        self.assertEqual(status, 0)
        self.assertEqual(
            out,
            "ID     UPDATE         NEWEST COMMIT\n"
            "good   1.0.0 \u2192 1.1.0  Release 1.1.0\n"
            "other  3 new commits  Fix x\n"
            "good also asks for:\n"
            "  - Go online: can send what it knows to sites you allow\n"
            "  Sites: api.example\n"
            "lost: not known whether it is behind: clone_failed: no\n"
            "to update, run: plugin-bridge update --all --host reference\n",
        )

    def test_lower_version(self) -> None:
        """What can only be refused is called so."""
        with mock.patch.dict(PREVIEW["manifest"], version="0.9.0"):
            _, out = self.printed(show, found([behind("good")]))
        self.assertIn("1.0.0 \u2192 0.9.0 (lower, so refused)", out)

    def test_up_to_date(self) -> None:
        """Only what is known is called up to date."""
        words = "every plugin is up to date"
        for work in (show, update_all):
            self.assertIn(words, self.printed(work, found())[1])
            self.out.truncate(0)
            self.assertNotIn(words, self.printed(work, found([], [UNKNOWN]))[1])

    def test_all(self) -> None:
        """All are updated; the status is 1 when one is not known, and it is named."""
        answer = found([behind("good")], [UNKNOWN])
        status, out = self.printed(update_all, answer)
        self.assertEqual((status, out), (1, "good is at 1.1.0\n"))
        self.assertIn("lost: not known", self.err.getvalue())
        calls = [
            ("check_updates", {"fresh": True}),
            ("update", {"id": "good", "ref": ""}),
        ]
        self.assertEqual(self.asking.calls, calls)
        self.assertEqual(self.printed(update_all, found([behind("good")]))[0], 0)

    def test_all_as_json(self) -> None:
        """So it is in one object."""
        answer = found([behind("good")], [UNKNOWN])
        self.assertEqual(update_all(self.session(answer, as_json=True)), 1)
        value = json.loads(self.out.getvalue())
        self.assertEqual(value["unknown"], [UNKNOWN])
        self.assertEqual([one["id"] for one in value["updated"]], ["good"])

    def test_slow_repository(self) -> None:
        """What is pending is waited for; the later answer counts."""
        session = self.session(found(pending=["good"]), found([behind("good")]))
        answer = look(session)
        self.assertEqual([one["id"] for one in answer["updates"]], ["good"])
        self.assertEqual(
            self.asking.calls,
            [("check_updates", {"fresh": True}), ("check_updates", {})],
        )
        self.assertIn("waiting for the repositories of good", self.err.getvalue())

    def test_repository_that_never_answers(self) -> None:
        """After a minute it is not known; what was behind before still is."""
        answer = found([behind("good")], pending=["good", "slow"])
        answer = look(self.session(answer))
        self.assertEqual(answer["pending"], [])
        self.assertEqual([one["id"] for one in answer["unknown"]], ["slow"])
        self.assertEqual([one["id"] for one in answer["updates"]], ["good"])
