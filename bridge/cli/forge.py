"""
A small git server, which has one repository: a signed sample plugin, in memory.

It serves it to this machine only, to read, over TLS with a certificate of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.ssl import CertificateOptions
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.web.server import Site
from twisted.web.wsgi import WSGIResource

from ..plugins.tree.tree import SIGNATURE_FILE, read_tree, sign_tree
from ..protocol.limits import MIB
from ..settings.host import HostProfile
from .hostpage import BoundedRequest
from .terminal import CommandError

if TYPE_CHECKING:
    from dulwich.repo import MemoryRepo
    from trustme import CA

_SAMPLE: Final = "hello-bridge"
_PATH: Final = f"/{_SAMPLE}.git"
_ADDRESS: Final = "127.0.0.1"
_PERSON: Final = b"Demo Author <author@example.invalid>"
_FILE_MODE: Final = 0o100644


class _GitRequest(BoundedRequest):
    # What a client has, so that only the rest is sent.
    most = MIB


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


def sample_repository(
    profile: HostProfile, random: Callable[[int], bytes], now: int
) -> MemoryRepo:
    """
    Sign the sample plugin with a throw-away key, and commit it.

    :param now: Seconds since the epoch.
    """
    # Here, and below: open starts no forge.
    from dulwich.index import commit_tree
    from dulwich.objects import Blob, Commit
    from dulwich.refs import HEADREF, local_branch_name
    from dulwich.repo import MemoryRepo

    with as_file(files("bridge").joinpath("reference", "sample-plugin")) as sample:
        tree = read_tree(sample)
    signature = sign_tree(tree, _SAMPLE, profile, random(32), now)
    repository = MemoryRepo.init_bare([], {})
    entries = []
    for path, content in {**tree.files, SIGNATURE_FILE: signature}.items():
        blob = Blob.from_string(content)
        repository.object_store.add_object(blob)
        entries.append((path.encode(), blob.id, _FILE_MODE))
    commit = Commit()
    commit.tree = commit_tree(repository.object_store, entries)
    commit.author = commit.committer = _PERSON
    commit.author_time = commit.commit_time = now
    commit.author_timezone = commit.commit_timezone = 0
    commit.message = b"Publish\n"
    repository.object_store.add_object(commit)
    branch = local_branch_name(b"main")
    repository.refs[branch] = commit.id
    repository.refs.set_symbolic_ref(HEADREF, branch)
    return repository


def start_forge(reactor: Any, repository: MemoryRepo, authority: CA) -> str:
    """
    Serve a repository on a free port, until the reactor ends.

    :param reactor: Must be an ``IReactorTCP`` and an ``IReactorThreads``.
    :param authority: Issues the certificate.
    :return: The URL of the repository.
    """
    from dulwich.server import DictBackend, UploadPackHandler
    from dulwich.web import GunzipFilter, HTTPGitApplication

    class Upload(UploadPackHandler):
        """Sends packs also to what applies no thin ones; git itself demands none."""

        required_capabilities = staticmethod(tuple)

    tls = CertificateOptions()
    authority.issue_cert(_ADDRESS, "localhost").configure_cert(tls.getContext())
    repositories: Any = {_PATH: repository, f"/{_SAMPLE}": repository}
    served = HTTPGitApplication(DictBackend(repositories))
    served.handlers = {b"git-upload-pack": Upload}
    pool = reactor.getThreadPool()
    resource = WSGIResource(reactor, pool, GunzipFilter(served))
    site = Site(resource, requestFactory=_GitRequest)
    factory = TLSMemoryBIOFactory(tls, False, site, reactor)
    port = reactor.listenTCP(0, factory, interface=_ADDRESS)
    return f"https://{_ADDRESS}:{port.getHost().port}{_PATH}"
