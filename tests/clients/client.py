"""The packed TypeScript client in a process of Node.js, worked from outside."""

import json
import queue
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ..npm import node
from .packing import packed

PATIENCE_SECONDS: Final = 60.0

Line = dict[str, Any]


class Client:
    """
    A client.

    :ivar lines: Everything it has reported, in order.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[Line] = []
        self._queue: queue.Queue[Line | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self._asked = 0

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._queue.put(json.loads(line))
        self.process.stdout.close()
        self._queue.put(None)

    def ask(self, action: str, **given: Any) -> int:
        """Begin something; return the number its outcome will have."""
        self._asked += 1
        assert self.process.stdin is not None
        line = json.dumps({"n": self._asked, "action": action, **given})
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self._asked

    def until(self, wanted: Callable[[Line], bool]) -> Line:
        """Wait for a line."""
        begin = 0
        while True:
            for line in self.lines[begin:]:
                if wanted(line):
                    return line
            begin = len(self.lines)
            try:
                got = self._queue.get(timeout=PATIENCE_SECONDS)
            except queue.Empty:
                got = None
            assert got is not None, f"it ended, or waits: {self.lines[-20:]}"
            self.lines.append(got)

    def state(self, name: str) -> Any:
        """Wait for a state; return its details."""
        return self.until(lambda line: line.get("state") == name)["details"]

    def outcome(self, n: int, kind: str) -> Any:
        """Wait for what was begun to come to a ``result`` or an ``error``."""
        got = self.until(
            lambda line: line.get("n") == n and ("result" in line or "error" in line)
        )
        assert kind in got, got
        return got[kind]

    def result(self, n: int) -> Any:
        """Wait for what must succeed; return the result."""
        return self.outcome(n, "result")

    def error(self, n: int) -> Any:
        """Wait for what must fail; return the error."""
        return self.outcome(n, "error")

    def refused(self, method: str, params: Any) -> Any:
        """Call a method that fails; return the error."""
        return self.error(self.ask("call", method=method, params=params))

    def call(self, method: str, params: Any = None) -> Any:
        """Call a method that succeeds; return the result."""
        return self.result(self.ask("call", method=method, params=params))

    @property
    def states(self) -> list[str]:
        """The states it has reported."""
        while True:
            try:
                line = self._queue.get_nowait()
            except queue.Empty:
                break
            if line is not None:
                self.lines.append(line)
        return [line["state"] for line in self.lines if "state" in line]

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)
        assert self.process.stdin is not None
        self.process.stdin.close()
        self._reader.join()


@contextmanager
def client(port: int, token: str | None) -> Iterator[Client]:
    """Run a client of the daemon on a port, until the block ends."""
    script = packed().home / "driver.mjs"
    shutil.copyfile(Path(__file__).with_name("driver.mjs"), script)
    process = subprocess.Popen(
        # Node.js 22 needs no option.
        [node(), "--experimental-websocket", "--no-warnings", str(script)],
        cwd=packed().home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    made = Client(process)
    try:
        given = {} if token is None else {"token": token}
        made.ask("create", endpoint=f"http://127.0.0.1:{port}", **given)
        yield made
    finally:
        made.end()
