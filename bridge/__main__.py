"""Lets ``python -m bridge`` be the ``plugin-bridge`` command."""

from .cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
