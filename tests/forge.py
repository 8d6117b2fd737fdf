"""
Servers for tests that block: a real git server, and one that follows no rules.

The forge runs as a process of its own, which ends when its standard input does, so
none is left behind by a test run that is killed.
"""

import atexit
import contextlib
import functools
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from http.client import parse_headers
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any
from unittest import TestCase

from attrs import define
from twisted.internet.protocol import Protocol
from twisted.internet.ssl import CertificateOptions
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request, Site

from bridge.plugins.tree.tree import read_tree, sign_tree
from bridge.settings.host import HostProfile
from tests.certificates import authority, certificate
from tests.programs import run

with warnings.catch_warnings():
    # It imports twisted.web.static, which warns of itself.
    warnings.simplefilter("ignore", DeprecationWarning)
    from twisted.web.twcgi import CGIProcessProtocol

PROJECT = Path(__file__).parent.parent

# So that no configuration of the machine or the user takes part.
_CONFIGURATION = {
    "safe.directory": "*",
    "uploadpack.allowFilter": "true",
    "user.name": "Demo Author",
    "user.email": "author@example.invalid",
}
_GIT_ENVIRONMENT = {
    "PATH": os.defpath,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_COUNT": str(len(_CONFIGURATION)),
}
for _number, (_key, _value) in enumerate(_CONFIGURATION.items()):
    _GIT_ENVIRONMENT[f"GIT_CONFIG_KEY_{_number}"] = _key
    _GIT_ENVIRONMENT[f"GIT_CONFIG_VALUE_{_number}"] = _value

# git http-backend inflates a body itself; Site has joined its chunks.
_PASSED = ("content-encoding", "git-protocol")

# Files are published as the bytes they are, whatever their own attributes name.
_RAW = b"* -text -filter -ident -working-tree-encoding\n"


def publish(worktree: Path, root: Path, name: str, message: str = "Publish") -> str:
    """
    Commit all files of a directory to a bare repository, made when it is not there.

    :return: The commit, 40 hexadecimal digits.
    """
    repository = root / f"{name}.git"
    if not repository.exists():
        options = ("--bare", "--initial-branch=main", "--object-format=sha1")
        _git("init", "--quiet", *options, str(repository))
        (repository / "info").mkdir(exist_ok=True)
        (repository / "info" / "attributes").write_bytes(_RAW)
    base = (f"--git-dir={repository}", f"--work-tree={worktree.absolute()}")
    _git(*base, "add", "--all", "--force", ".", cwd=worktree)
    _git(*base, "commit", "--quiet", "--allow-empty", "--message", message)
    return _git(*base, "rev-parse", "HEAD")


def _git(*arguments: str, cwd: Path | None = None) -> str:
    git = ("git", *arguments)
    return run(*git, cwd=cwd, env=_GIT_ENVIRONMENT, check=True).stdout.strip()


class _Backend(Resource):
    """Passes every request to ``git http-backend``, with an environment of its own."""

    isLeaf = True

    def __init__(self, reactor: Any, root: Path, passed: Iterable[str]) -> None:
        super().__init__()
        self._reactor, self._root, self._passed = reactor, root, passed
        self._program = f"{_git('--exec-path')}/git-http-backend"

    def render(self, request: Request) -> int:
        content = request.content
        environment: dict[str, Any] = {
            **_GIT_ENVIRONMENT,
            "GIT_PROJECT_ROOT": str(self._root.absolute()),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GATEWAY_INTERFACE": "CGI/1.1",
            "REQUEST_METHOD": request.method,
            "PATH_INFO": b"/" + b"/".join(request.postpath or ()),
            "QUERY_STRING": request.uri.partition(b"?")[2],
            "CONTENT_TYPE": request.getHeader("content-type") or "",
            "CONTENT_LENGTH": str(content.seek(0, os.SEEK_END)),
            "REMOTE_ADDR": "127.0.0.1",
            "SERVER_PROTOCOL": request.clientproto,
        }
        for header in self._passed:
            if (value := request.getHeader(header)) is not None:
                environment["HTTP_" + header.upper().replace("-", "_")] = value
        answer = CGIProcessProtocol(request)
        line = [self._program]
        self._reactor.spawnProcess(answer, self._program, line, environment)
        return NOT_DONE_YET


@define
class ForgeProcess:
    """
    A forge in a process of its own.

    :ivar base: Its directory; removed by ``stop``.
    :ivar ca_file: The certificate to trust, PEM.
    """

    base: Path
    port: int
    ca_file: Path
    _process: subprocess.Popen[bytes]

    @property
    def root(self) -> Path:
        return self.base / "repositories"

    def url(self, name: str) -> str:
        return f"https://127.0.0.1:{self.port}/{name}.git"

    def publish(self, directory: Path, name: str, message: str = "Publish") -> str:
        """Commit all files of ``directory`` to ``name``; the commit."""
        return publish(directory, self.root, name, message)

    def empty(self) -> None:
        shutil.rmtree(self.root)
        self.root.mkdir()

    def stop(self) -> None:
        """End the process and remove its directory."""
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()
        shutil.rmtree(self.base)


