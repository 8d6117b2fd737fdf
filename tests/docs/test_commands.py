"""Every command in README and docs is run, or is named here with the test that does."""

from __future__ import annotations

import re
import subprocess
from typing import Final

from twisted.trial.unittest import SynchronousTestCase

from ..npm import ROOT
from .commands import commands, fences

PAGES: Final = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "bridge").rglob("*.md")),
)

DEBIAN: Final = "tests/packaging/test_debian.py"
ELSEWHERE: Final = {
    "make test": (
        "runs this test; what it makes sure of is tested by",
        "tests/docs/test_commands.py::test_make",
    ),
    "make check": (
        "runs the unit tests again; what it makes sure of is tested by",
        "tests/docs/test_commands.py::test_make",
    ),
    "make help": (
        "names the targets, which are compared by",
        "tests/docs/test_commands.py::test_make_help",
    ),
    ".venv/bin/python -m twisted.trial tests.protocol.test_session": (
        "runs what also runs alone, as",
        "tests/protocol/test_session.py::test_every_state_takes_every_input",
    ),
    ".venv/bin/python -m pytest tests/whole/test_load.py": (
        "runs what also runs alone, as",
        "tests/whole/test_load.py::test_attack_connections_without_end",
    ),
    "pipx install .": (
        "installs libraries; the wheel is installed so by",
        "tests/packaging/test_wheel.py::test_pipx",
    ),
    "python3 -m venv ~/bridge && ~/bridge/bin/pip install .": (
        "installs libraries; the wheel is installed so by",
        "tests/packaging/test_wheel.py::test_wheel_runs",
    ),
    "plugin-bridge setup --service --host reference": (
        "starts a service of whoever runs this; with another systemctl that is",
        "tests/provision/test_service.py::test_life",
    ),
    "debian/vendor && dpkg-buildpackage -us -uc -b": (
        "takes minutes; a copy of this tree is built so for",
        f"{DEBIAN}::test_lintian",
    ),
    "make docs": (
        "installs this project; the site is built by",
        "tests/docs/test_site.py::test_no_warning",
    ),
    "sudo apt install ../plugin-bridge_0.1.0+py*_amd64.deb": (
        "changes the system; a system of its own is changed so for",
        f"{DEBIAN}::test_under_systemd",
    ),
    "systemctl --user start plugin-bridge": (
        "needs systemd; done in a system of its own by",
        f"{DEBIAN}::test_under_systemd",
    ),
    "systemctl --user restart plugin-bridge": (
        "needs systemd; done in a system of its own by",
        f"{DEBIAN}::test_under_systemd",
    ),
    "systemctl --user status plugin-bridge": (
        "needs systemd; done in a system of its own by",
        f"{DEBIAN}::test_under_systemd",
    ),
    "journalctl --user --unit plugin-bridge --priority warning": (
        "needs a journal; that lines carry its levels is tested by",
        "tests/test_daemonlog.py::test_prefix",
    ),
    "systemctl --user disable --now plugin-bridge.service": (
        "needs systemd; done in a system of its own by",
        f"{DEBIAN}::test_socket_activation",
    ),
    "systemctl --user enable --now plugin-bridge.socket": (
        "needs systemd; done in a system of its own by",
        f"{DEBIAN}::test_socket_activation",
    ),
    "plugin-bridge doctor --prompt": (
        "waits for a click, which is done on a screen by",
        "tests/cli/commands/test_doctor.py::test_prompt_is_clicked",
    ),
}
"""Commands that cannot run here: why not, and the test that stands for each."""

READ_BY: Final = {
    "README.md": "test_pages",
    "docs/CONTRIBUTING.md": "test_pages",
    "bridge/reference/sample-plugin/README.md": "test_sample",
    "bridge/reference/template/README.md": "test_template",
    "docs/debugging.md": "test_pages",
    "docs/first-minutes.md": "test_pages",
    "docs/hosts.md": "test_hosts",
    "docs/installing.md": "test_pages",
    "docs/man/plugin-bridge.1.md": "test_pages",
    "docs/notifications.md": "test_pages",
    "docs/operating.md": "test_pages",
    "docs/plugins.md": "test_plugins",
    "docs/using.md": "test_pages",
}
"""The test in tests/whole that types the commands of a page."""

PROGRAMS: Final = re.compile(
    r"(?m)^\s*(\$ |sudo |plugin-bridge |make |git |pipx? |python3? |systemctl |npm )"
)


class PagesTests(SynchronousTestCase):
    """Tests for finding the commands."""

    def test_every_page_is_read(self) -> None:
        """A page with commands has a test in tests/whole; when it is new, add one."""
        found = {str(p.relative_to(ROOT)) for p in PAGES if commands(p)}
        self.assertEqual(found, READ_BY.keys())
        tests = (ROOT / "tests" / "whole" / "test_commands.py").read_text("utf-8")
        for name in set(READ_BY.values()):
            self.assertIn(f"def {name}(", tests)

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
        for line, (_, test) in ELSEWHERE.items():
            self.assertIn(line, written)
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
        done = subprocess.run(
            ["make", "--dry-run", "--always-make", "docs"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        before, _, after = done.stdout.partition("pip install --quiet --editable")
        self.assertRegex(before, r"echo \"Installing into .venv")
        self.assertRegex(after, r"echo \"Installed:\"")

    def test_make_help(self) -> None:
        """``make help`` names every target but itself."""
        rules = (ROOT / "Makefile").read_text("utf-8")
        targets = set(re.findall(r"(?m)^\.PHONY: (.*)$", rules)[0].split())
        named = set(re.findall(r'@echo "make (\w+) ', rules))
        self.assertEqual(named, targets - {"help"})
