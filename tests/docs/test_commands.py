"""Every command in README and docs is run, or is named here with the test that does."""

import re
from typing import Final

from twisted.trial.unittest import SynchronousTestCase

from ..npm import ROOT
from ..programs import run
from .commands import commands, fences

PAGES: Final = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "bridge").rglob("*.md")),
)

DEBIAN: Final = "tests/packaging/test_debian.py"
STANDING: Final = {
    "tests/docs/test_commands.py::test_make": (
        "runs this test, or the unit tests again; what it makes sure of is tested",
        "make test",
        "make check",
    ),
    "tests/docs/test_commands.py::test_make_help": (
        "names the targets, which are compared",
        "make help",
    ),
    "tests/protocol/test_budgets.py::test_hint_is_honest": (
        "runs what also runs alone",
        ".venv/bin/python -m twisted.trial tests.protocol.test_budgets",
    ),
    "tests/e2e/test_edge.py::test_over_the_rate": (
        "runs what also runs alone",
        ".venv/bin/python -m pytest tests/e2e/test_edge.py",
    ),
    "tests/packaging/test_wheel.py::test_pipx": (
        "installs libraries; the wheel is installed so",
        "pipx install .",
        "pipx inject plugin-bridge trustme",
    ),
    "tests/packaging/test_wheel.py::test_wheel_runs": (
        "installs libraries; the wheel is installed so",
        "python3 -m venv ~/bridge && ~/bridge/bin/pip install .",
    ),
    "tests/provision/test_service.py::test_life": (
        "starts a service of whoever runs this; that is done with another systemctl",
        "plugin-bridge setup --service --host reference",
    ),
    f"{DEBIAN}::test_lintian": (
        "takes minutes; a copy of this tree is built so",
        "debian/vendor && dpkg-buildpackage -us -uc -b",
    ),
    "tests/docs/test_site.py::test_no_warning": (
        "installs this project; the site is built",
        "make docs",
    ),
    f"{DEBIAN}::test_under_systemd": (
        "changes the system, or needs systemd; done in a system of its own",
        "sudo apt install ../plugin-bridge_0.1.0+py*_amd64.deb",
        "systemctl --user enable --now plugin-bridge",
        "systemctl --user daemon-reload",
        "systemctl --user restart plugin-bridge",
        "systemctl --user status plugin-bridge",
    ),
    "tests/test_daemonlog.py::test_prefix": (
        "needs a journal; that lines carry its levels is tested",
        "journalctl --user --unit plugin-bridge --priority warning",
    ),
    f"{DEBIAN}::test_socket_activation": (
        "needs systemd; done in a system of its own",
        "systemctl --user disable --now plugin-bridge.service",
        "systemctl --user enable --now plugin-bridge.socket",
    ),
    "tests/cli/commands/test_doctor.py::test_prompt_is_clicked": (
        "waits for a click, which is done on a screen",
        "plugin-bridge doctor --prompt",
    ),
}
"""Tests that stand for commands which cannot run here: why not, and the commands."""

ELSEWHERE: Final = {line for _, *lines in STANDING.values() for line in lines}

WITH_COMMANDS: Final = [page for page in PAGES if commands(page)]

NEEDING_MORE: Final = {
    "bridge/reference/template/README.md",
    "docs/hosts.md",
    "docs/plugins.md",
}
"""Pages with tests of their own in tests/e2e; ``test_pages`` types the others."""

PROGRAMS: Final = re.compile(
    r"(?m)^\s*(\$ |sudo |plugin-bridge |make |git |pipx? |python3? |systemctl |npm )"
)


class PagesTests(SynchronousTestCase):
    def test_none_is_hidden(self) -> None:
        """Commands are in blocks of ``sh``, so that none of them is overlooked."""
        for page in PAGES:
            text = page.read_text("utf-8")
            for block in re.findall(r"(?<=\n\n)((?: {4,}\S.*\n)+)", text):
                self.assertNotRegex(block, PROGRAMS, page)
            for language, block in fences(page):
                if language != "sh":
                    self.assertNotRegex(block, PROGRAMS, page)

    def test_elsewhere(self) -> None:
        """What is run elsewhere is in a page, and the test that runs it is there."""
        written = {line for page in PAGES for line in commands(page)}
        self.assertLessEqual(ELSEWHERE, written)
        self.assertLessEqual(NEEDING_MORE, {str(p.relative_to(ROOT)) for p in PAGES})
        for test in STANDING:
            path, _, name = test.partition("::")
            self.assertIn(f"def {name}(", (ROOT / path).read_text("utf-8"))

    def test_make(self) -> None:
        """Every target of ``make`` that a page names is in the Makefile."""
        rules = (ROOT / "Makefile").read_text("utf-8")
        for page in PAGES:
            for line in commands(page):
                if found := re.fullmatch(r"make (\S+)", line):
                    self.assertRegex(rules, rf"(?m)^{found[1]}:")

    def test_make_installs_nothing_silently(self) -> None:
        """``make docs`` prints what it is going to install, and what it has."""
        command = ("make", "--dry-run", "--always-make", "docs")
        done = run(*command, cwd=ROOT, check=True)
        before, _, after = done.stdout.partition("pip install --quiet --editable")
        self.assertRegex(before, r"echo \"Installing into .venv")
        self.assertRegex(after, r"echo \"Installed:\"")

    def test_make_help(self) -> None:
        """``make help`` names every target but itself."""
        rules = (ROOT / "Makefile").read_text("utf-8")
        targets = set(re.findall(r"(?m)^\.PHONY: (.*)$", rules)[0].split())
        named = set(re.findall(r'@echo "make (\w+) ', rules))
        self.assertEqual(named, targets - {"help"})
