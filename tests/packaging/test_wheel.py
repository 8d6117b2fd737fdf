"""The wheel and the sdist: built from this tree, installed where nothing else is."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.provision.setup import LIBRARY

from ..e2e.daemon import ended, printing
from .debian import copy_of_the_tree, ran

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
"""The Pythons that are supported."""


def interpreters() -> Iterator[str]:
    """Find every supported Python of this machine."""
    yield sys.executable
    own = "{}.{}".format(*sys.version_info)
    kept = Path.home() / ".pyenv" / "versions"
    for version in VERSIONS:
        found = sorted(kept.glob(f"{version}.*/bin/python"))
        path = str(found[-1]) if found else shutil.which(f"python{version}")
        if version != own and path is not None and _runs(path):
            yield path


def _runs(python: str) -> bool:
    """Whether it is a Python: a version switcher's stand-in may have none to run."""
    asked = subprocess.run([python, "-c", ""], capture_output=True, check=False)
    return asked.returncode == 0


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with both."""
    tree = copy_of_the_tree(tmp_path_factory.mktemp("source") / "plugin-bridge")
    ran([sys.executable, "-m", "bridge", "setup", "--download", "bridge/shipped"], tree)
    # What an earlier build left in the checkout is not packed.
    left = tree / "build" / "lib" / "bridge" / "left.py"
    left.parent.mkdir(parents=True)
    left.touch()
    ran([sys.executable, "-m", "build", "--sdist", "--wheel", tree], tree)
    return tree / "dist"


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    """The wheel."""
    [found] = dist.glob("*.whl")
    return found


def installed(wheel: Path, python: str, to: Path) -> Path:
    """Install the wheel for a Python; gives the directory of the commands."""
    ran([python, "-m", "venv", str(to)], to.parent)
    ran([to / "bin" / "python", "-m", "pip", "install", "--quiet", str(wheel)], to)
    return to / "bin"


def test_contents(dist: Path, wheel: Path) -> None:
    """The sdist has all; both have the page's library, and nothing for one system."""
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    for name in (
        *("setup.py", "README.md", "CHANGELOG.md", "LICENSE", "bridge/tap.py"),
        "twisted/plugins/bridge_dropin.py",
        "bridge/settings/permissions.toml",
        "bridge/settings/profiles/vrcnext.toml",
        "bridge/provision/plugin-bridge.service",
        "bridge/schemas/protocol.json",
    ):
        assert name in names
    with zipfile.ZipFile(wheel) as found:
        names += found.namelist()
    shipped = [name for name in names if name.startswith("bridge/shipped/")]
    assert shipped == [f"bridge/shipped/{LIBRARY.file}"] * 2
    # A part of the tests could not run.
    assert not {"bridge/left.py", "tests", "tests/test_tap.py"} & {*names}


@pytest.mark.parametrize("python", list(interpreters()))
def test_wheel_runs(python: str, wheel: Path, tmp_path: Path) -> None:
    """From the wheel alone: the commands, twistd's plugin, and a start."""
    commands = installed(wheel, python, tmp_path / "venv")
    alone = {"PYTHONPATH": ""}

    def run(name: str, *line: str) -> str:
        done = ended(tmp_path, [str(commands / name), *line], alone)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "plugin-bridge" in run("plugin-bridge", "--version")
    assert "A loopback daemon for web pages." in run("twistd", "--help")
    read = "from bridge.schemas import read_schema; print(read_schema('protocol.json'))"
    assert "plugins/install" in run("python", "-c", read)
    data = f"--data-dir={tmp_path / 'data'}"
    run("plugin-bridge", "new", data, "mine")
    for name in (".gitignore", ".github/workflows/sign.yml", "tests/main.test.ts"):
        assert (tmp_path / "mine" / name).is_file()
    run("plugin-bridge", "setup", "--host=reference", data)
    built = run("plugin-bridge", "run", "--host=reference", data, "--build-plugins")
    assert '"ok":true' in built
    # The command that the real page names to its users.
    token = run("vrcnext-bridge", "--print-token")
    assert len(token) == 44
    assert token == run("plugin-bridge", "run", "--host=vrcnext", "--print-token")
    assert token == (tmp_path / ".vrcnext-plugins" / "token").read_text()
    line = ["-n", "bridge", "--host=reference", "--listen=127.0.0.1:0", data]
    with printing([str(commands / "twistd"), *line], tmp_path, alone) as daemon:
        daemon.wait_for("listening on")


def test_pipx(dist: Path, tmp_path: Path) -> None:
    """Pipx builds it from the sdist and installs it, and then what the demo needs."""
    places = [f"PIPX_HOME={tmp_path / 'pipx'}", f"PIPX_BIN_DIR={tmp_path / 'bin'}"]
    pipx = ["env", *places, sys.executable, "-m", "pipx"]
    ran([*pipx, "install", "--quiet", *dist.glob("*.tar.gz")], tmp_path)
    ran([*pipx, "inject", "plugin-bridge", "trustme"], tmp_path)
    assert "plugin-bridge" in ran([tmp_path / "bin" / "plugin-bridge", "--version"])
