import base64
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import NOTIFY_ICON_CHARACTERS
from bridge.services.notify import Notify
from bridge.sinks.fanout import FIELDS, Fanout, RejectedError, UnavailableError
from tests import strategies
from tests.sinks.fake import FakeSink, failing
from tests.sinks.samples import png, text64

from .case import ServiceCase

SECRET = strategies.SECRET
REFUSED: dict[str, list[Any]] = {
    "title": ["", " ", "x" * 201, " " * 201 + "a", "a\x1b", "a\nb", "\x85", "\ud800"],
    "content": ["x" * 2001, "\x00", "a\x1b[1m", "\x9b"],
    "timeoutSecs": [-1, 60.1, 3600, float("nan"), float("inf"), 10**400],
    "icon": ["a b", "x" * 129, "é", "a\n", "a/b"],
    "sourceApp": ["x" * 65, "a\r"],
    "volume": [-0.1, 1.1, float("nan")],
    "audioPath": ["x.ogg", "Default", "default\n", "/x.ogg"],
    "height": [15.9, 1024.1],
    "opacity": [2, -1e-9],
    "urgency": ["", "Low", "urgent"],
}
"""Values that break the rule of their field."""


class NotifyCase(ServiceCase):
    """The service over two sinks, the first of which has an alias."""

    service = "notify"

    def setUp(self) -> None:
        self.start(FakeSink("overlay"), FakeSink("desk"))

    def start(self, *sinks: Any) -> None:
        self.sinks = sinks
        fanout = Fanout(Clock(), sinks)
        self.successResultOf(fanout.start())
        aliases = {"wayvr": "overlay", "gone": "other"}
        self.register(Notify(fanout, "Sample", aliases))

    def send(self, **params: Any) -> Any:
        """Send a notification, and give the answer."""
        return self.call("send", **{"title": "Door", **params})

    def rule(self, **params: Any) -> str:
        """Send a notification, and give the message it is refused with."""
        return self.refusal({"title": "Door", **params})

    def refusal(self, params: Any, code: Code = Code.BAD_REQUEST) -> str:
        """Send, and give the message of the refusal."""
        error = self.refused("send", **params)
        self.assertEqual(error.code, code)
        self.assertEqual([sink.shown for sink in self.sinks if sink.shown], [])
        return error.message

    def shown(self, name: str) -> Any:
        """Return the last one a sink was delivered."""
        (sink,) = [sink for sink in self.sinks if sink.name == name]
        return sink.shown[-1]


