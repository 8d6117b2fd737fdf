"""What an attacked page meets: its server, and another one."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import Factory, define

from ..reference.bundling import lay_out_page
from ..webserver import Answers

_POLICY: Final = re.compile(
    r"<meta\s+http-equiv=\"Content-Security-Policy\".*?>", re.DOTALL
)
PAGES: Final = ("page", "open")
"""What is attacked: the reference page, and it without its content security policy."""
LOOT: Final = "/loot/"


def lay_out_pages(directory: Path, theme: Path) -> None:
    """Make a directory with each of ``PAGES``; the bundle is in ``theme``."""
    for name in PAGES:
        lay_out_page(directory / name, theme)
    index = directory / "open" / "index.html"
    text, count = _POLICY.subn("", index.read_text("utf-8"))
    assert count == 1
    index.unlink()
    index.write_text(text, "utf-8")


@define
class Elsewhere:
    """
    A server of another origin, which notes who has sent something there.

    :ivar seen: The names of pages and the ids of attacks.
    """

    seen: set[tuple[str, str]] = Factory(set)

    def answers(self) -> type[Answers]:
        elsewhere = self

        class Noting(Answers):
            def do_GET(self) -> None:
                if self.path.startswith(LOOT):
                    page, attack = self.path.removeprefix(LOOT).split("/")[:2]
                    name = attack.removesuffix(".js").partition("?")[0]
                    elsewhere.seen.add((page, name))
                # Who has sent it may have gone.
                with suppress(OSError):
                    self.send_response(200)
                    self.send_header("Content-Type", "text/html")
                    self.send_header("Content-Length", "0")
                    self.end_headers()

            def do_POST(self) -> None:
                self.do_GET()

        return Noting
