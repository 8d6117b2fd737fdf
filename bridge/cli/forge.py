"""
A small git server: real repositories, the real ``git http-backend``, real TLS.

It serves every bare repository in one directory, to this machine only, at
``https://127.0.0.1:PORT/NAME.git`` and ``https://localhost:PORT/NAME.git``.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twisted.internet.ssl import CertificateOptions
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request, Site

from ..plugins.tree.tree import SIGNATURE_FILE, read_tree, sign_tree
from ..settings.host import HostProfile
from .authoring.programs import run
from .terminal import CommandError

with warnings.catch_warnings():
    # It imports twisted.web.static, which warns of itself.
    warnings.simplefilter("ignore", DeprecationWarning)
    from twisted.web.twcgi import CGIProcessProtocol

if TYPE_CHECKING:
    from trustme import CA

SAMPLE = "hello-bridge"
"""The id of the sample plugin, and the name of its repository."""

_ADDRESS = "127.0.0.1"

# So that no configuration of the machine or the user takes part.
_GIT_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    "GIT_CONFIG_KEY_1": "uploadpack.allowFilter",
    "GIT_CONFIG_VALUE_1": "true",
}
_PERSON = {
    "GIT_AUTHOR_NAME": "Demo Author",
    "GIT_AUTHOR_EMAIL": "author@example.invalid",
    "GIT_COMMITTER_NAME": "Demo Author",
    "GIT_COMMITTER_EMAIL": "author@example.invalid",
}

PASSED = {
    "CONTENT_TYPE": "content-type",
    # git http-backend inflates a body itself; Site has joined its chunks.
    "HTTP_CONTENT_ENCODING": "content-encoding",
    "HTTP_GIT_PROTOCOL": "git-protocol",
}
"""The headers that git http-backend is told of; without the last it is an old one."""

# Files are published as the bytes they are, whatever their own attributes name.
_RAW = b"* -text -filter -ident -working-tree-encoding\n"


def address(forge: Any, name: str) -> str:
    """Return the URL of a repository."""
    return f"https://{_ADDRESS}:{forge.getHost().port}/{name}.git"


def make_authority(ca_file: Path) -> CA:
    """
    Make a certificate authority and write its certificate.

    :param ca_file: Where to, PEM.
    :raise CommandError: trustme is not installed.
    """
    try:
        import trustme
    except ImportError:
        raise CommandError(
            "trustme is missing: pipx inject plugin-bridge trustme, or in a checkout "
            "pip install '.[demo]'"
        ) from None
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(ca_file))
    return authority


def start_forge(reactor: Any, root: Path, authority: CA) -> Any:
    """
    Start a forge on a free port.

    :param reactor: Must be an ``IReactorTCP`` and an ``IReactorProcess``.
    :param root: The directory of bare repositories.
    :param authority: Issues the certificate.
    :return: The ``IListeningPort``; see ``address``.
    :raise CommandError: git is missing.
    """
    tls = CertificateOptions()
    authority.issue_cert(_ADDRESS, "localhost").configure_cert(tls.getContext())
    site = Site(_Backend(reactor, _backend_program(), root))
    factory = TLSMemoryBIOFactory(tls, False, site, reactor)
    return reactor.listenTCP(0, factory, interface=_ADDRESS)


def publish(worktree: Path, root: Path, name: str, message: str = "Publish") -> str:
    """
    Commit all files of a directory to a bare repository, made when it is not there.

    :param root: The directory of bare repositories.
    :param name: The repository's name, without ``.git``.
    :param message: The commit's message.
    :return: The commit, 40 hexadecimal digits.
    :raise CommandError: git is missing or refuses.
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


def publish_sample(
    root: Path,
    repositories: Path,
    profile: HostProfile,
    random: Callable[[int], bytes],
    now: float,
) -> str:
    """
    Sign the sample plugin with a throw-away key, and publish it.

    :param root: Gets the plugin's directory, ``plugin``.
    :param repositories: The directory of bare repositories, made here.
    :return: The repository's name.
    """
    tree = root / "plugin"
    with as_file(files("bridge").joinpath("reference", "sample-plugin")) as sample:
        shutil.copytree(sample, tree)
    signature = sign_tree(read_tree(tree), SAMPLE, profile, random(32), int(now))
    (tree / SIGNATURE_FILE).write_bytes(signature)
    repositories.mkdir()
    publish(tree, repositories, SAMPLE)
    return SAMPLE


def _program() -> str:
    program = shutil.which("git")
    if program is None:
        raise CommandError("git is missing: apt-get install git")
    return program


def _backend_program() -> Path:
    backend = Path(_git("--exec-path")) / "git-http-backend"
    if not backend.exists():
        raise CommandError("git http-backend is missing: apt-get install git")
    return backend


def _git(*arguments: str, cwd: Path = Path()) -> str:
    environ = {"PATH": os.defpath, **_GIT_ENVIRONMENT, **_PERSON}
    done = run("git", [_program(), *arguments], cwd, environ, None)
    if done.returncode:
        raise CommandError(f"git failed: {os.fsdecode(done.stderr).strip()}")
    return os.fsdecode(done.stdout).strip()


class _Backend(Resource):
    """Passes every request to ``git http-backend``, with an environment of its own."""

    isLeaf = True

    def __init__(self, reactor: Any, program: Path, root: Path) -> None:
        super().__init__()
        self._reactor = reactor
        self._program = str(program)
        self._root = str(root.absolute())

    def render(self, request: Request) -> int:
        """See ``IResource.render``."""
        content = request.content
        assert content is not None  # noqa: S101 - for mypy
        _, _, query = request.uri.partition(b"?")
        environment: dict[str, Any] = {
            **_GIT_ENVIRONMENT,
            "GIT_PROJECT_ROOT": self._root,
            "GIT_HTTP_EXPORT_ALL": "1",
            "GATEWAY_INTERFACE": "CGI/1.1",
            "REQUEST_METHOD": request.method,
            "PATH_INFO": b"/" + b"/".join(request.postpath or ()),
            "QUERY_STRING": query,
            "CONTENT_LENGTH": str(content.seek(0, os.SEEK_END)),
            "REMOTE_ADDR": _ADDRESS,
            "SERVER_PROTOCOL": request.clientproto,
        }
        for name, header in PASSED.items():
            value = request.getHeader(header)
            if value is not None:
                environment[name] = value
        answer = CGIProcessProtocol(request)
        line = [self._program]
        self._reactor.spawnProcess(answer, self._program, line, environment)
        return NOT_DONE_YET
