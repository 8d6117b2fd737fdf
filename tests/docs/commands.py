"""Where the commands of the docs are run: a home of their own, and what they need."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ..cli.repository import AUTHOR
from ..e2e.daemon import Page, environment, paired, printing
from ..freedesktop.buses import SessionBus
from ..ports import free_port, free_udp_port
from ..waiting import PATIENCE_SECONDS, wait_until

_FENCE: Final = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_COMMENT: Final = re.compile(r"\s+#\s.*$")


def fences(page: Path) -> list[tuple[str, str]]:
    """Give every fenced block of a page: its language, and its text."""
    found = _FENCE.findall(page.read_text("utf-8"))
    return [
        (language, "".join(line.removeprefix(indent) for line in text.splitlines(True)))
        for indent, language, text in found
    ]


def commands(page: Path) -> list[str]:
    """Give the command lines of a page, without comments."""
    return [
        _COMMENT.sub("", line)
        for language, text in fences(page)
        if language == "sh"
        for line in text.replace("\\\n", "").splitlines()
        if line.strip()
    ]


class Fixture:
    """
    A home in which one shell runs command lines, as their reader would.

    ``plugin-bridge`` is this checkout's; the session bus has a notification server.
    """

    def __init__(self) -> None:
        self._ending = contextlib.ExitStack()
        directory = TemporaryDirectory(prefix="bridge-docs-")
        self.home = Path(self._ending.enter_context(directory))
        self.work = self.home / "work"
        self.work.mkdir()
        bus = SessionBus()
        self._ending.callback(bus.remove)
        # doctor would not wait until a busy machine has started it for the bus.
        server = [sys.executable, "-m", "tests.freedesktop.server", bus.socket]
        self._ending.enter_context(printing(server, self.home)).wait_for("serving")
        self.port = free_port()
        self.data = self.home / ".local" / "share" / "plugin-bridge"
        self._background: list[tuple[str, int]] = []
        self._started = 0
        variables = {
            **bus.environment,
            "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}",
            "PYTHON": sys.executable,
            "npm_config_update_notifier": "false",
            # Nobody is there to look at a page.
            "BROWSER": "true",
            "BRIDGE_LISTEN": f"127.0.0.1:{self.port}",
            "BRIDGE_OVERLAY_ADDR": f"127.0.0.1:{free_udp_port()}",
            **AUTHOR,
            # What an author types there.
            "GIT_EDITOR": "sed -i 1iChange",
        }
        self._shell = subprocess.Popen(
            ["bash", "--norc"],
            cwd=self.work,
            env=environment(self.home, variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        (self.home / "bin").mkdir()
        command = self.home / "bin" / "plugin-bridge"
        command.write_text('#!/bin/sh\nexec "$PYTHON" -u -m bridge "$@"\n')
        command.chmod(0o755)

    def plugin(self, name: str, source: Path) -> Path:
        """Copy a plugin into a git repository, with one to push to."""
        to = self.work / name
        shutil.copytree(source, to)
        self.do(f"git -C {to} init --quiet")
        self.publish_to_origin(to)
        return to

    def publish_to_origin(self, repository: Path) -> None:
        """Make a repository that another one pushes to."""
        origin = self.home / "origin.git"
        branch = f"$(git -C {repository} symbolic-ref --short HEAD)"
        self.do(f"git init --quiet --bare --initial-branch={branch} {origin}")
        self.do(f"git -C {repository} remote add origin {origin}")

    def do(self, line: str) -> str:
        """
        Run a command line to its end; gives what it prints.

        :raise AssertionError: It fails, or takes longer than anybody would wait.
        """
        status, reported = self._ask(line)
        assert status == 0, f"{line}: status {status}\n{reported}"
        return reported

    def _ask(self, line: str) -> tuple[int, str]:
        patience = threading.Timer(
            PATIENCE_SECONDS, os.killpg, (self._shell.pid, signal.SIGKILL)
        )
        patience.start()
        reported: list[str] = []
        try:
            self._shell.stdin.write(f"{{ {line}\n}} </dev/null 2>&1\n")
            self._shell.stdin.write('printf "\\nexit %s\\n" "$?"\n')
            self._shell.stdin.flush()
            for text in self._shell.stdout:
                if found := re.fullmatch(r"exit (\d+)\n", text):
                    return int(found[1]), "".join(reported)
                reported.append(text)
        finally:
            patience.cancel()
        raise AssertionError(f"it did not end: {line}\n" + "".join(reported))

    def start(self, line: str, ready: str) -> Path:
        """
        Run a command line that does not end, until the fixture does.

        :return: The file it prints to.
        """
        kind = " ".join(line.split()[:2])
        self.stop(kind)
        self._started += 1
        output = self.home / f"output-{self._started}"
        output.touch()
        reported = self.do(f"{line} >{output} 2>&1 & echo $!")
        self._background.append((kind, int(reported.split()[-1])))
        self.wait_for(output, ready)
        return output

    def wait_for(self, output: Path, pattern: str) -> None:
        """Wait until a file has what a pattern matches."""

        def written() -> object:
            return re.search(pattern, output.read_text("utf-8", "replace"))

        wait_until(written, f"{output} has no line that matches {pattern}")

    def stop(self, kind: str = "") -> None:
        for entry in self._background[::-1]:
            started, process = entry
            if started.startswith(kind):
                self._background.remove(entry)
                self._ask(f"kill {process}; wait {process}; true")

    def page(self, data: Path) -> Page:
        """Pair a page with the daemon of a data directory; it is closed at the end."""
        port = int((data / "address").read_text("ascii").rpartition(":")[2])
        return self._ending.enter_context(paired(port, data))

    def evaluate(self, data: Path) -> None:
        """Pair a page that evaluates whatever it is asked to null."""
        page = self.page(data)
        thread = threading.Thread(target=_answer, args=(page,))
        thread.start()
        # Runs before the page is closed, and that ends the thread.
        self._ending.callback(thread.join)
        self._ending.callback(page.close)

    def end(self) -> None:
        self.stop()
        self._shell.stdin.close()
        self._shell.wait(PATIENCE_SECONDS)
        self._shell.stdout.close()
        self._ending.close()


def _answer(page: Page) -> None:
    with contextlib.suppress(OSError, AssertionError):
        while True:
            frame = page.receive()
            if frame.get("event") == "remote":
                result = {"id": frame["data"]["id"], "ok": True, "value": None}
                request = {"type": "request", "id": "1", "service": "remote"}
                page.send({**request, "method": "result", "params": result})
