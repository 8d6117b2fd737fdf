"""The Debian package, built, installed in a clean system and used there."""

import json
import re
import shutil
from http.client import HTTPConnection
from pathlib import Path

import pytest

import bridge
from bridge.provision.setup import LIBRARY

from ..e2e.daemon import Page
from ..e2e.test_install import tree
from ..forge import sign, start_forge_process
from ..plugins.operations.bench import PROFILE, SEED
from ..ports import free_port
from ..programs import run
from ..waiting import PATIENCE_SECONDS, wait_until
from . import debian

UNITS = "usr/lib/systemd/user"
EXPOSURE = 68
"""In tenths: what ``systemd-analyze security`` may score at most."""


@pytest.fixture(scope="module", params=debian.RELEASES, ids=str)
def release(request: pytest.FixtureRequest) -> debian.Release:
    """Each release of Debian."""
    return request.param


@pytest.fixture(scope="module")
def built(release, tmp_path_factory):
    """The directory with the packages that are built there."""
    scratch = tmp_path_factory.mktemp("deb")
    yield debian.build(release, scratch)
    shutil.rmtree(scratch)


@pytest.fixture(scope="module")
def package(built: Path) -> Path:
    """The package with the daemon."""
    [found] = built.glob("plugin-bridge_*.deb")
    return found


@pytest.fixture(scope="module")
def root(release, package, tmp_path_factory):
    """A clean system with the package."""
    directory = tmp_path_factory.mktemp("system") / "root"
    debian.install(release, package, directory)
    yield directory
    shutil.rmtree(directory)


def configure(root: Path, unit: str, *lines: str) -> None:
    """Add to a unit's configuration, as its user would."""
    user = root / "home" / "tester" / ".config" / "systemd" / "user"
    directory = user / f"{unit}.d"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "test.conf").write_text("\n".join(lines) + "\n")
    debian.ran(["chroot", str(root), "chown", "-R", "1000:1000", "/home/tester"])


def health(port: int):
    """Ask the daemon whether it lives."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    connection.request("GET", "/v1/health")
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def test_lintian(built: Path) -> None:
    """Debian's checker finds no error, and nothing amiss with the manual pages."""
    command = ["lintian", "--allow-root", "--fail-on", "error,warning"]
    reported = debian.ran([*command, *built.glob("*.deb")])
    assert "manual-page" not in reported, reported
    assert "groff-message" not in reported, reported


def test_contents(built: Path, package: Path) -> None:
    """It has what users need, and nothing that only developers of libraries do."""
    held = debian.contents(package)
    library = "usr/lib/plugin-bridge/"
    for wanted in (
        "usr/bin/vrcnext-bridge",
        f"{library}bridge/shipped/esbuild",
        f"{library}bridge/shipped/{LIBRARY.file}",
        f"{library}bridge/settings/permissions.toml",
        f"{library}bridge/settings/profiles/vrcnext.toml",
        f"{library}bridge/schemas/protocol.json",
        f"{library}twisted/plugins/bridge_dropin.py",
        # A second name; that every page is installed is compared in tests/docs.
        "usr/share/man/man1/vrcnext-bridge.1.gz",
        "usr/share/man/man7/plugin-bridge-protocol.7.gz",
    ):
        assert wanted in held, wanted
    libraries = {name for name in held if name.startswith(library)}
    for name in libraries:
        if name.startswith(f"{library}bridge/"):
            continue
        assert not re.search(r"/(tests?|debug|conch|mail|words)/", name), name
        assert not name.endswith((".pyi", ".pyc", ".h", ".bfbs", ".html")), name
    [documentation] = built.glob("plugin-bridge-doc_*.deb")
    html = "usr/share/doc/plugin-bridge/html/"
    pages = debian.contents(documentation)
    assert {f"{html}index.html", f"{html}searchindex.js"} <= pages
    assert f"{html}.buildinfo" not in pages


def test_versions(release: debian.Release, package: Path) -> None:
    """Of two packages of one version, that for the newer Python replaces the other."""

    def version(python: str) -> str:
        return f"{bridge.__version__}+py{python}"

    of = version(release.python)
    assert debian.field(package, "Version") == of
    order = ((version("3.9"), of), (of, version("3.14")), (bridge.__version__, of))
    for older, newer in order:
        debian.ran(["dpkg", "--compare-versions", older, "lt", newer])


def test_its_own_python(release: debian.Release, root: Path, package: Path) -> None:
    """It runs in the Python that its libraries are for, also after an upgrade."""
    python = f"python{release.python}"
    assert python in debian.field(package, "Depends").replace(",", "").split()
    command = (root / "usr" / "bin" / "plugin-bridge").read_text("utf-8")
    assert command.startswith(f"#!/usr/bin/{python} -IS\n")
    # What runs when the default changes: it compiles for the same one again.
    [hook] = (root / "usr/share/python3/runtime.d").glob("plugin-bridge.*")
    debian.inside(root, f"sh /usr/share/python3/runtime.d/{hook.name} rtupdate")
    cached = (root / "usr/lib/plugin-bridge/bridge/__pycache__").iterdir()
    tag = f"cpython-{release.python.replace('.', '')}"
    assert {path.name.split(".")[1] for path in cached} == {tag}


def test_metadata(root: Path) -> None:
    """The desktop entry, the metadata and the units have what they should."""
    share = root / "usr" / "share"
    debian.ran(
        ["desktop-file-validate", share / "applications" / "plugin-bridge.desktop"]
    )
    [metadata] = (share / "metainfo").iterdir()
    debian.ran(["appstreamcli", "validate", "--no-net", str(metadata)])