def start_forge_process(*, old: bool = False) -> ForgeProcess:
    """
    Start a forge and wait until it listens.

    :param old: Whether it speaks only version 0 of git's protocol.
    """
    base = Path(tempfile.mkdtemp(prefix="forge-"))
    (base / "repositories").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.forge", str(base), *["old"] * old],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    ready = json.loads(process.stdout.readline())
    return ForgeProcess(base, ready["port"], base / "ca.pem", process)


@functools.cache
def shared_forge(lent: bool = False) -> ForgeProcess:
    """
    One forge for all tests of a run; they use names of their own.

    :param lent: Another one, for a test at a time.
    """
    forge = start_forge_process()
    atexit.register(forge.stop)
    return forge


def empty_forge(test: TestCase) -> ForgeProcess:
    """Return a forge without repositories; only one test at a time may have it."""
    forge = shared_forge(lent=True)
    test.addCleanup(forge.empty)
    return forge


class _UntilClosed(Protocol):
    """Stops the reactor when standard input is closed."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor

    def connectionLost(self, reason: Any = None) -> None:
        if self._reactor.running:
            self._reactor.stop()


def main(base: Path, *, old: bool) -> None:
    """Run a forge until standard input is closed."""
    from twisted.internet import reactor, stdio

    tls = CertificateOptions()
    issuer = authority()
    issuer.cert_pem.write_to_path(str(base / "ca.pem"))
    issuer.issue_cert("127.0.0.1", "localhost").configure_cert(tls.getContext())
    # One that is not told the version is an old one.
    site = Site(_Backend(reactor, base / "repositories", _PASSED[: 1 if old else 2]))
    factory: Any = TLSMemoryBIOFactory(tls, False, site, reactor)
    forge = reactor.listenTCP(0, factory, interface="127.0.0.1")
    sys.stdout.write(json.dumps({"port": forge.getHost().port}) + "\n")
    sys.stdout.flush()
    stdio.StandardIO(_UntilClosed(reactor))
    reactor.run()


Script = Callable[[str, bytes], Iterable[bytes]]


def sign(
    tree: Path,
    plugin_id: str,
    profile: HostProfile,
    seed: bytes,
    signed_at: int | None = None,
) -> None:
    """
    Write the signature of a tree into it.

    :param signed_at: In seconds since the epoch; now, when it is ``None``.
    """
    when = int(time.time()) if signed_at is None else signed_at
    signature = sign_tree(read_tree(tree), plugin_id, profile, seed, when)
    (tree / "plugin.sig").write_bytes(signature)


class _Answers(StreamRequestHandler):
    """Answers a request of a server that follows no rules, and closes."""

    timeout = 10

    def handle(self) -> None:
        with contextlib.suppress(OSError):
            line = self.rfile.readline().decode("ascii").strip()
            length = int(parse_headers(self.rfile).get("Content-Length", "0"))
            body = self.rfile.read(length)
            self.server.requests.append(line)
            for piece in self.server.script(line, body):
                self.wfile.write(piece)


class RogueServer(ThreadingTCPServer):
    """
    An HTTPS server that answers with whatever bytes a script yields.

    :param script: Given a request's first line and its body; what it yields is sent
        piece by piece, then the connection is closed.
    :param ca_file: Where its authority's certificate is written.
    """

    def __init__(self, script: Script, ca_file: Path, issuer: str = "rogue") -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        authority(issuer).cert_pem.write_to_path(str(ca_file))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trusted = certificate("127.0.0.1", "localhost", issuer=issuer)
        trusted.configure_cert(context)
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )
        self.script, self.ca_file = script, ca_file
        self.requests: list[str] = []
        self.port: int = self.server_address[1]
        self._closing = threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.01,)).start()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/x.git"

    def pause(self, seconds: float) -> None:
        """Wait, but not longer than the server lives."""
        if self._closing.wait(seconds):
            raise ConnectionAbortedError

    def stop(self) -> None:
        """Close everything and wait for the threads."""
        self._closing.set()
        self.shutdown()
        self.server_close()


def respond(status: str, body: bytes = b"", **headers: str) -> bytes:
    """A whole HTTP answer."""
    fields = {"Content-Length": str(len(body)), "Connection": "close"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("ascii") + body


def serve_pack(pack: bytes, commit: str) -> Script:
    """A script that speaks git's protocol, version 0, and serves one pack."""
    line = f"{commit} HEAD\0shallow side-band-64k ofs-delta\n".encode("ascii")
    refs = packet(b"# service=git-upload-pack\n") + b"0000" + packet(line) + b"0000"

    def script(first: str, body: bytes) -> Iterator[bytes]:
        if first.startswith("GET"):
            kind = "application/x-git-upload-pack-advertisement"
            yield respond("200 OK", refs, Content_Type=kind)
            return
        parts = [
            packet(f"shallow {commit}\n".encode("ascii")),
            b"0000",
            packet(b"NAK\n"),
        ]
        parts += [
            packet(b"\1" + pack[at : at + 60000]) for at in range(0, len(pack), 60000)
        ]
        answer = b"".join([*parts, b"0000"])
        kind = "application/x-git-upload-pack-result"
        yield respond("200 OK", answer, Content_Type=kind)

    return script


def packet(content: bytes) -> bytes:
    """A line as git's protocol frames it."""
    return b"%04x" % (len(content) + 4) + content


if __name__ == "__main__":
    main(Path(sys.argv[1]), old="old" in sys.argv[2:])
