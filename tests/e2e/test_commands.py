"""The commands in README and docs, typed page by page."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from twisted.trial.unittest import SynchronousTestCase

from ..docs.commands import Fixture, commands, fences
from ..docs.test_commands import ELSEWHERE, NEEDING_MORE, WITH_COMMANDS
from ..npm import ROOT, esbuild
from .daemon import set_up
from .test_hostpage import PAGE, write_host

SAMPLE: Final = ROOT / "bridge" / "reference" / "sample-plugin"

RUNS_ON: Final = (
    (r"plugin-bridge run(?!.*--(print-token|rotate-token))", "listening on http"),
    (r"plugin-bridge open", "Ctrl-C ends it"),
    (r"plugin-bridge dev ", r"built in \d+ ms"),
    (r"plugin-bridge demo", "Ctrl-C ends the demo"),
)
"""Commands that go on until Ctrl-C, and what they print when they are ready."""


DAEMONS: Final = re.compile("plugin-bridge (run|open) ")


class Reader:
    """Somebody who types the commands of a page, one by one."""

    def __init__(self, fixture: Fixture) -> None:
        self.fixture = fixture
        self.words = {"127.0.0.1:42081": f"127.0.0.1:{fixture.port}"}
        self.data = fixture.data

    def read(self, page: Path) -> None:
        for line in commands(page):
            if line not in ELSEWHERE:
                self.type(line)

    def type(self, line: str) -> None:
        for written, meant in self.words.items():
            line = re.sub(rf"(?<![\w-]){re.escape(written)}(?![\w-])", meant, line)
        if " logs -f" in line:
            self.follow(line)
            return
        if line.startswith("plugin-bridge open"):
            # The usual port may be somebody else's here.
            line += " --page-port=0"
        for pattern, ready in RUNS_ON:
            if re.match(pattern, line):
                self.start(line, ready)
                return
        if line.startswith("plugin-bridge eval"):
            self.fixture.evaluate(self.data)
        self.fixture.do(line)

    def start(self, line: str, ready: str) -> None:
        if DAEMONS.match(line):
            # A reader ends the one before: its daemon has the directory.
            self.fixture.stop("plugin-bridge run")
            self.fixture.stop("plugin-bridge open")
        output = self.fixture.start(line, ready)
        if "demo" in line:
            self.look(output)

    def look(self, output: Path) -> None:
        """Read where the demo's data directory is."""
        found = re.search(r"Data:\s+(\S+)", output.read_text("utf-8"))
        assert found
        self.data = Path(found[1])
        self.words["DIR"] = found[1]

    def follow(self, line: str) -> None:
        """Type what follows the log, and log something that it must show."""
        scope = re.search(r"--scope (\S+)", line)
        name = scope[1] if scope else "any"
        output = self.fixture.start(line, "")
        record = {"level": "warn", "scope": name, "message": "This is shown."}
        written = self.fixture.page(self.data).result(
            "logs", "write", {"records": [record, {**record, "level": "info"}]}
        )
        assert written["written"] == 2
        self.fixture.wait_for(output, r"\[" + name + r"\] This is shown\.")
        assert "INFO" not in output.read_text("utf-8")


BEFORE: Final = {
    # The demo's daemon has a port of its own.
    "docs/debugging.md": ("unset BRIDGE_LISTEN",),
    "docs/notifications.md": (
        "export BRIDGE_HOST=reference",
        "plugin-bridge run --dev",
    ),
    "docs/operating.md": ("export BRIDGE_HOST=reference", "plugin-bridge run"),
    "docs/using.md": ("plugin-bridge run --host reference",),
}
"""What has been typed before somebody reads a page."""


@contextmanager
def reading() -> Iterator[Reader]:
    """Be at a computer with the bundler, in a home of its own."""
    with ExitStack() as stack:
        fixture = Fixture()
        stack.callback(fixture.end)
        set_up(fixture.home, ".local/share/plugin-bridge")
        yield Reader(fixture)


class CommandTests(SynchronousTestCase):
    """Tests for the pages with commands, each read in a home of its own."""

    def test_pages(self) -> None:
        """What each page is about is typed, if it was not all typed before."""
        names = {page.relative_to(ROOT).as_posix() for page in WITH_COMMANDS}
        typed = set(ELSEWHERE)
        for page in sorted(names - NEEDING_MORE):
            if typed.issuperset(commands(ROOT / page)):
                continue
            typed.update(commands(ROOT / page))
            with self.subTest(page), reading() as reader:
                for line in BEFORE.get(page, ()):
                    reader.type(line)
                reader.read(ROOT / page)

    def test_hosts(self) -> None:
        """What an author of a host types, with the profile of the page."""
        reader = self.enterContext(reading())
        write_host(reader.fixture.work)
        # The table that a profile may have as well.
        manual = ROOT / "docs" / "man" / "plugin-bridge-host.5.md"
        (names,) = (text for language, text in fences(manual) if language == "toml")
        profile = reader.fixture.work / "my-host.toml"
        profile.write_text(profile.read_text("utf-8") + names, "utf-8")
        sources = f"--host-sources my-sources --bundler {esbuild()}"
        reader.type(f"plugin-bridge setup --host my-host.toml {sources}")
        reader.read(PAGE)

    def test_plugins(self) -> None:
        """What an author of a plugin types."""
        reader = self.enterContext(reading())
        reader.words["path/to/plugin"] = str(reader.fixture.plugin("mine", SAMPLE))
        reader.read(ROOT / "docs" / "plugins.md")

    def test_template(self) -> None:
        """What an author types in a new plugin."""
        reader = self.enterContext(reading())
        there = reader.fixture.work / "mine"
        reader.fixture.do(f"plugin-bridge new {there}")
        reader.fixture.publish_to_origin(there)
        reader.type(f"cd {there}")
        reader.read(there / "README.md")
        origin = reader.fixture.home / "origin.git"
        reader.fixture.do(f"git -C {origin} show HEAD:plugin.sig")
