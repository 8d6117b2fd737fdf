"""``plugin-bridge call``: one method of a running daemon."""

from __future__ import annotations

import re
from typing import Any, Final

from twisted.python import usage

from ...protocol.errors import BridgeError
from ...protocol.limits import NAME_CHARACTERS
from ...protocol.strictjson import loads
from ..asking.session import CALL_STATUS, CallerOptions, ended, session
from ..terminal import given_or_read

_NAME: Final = re.compile(rf"[a-z0-9_-]{{1,{NAME_CHARACTERS}}}")


class CallOptions(CallerOptions):
    """The command line of ``plugin-bridge call``."""

    synopsis = "Usage: plugin-bridge call [--compact] SERVICE METHOD [JSON|-]"
    longdesc = (
        "Calls a method of the running daemon and prints the result. The daemon must "
        "run with --dev. JSON contains the parameters, {} by default; - reads them "
        "from standard input. plugin-bridge-protocol(7) lists the methods. "
        + CALL_STATUS
    )

    def parseArgs(  # type: ignore[override]
        self, service: str, method: str, params: str = "{}"
    ) -> None:
        """Accept the method's name and its parameters."""
        if not (_NAME.fullmatch(service) and _NAME.fullmatch(method)):
            raise usage.UsageError("SERVICE and METHOD must be names such as state get")
        self["service"], self["method"] = service, method
        self["params"] = params


_OBJECT: Final = 'an object, such as \'{"id": "x"}\''


def main(arguments: list[str]) -> int:
    """Call a method and return the exit status."""
    options = CallOptions()
    options.parseOptions(arguments)
    return ended("call", lambda: call(options), words=str)


def call(options: CallOptions) -> int:
    """
    Call a method, and print its result.

    :return: The exit status.
    :raise UsageError: The parameters are no JSON object.
    """
    params = _params(given_or_read(options["params"]))
    with session(options, dev=True) as asked:
        service, method = options["service"], options["method"]
        options.print(asked.connection.call(service, method, params))
    return 0


def _params(text: str) -> Any:
    try:
        params = loads(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise usage.UsageError(f"JSON must be UTF-8, and {_OBJECT}") from None
    except BridgeError as e:
        raise usage.UsageError(f"JSON: {e.message}; it must be {_OBJECT}") from None
    if type(params) is not dict:
        raise usage.UsageError(f"JSON must be {_OBJECT}")
    return params
