"""
Write what the scan refuses of the corpus: ``python -m tests.corpus.review``.

The result is to be read before it is committed: each refusal has to be right by the
meaning of its rule.  The source lines are printed for that.
"""

import sys

from .fetching import PACKAGES, digest, fetch, read_sources
from .scanning import HEADING, REVIEWED, every_refusal, rules_of, write_reviewed


def main() -> int:
    """Print every line that is refused, and write the table of refusals."""
    fetch()
    table = {}
    for package in PACKAGES:
        files = read_sources(package)
        if digest(files) != package.digest:
            print(f"{package.spec}: the digest is {digest(files)}")  # noqa: T201
        found = every_refusal(files)
        table[package.name] = {name: rules_of(hits) for name, hits in found.items()}
        for name, hits in found.items():
            lines = files[name].decode("utf-8", "replace").splitlines()
            for line, rule in hits:
                code = lines[line - 1].strip()[:120] if line <= len(lines) else ""
                print(f"{rule}\t{package.name}/{name}:{line}\t{code}")  # noqa: T201
    REVIEWED.write_text(HEADING + write_reviewed(table), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