def test_units(root: Path) -> None:
    """The units are understood whole, and the sandbox scores as it did."""
    with debian.session(root) as session:
        for unit in ("plugin-bridge.service", "plugin-bridge.socket"):
            # What is not known is only warned of.
            reported = session.do(
                f"systemd-analyze --user verify --man=no /{UNITS}/{unit}"
            )
            assert "plugin-bridge" not in reported, reported
        session.do(
            f"systemd-analyze security --user --offline=true "
            f"--threshold={EXPOSURE} /{UNITS}/plugin-bridge.service"
        )


def test_under_systemd(root: Path) -> None:
    """A user enables it; it reports it is ready, and comes back when killed."""
    port = free_port()
    with debian.session(root) as session:
        configure(
            root,
            "plugin-bridge.service",
            "[Service]",
            f"Environment=BRIDGE_LISTEN=127.0.0.1:{port}",
        )
        enabled = session.ask(
            "systemctl --user is-enabled plugin-bridge.{service,socket}"
        )
        assert enabled[1] == "disabled\ndisabled\n"
        session.do("systemctl --user daemon-reload")
        session.do("systemctl --user enable --now plugin-bridge")
        assert health(port)["ok"] is True
        status = session.do("systemctl --user show plugin-bridge -p StatusText")
        assert f"listening on http://127.0.0.1:{port}" in status
        session.do("systemctl --user kill --signal=KILL plugin-bridge")
        shown = "systemctl --user show plugin-bridge -p NRestarts -p ActiveState"

        def back() -> bool:
            reported = session.do(shown)
            return "NRestarts=1" in reported and "ActiveState=active" in reported

        wait_until(back)
        assert health(port)["ok"] is True
        session.do("systemctl --user reload plugin-bridge")
        assert health(port)["ok"] is True
        session.do("systemctl --user stop plugin-bridge")
        result = session.do("systemctl --user show plugin-bridge -p Result")
        assert result.strip() == "Result=success"


def test_socket_activation(root: Path) -> None:
    """In place of the service, the first connection starts it, and is answered."""
    port = free_port()
    with debian.session(root) as session:
        session.do("systemctl --user is-active plugin-bridge")
        session.do("systemctl --user disable --now plugin-bridge.service")
        configure(
            root,
            "plugin-bridge.socket",
            "[Socket]",
            "ListenStream=",
            f"ListenStream=127.0.0.1:{port}",
        )
        session.do("systemctl --user daemon-reload")
        session.do("systemctl --user enable --now plugin-bridge.socket")
        assert session.ask("systemctl --user is-active plugin-bridge")[0] != 0
        assert health(port)["ok"] is True
        session.do("systemctl --user is-active plugin-bridge")
        session.do("systemctl --user stop plugin-bridge.socket plugin-bridge.service")
        session.do("plugin-bridge remove --yes")
        left = session.ask("systemctl --user is-enabled plugin-bridge.{service,socket}")
        assert left[1] == "disabled\ndisabled\n"


def test_main_job(root: Path, tmp_path: Path) -> None:
    """A page pairs with it, and a signed plugin is installed from git and built."""
    port = free_port()
    forge = start_forge_process()
    try:
        source = tmp_path / "good"
        source.mkdir()
        for name, content in tree("good").items():
            (source / name).write_text(content)
        sign(source, "good", PROFILE, SEED)
        forge.publish(source, "good")
        with debian.session(root) as session:
            shutil.copy(forge.ca_file, root / "home" / "tester" / "ca.pem")
            configure(
                root,
                "plugin-bridge.service",
                "[Service]",
                f"Environment=BRIDGE_LISTEN=127.0.0.1:{port} BRIDGE_DEV=1",
                "Environment=BRIDGE_HOST=reference BRIDGE_CA_FILE=%h/ca.pem",
            )
            session.do("plugin-bridge setup --host reference")
            session.do("systemctl --user daemon-reload")
            session.do("systemctl --user restart plugin-bridge")
            token = session.do("plugin-bridge run --host reference --print-token")
            # Above it there is a warning when something of this machine has its port.
            [*_, others] = session.do("vrcnext-bridge --print-token").splitlines()
            assert len(others) == len(token.strip()) and others != token.strip()
            page = Page(port)
            page.send({"type": "hello", "token": token.strip(), "client": "t/1.0.0"})
            assert page.receive()["type"] == "welcome"
            answer = page.call("plugins", "install", {"url": forge.url("good")})
            assert answer["ok"] is True, answer
            page.close()
            data = "~/.local/share/plugin-bridge"
            bundle = f"{data}/themes/reference-host/reference-host.js"
            assert "Marker of good" in session.do(f"cat {bundle}")
            session.do("systemctl --user stop plugin-bridge")
            # Without the service, the command starts a daemon of its own.
            shown = session.do(
                f"BRIDGE_LISTEN=127.0.0.1:{port} timeout --signal=INT 8 "
                "plugin-bridge open --host reference --page-port 0 --no-browser; true"
            )
            assert "started the daemon\nOpen  http://127.0.0.1:" in shown
    finally:
        forge.stop()


def test_nothing_is_left(root: Path) -> None:
    """Removed, it leaves the user's files and nothing else."""
    purged = run("chroot", root, "dpkg", "--purge", "plugin-bridge")
    assert purged.returncode == 0, purged.stdout + purged.stderr
    assert "not removed" not in purged.stderr, purged.stderr
    for gone in ("usr/lib/plugin-bridge", "usr/bin/plugin-bridge"):
        assert not (root / gone).exists()
    links = root / "etc" / "systemd" / "user" / "default.target.wants"
    assert not (links / "plugin-bridge.service").is_symlink()
    assert (root / "home" / "tester" / ".local" / "share" / "plugin-bridge").exists()