class SendTests(NotifyCase):
    def test_alias(self) -> None:
        """A sink is answered under the name its caller used first."""
        self.assertEqual(self.send(sinks=["wayvr"])["delivered"], ["wayvr"])
        self.assertEqual(self.send(sinks=["wayvr", "overlay"])["delivered"], ["wayvr"])
        self.send(sinks=["overlay"], overrides={"wayvr": {"title": "Bell"}})
        self.assertEqual(self.shown("overlay").title, "Bell")

    def test_overrides(self) -> None:
        """A patch is its target's alone; what it leaves out or nulls is inherited."""
        patch = {"title": "Bell", "height": 200, "content": None}
        self.send(content="loud", height=100, overrides={"overlay": patch})
        over, desk = self.shown("overlay"), self.shown("desk")
        self.assertEqual((over.title, over.content, over.height), ("Bell", "loud", 200))
        self.assertEqual((desk.title, desk.content, desk.height), ("Door", "loud", 100))

    def test_override_of_another_sink(self) -> None:
        """A patch for whom it is not for is ignored; it must still be one."""
        wrong = {"height": 1, "title": "x" * 300}
        self.send(sinks=["desk"], overrides={"overlay": wrong, "nobody": wrong})
        patches: tuple[Any, ...] = ({"size": 1}, [], "x")
        for patch in patches:
            self.assertEqual(
                self.refused("send", title="Door", overrides={"nobody": patch}).message,
                "overrides: each an object, with no field but those of a notification",
            )

    def test_one_line_per_delivery(self) -> None:
        """With ``--log debug`` the sinks and the outcome are in one line."""
        with capturedLogs() as events:
            self.send()
            self.send(sinks=["wayvr"])
        self.assertEqual(
            list(map(formatEvent, events)),
            [
                "a notification was delivered to overlay, desk; failed: none",
                "a notification was delivered to wayvr; failed: none",
            ],
        )

    def test_images(self) -> None:
        """PNG, JPEG and GIF are accepted, to the last character of the limit."""
        for start in (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a"):
            whole = start + b"\0" * (NOTIFY_ICON_CHARACTERS * 3 // 4 - len(start))
            icon = base64.b64encode(whole).decode("ascii")
            self.assertEqual(len(icon), NOTIFY_ICON_CHARACTERS)
            self.send(icon=icon, useBase64Icon=True)
            self.assertEqual(self.shown("overlay").image, icon)
            longer = {"icon": base64.b64encode(whole + b"\0").decode("ascii")}
            error = self.refused("send", title="Door", useBase64Icon=True, **longer)
            self.assertIn("icon: ", error.message)

    def test_failures(self) -> None:
        """Each failure is listed with a reason; one delivery is success."""
        rejecting = FakeSink("overlay", showing=failing(RejectedError("too large")))
        self.start(rejecting, FakeSink("desk"))
        error = {"sink": "wayvr", "error": "wayvr: rejected: too large"}
        self.assertEqual(
            self.send(sinks=["wayvr", "desk"]),
            {"ok": True, "delivered": ["desk"], "failed": [error]},
        )
        self.start(FakeSink("desk", showing=failing(UnavailableError("no bus"))))
        error = {"sink": "desk", "error": "desk: unavailable: no bus"}
        self.assertEqual(self.send(), {"ok": False, "delivered": [], "failed": [error]})

    def test_no_sink(self) -> None:
        """When none has started, nothing is ever reported as delivered."""
        self.start()
        for params in ({"title": "a"}, {"title": "a", "sinks": ["overlay"]}):
            message = self.refusal(params, Code.UNAVAILABLE)
            self.assertEqual(message, "no notification sink has started")
        self.assertIn("sinks: 1 to 8", self.rule(sinks=[]))

    def test_normal_forms(self) -> None:
        """What is given is trimmed; empty, null and 0 are the target's own."""
        self.send(
            title="  Door ",
            icon=" ",
            timeoutSecs=0,
            sourceApp="  ",
            audioPath=" error ",
            volume=None,
            urgency="low",
        )
        shown = self.shown("desk")
        self.assertEqual(
            (shown.title, shown.icon, shown.timeout, shown.source_app),
            ("Door", "", None, "Sample"),
        )
        self.assertEqual((shown.audio_path, shown.urgency), ("error", "low"))
        self.assertEqual(
            (shown.volume, shown.sound, shown.is_muted), (None, None, False)
        )

    def test_icons(self) -> None:
        """An icon is a name, or with ``useBase64Icon`` an image and no name."""
        self.send(icon="security-high", sourceApp=" Plugin ")
        shown = self.shown("desk")
        self.assertEqual((shown.icon, shown.source_app), ("security-high", "Plugin"))
        self.send(icon=text64(png()), useBase64Icon=True)
        self.assertEqual(self.shown("desk").icon, "")


class TargetTests(NotifyCase):
    def test_targets(self) -> None:
        """Each is listed with its health, its fields and its aliases."""
        answer = self.successResultOf(self.calling("targets", {}))
        self.assertEqual(
            answer["targets"][0],
            {
                "name": "overlay",
                "description": "a list",
                "health": "up",
                "honours": list(FIELDS),
                "aliases": ["wayvr"],
            },
        )
        self.assertEqual([t["name"] for t in answer["targets"]], ["overlay", "desk"])
        described = self.registry.describe()["notify"]
        self.assertEqual(described["targets"], answer["targets"])
        self.assertEqual(described["methods"], ["send", "targets"])


class RefusalTests(NotifyCase):
    def test_attack_fields(self) -> None:
        """Beyond its rule, and with control characters, a field is refused by name."""
        for field, bad in REFUSED.items():
            for value in bad:
                message = self.rule(**{field: value})
                self.assertTrue(message.startswith(f"{field}: "), (field, value))

    def test_names(self) -> None:
        """Too many names, and names too long, are refused before any is looked up."""
        for sinks in ([], ["nobody"] * 9):
            self.assertEqual(self.rule(sinks=sinks), "sinks: 1 to 8 entries")
        for sinks in ([""], ["x" * 33]):
            self.assertEqual(self.rule(sinks=sinks), "sinks: 1 to 32 characters")
        self.send(sinks=["overlay"] * 8)

    def test_unknown_sink(self) -> None:
        """An unknown name is repeated, cut and escaped, with those available."""
        self.assertEqual(
            self.rule(sinks=["overlay", "nobody"]),
            'sinks: no sink is called "nobody"; there are overlay, desk, wayvr',
        )
        hostile = '"\x1b\u202e<b>\n'
        message = self.rule(sinks=[hostile])
        self.assertIn('"\\"\\u001b\\u202e<b>\\n"', message)
        self.assertTrue(message.isprintable())
        self.assertIn("no sink", self.rule(sinks=["gone"]))

    def test_overrides(self) -> None:
        """A patch under both names, too many of them, and a bad result are refused."""
        both: dict[str, Any] = {"overlay": {}, "wayvr": {}}
        self.assertEqual(
            self.rule(overrides=both),
            "overrides: overlay and wayvr are one sink; name it once",
        )
        many: dict[str, Any] = {str(i): {} for i in range(33)}
        self.assertEqual(self.rule(overrides=many), "overrides: at most 32 sinks")
        bad = {"overlay": {"height": 1}}
        self.assertEqual(self.rule(overrides=bad), "overrides: height: 16 to 1024")
        self.assertEqual(self.rule(height=2, overrides=bad), "height: 16 to 1024")
        image = {"useBase64Icon": True}
        refusal = self.rule(icon="error", overrides={"overlay": image})
        self.assertTrue(refusal.startswith("overrides: icon: "), refusal)

    def test_attack_path_as_icon_or_sound(self) -> None:
        """No path reaches who would open it: local, UNC, URL, or in an override."""
        for path in ("/etc/passwd", "\\\\evil\\share\\x.png", "file:///etc/passwd"):
            for field in ("icon", "audioPath"):
                for chosen in (
                    {field: path},
                    {"overrides": {"overlay": {field: path}}},
                    {field: path, "useBase64Icon": True},
                ):
                    message = self.rule(**chosen)
                    self.assertTrue(
                        message.removeprefix("overrides: ").startswith(f"{field}: "),
                        chosen,
                    )
                    self.assertNotIn(path, message)

    def test_attack_image_that_is_none(self) -> None:
        """Base64 of anything but a PNG, JPEG or GIF is refused, and so is a bad one."""
        for image in (b"<svg/>", b"MZ", b"RIFF0000WEBP", b"BM", b"%!PS", b"\0\0\1\0"):
            self.assertIn("icon", self.rule(icon=text64(image), useBase64Icon=True))
        good = text64(png())
        for text in (good[:-1], "data:," + good, good + "é", f"*{good}"):
            self.assertIn("icon", self.rule(icon=text, useBase64Icon=True))
        for line in (good[:10] + "\n" + good[10:], good + "\n"):
            self.assertIn("icon", self.rule(icon=line, useBase64Icon=True))
        large = text64(png() + bytes(100_000))
        self.assertIn("icon", self.rule(icon=large, useBase64Icon=True))

    @given(
        st.dictionaries(
            st.sampled_from([*FIELDS, "sinks", "overrides", "title", SECRET]),
            st.sampled_from(["", SECRET, [SECRET], {SECRET: 1}, {SECRET: {SECRET: 0}}])
            | strategies.loose
            | st.sampled_from([0, 1, 0.5, True, None, "low", "error", ["overlay"]]),
        )
    )
    def test_any_json(self, params: dict[str, Any]) -> None:
        """Any JSON is sent or refused, and no refusal repeats what it refuses."""
        if params.get("sinks") == [SECRET]:
            del params["sinks"]  # the one thing that is repeated
        answers: list[Any] = []
        self.calling("send", params).addBoth(answers.append)
        (answer,) = answers
        if isinstance(answer, dict):
            self.assertEqual(set(answer), {"ok", "delivered", "failed"})
            return
        self.assertIsInstance(answer.value, BridgeError)
        self.assertEqual(answer.value.code, Code.BAD_REQUEST)
        self.assertNotIn(SECRET, answer.value.message)
