"""
The frames of the socket: one frozen class for each that a page may send.

``read_frame`` is total: any bytes become a frame, or a ``RefusedFrame`` with the id of
the request to answer, if there is one.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable
from typing import Annotated, Any, Final

from attrs import evolve, field

from ..classes import frozen
from .errors import BridgeError, Code, bad_request, forget_traceback, internal_error
from .limits import LENIENT_BYTES, NAME_CHARACTERS, REQUEST_ID_CHARACTERS
from .strictjson import Size, dumps, is_bounded, loads
from .wire import string, structure, unstructure

PROTOCOL: Final = "1.0"
"""
``MAJOR.MINOR``, in ``/v1/health`` and ``welcome``.

The minor number grows with what clients may ignore, the major number with anything
else; see docs/decisions/0003.
"""

Id = Annotated[str, string(REQUEST_ID_CHARACTERS, least=1)]
Name = Annotated[str, string(NAME_CHARACTERS, like=r"[a-z0-9_-]+", least=1)]


@frozen
class Hello:
    """
    The first frame of a page.

    :ivar token: The pairing token.
    :ivar client: What the page calls itself, ``<name>/<semver>``; any text will do,
        and its first 128 characters are logged.
    """

    token: str
    client: str


@frozen
class Request:
    """
    One call of a page.

    :ivar id: Chosen by the page; the response carries it.
    :ivar service: Whose method.
    :ivar method: Which one.
    :ivar params: Its parameters; none, or null, are ``{}``.
    """

    id: Id
    service: Name
    method: Name
    params: dict[str, Any] = field(factory=dict)


@frozen
class Logs:
    """
    Log lines of a page.  It is never answered, so its records are read later; from a
    frame that is not strict JSON, whatever can be read is kept.

    :ivar records: In the form that ``logs/write`` accepts.
    """

    records: Any


@frozen
class Welcome:
    """
    The answer to a good ``hello``: the page is authenticated.

    :ivar version: The daemon's version.
    :ivar services: Every service by name: its ``summary``, the names of its
        ``methods``, and what else it describes.
    :ivar protocol: The version of the protocol, ``MAJOR.MINOR``.
    """

    version: str
    services: dict[str, dict[str, Any]]
    protocol: str = PROTOCOL


@frozen
class ErrorFields:
    """
    Why something was refused.

    :ivar code: What kind of refusal it is.
    :ivar message: For people; names the field and the rule. That of a refused plugin
        operation starts with a prefix, a colon and a space.
    :ivar retry_after: With ``rate_limited``: whole seconds to wait.
    """

    code: Code
    message: str
    retry_after: int | None = None


@frozen
class RefusedFrame:
    """
    Bytes that are not a frame.

    :ivar id: The request to answer; ``None`` calls for an ``error`` push instead.
    :ivar answered: False for what was meant as ``logs``: the page would log the
        answer and send it back, forever.
    :ivar evaluation: The id of the evaluation that it was to answer, as it seems.
    :ivar defect: The bug of ours that kept the frame from being read, to be logged.
    """

    error: BridgeError
    id: str | None = None
    answered: bool = True
    evaluation: str | None = None
    defect: Exception | None = None


Frame = Hello | Request | Logs

# Longer numbers take Python longer than all else in a frame.
_NUMBER_CHARACTERS = 32


def _number(kind: Callable[[str], float]) -> Callable[[str], float]:
    return lambda text: math.inf if len(text) > _NUMBER_CHARACTERS else kind(text)


_LENIENT = json.JSONDecoder(
    strict=False, parse_int=_number(int), parse_float=_number(float)
)
_FIELDS = re.compile(r'"(id|type)"\s*:\s*"([^"\\]{1,128})"')
_EVALUATION = re.compile(rb'"params"\s*:\s*{\s*"id"\s*:\s*"([\w-]{22})"')

_KINDS: dict[str, type[Hello | Request]] = {"hello": Hello, "request": Request}


def read_frame(text: bytes, size: Size | None = None) -> Frame | RefusedFrame:
    """
    Read one text frame.

    :param size: Of this text, when it was counted as it came.
    """
    try:
        value = loads(text, size)
    except BridgeError as error:
        lenient = _lenient(text, size)
        evaluation = _EVALUATION.search(text, 0, LENIENT_BYTES)
        return _recovered(lenient) or _refuse(error, lenient, evaluation)
    try:
        return _structure(value)
    except BridgeError as error:
        return _refuse(error, value)
    except Exception as defect:  # noqa: BLE001
        return evolve(_refuse(internal_error(), value), defect=defect)


def _structure(value: Any) -> Frame:
    if type(value) is not dict:
        raise bad_request("a frame must be an object")
    fields = dict(value)
    kind = fields.pop("type", None)
    if kind == "logs":
        if fields.keys() != {"records"}:
            raise bad_request("logs: the only field is records")
        return Logs(fields["records"])
    known = _KINDS.get(kind) if type(kind) is str else None
    if known is None:
        raise bad_request("type: must be hello (first, once), request or logs")
    if known is Request and fields.get("params", {}) is None:
        del fields["params"]
    return structure(fields, known)


def _lenient(text: bytes, size: Size | None) -> Any:
    """
    Read what is not strict JSON, to find the request it may be meant as.

    Python's reader accepts NaN, lone surrogates and control characters, and ignores
    what trails.  It holds the interpreter, so it does not read too many values.  Where
    it fails too, the two fields are searched for in the beginning.
    """
    if is_bounded(text, size):
        readable = text.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
        with contextlib.suppress(ValueError, RecursionError):
            return _LENIENT.raw_decode(readable)[0]
    beginning = text[:LENIENT_BYTES].decode("utf-8", "replace")
    return dict(_FIELDS.findall(beginning)[::-1])


def _recovered(value: Any) -> Logs | None:
    """
    Recover the log records of a frame that is not strict JSON.

    Half a surrogate pair, where a page has cut a text, must cost no other record.
    """
    if type(value) is not dict or value.keys() != {"type", "records"}:
        return None
    return Logs(value["records"]) if value["type"] == "logs" else None


def _refuse(
    error: BridgeError, value: Any, evaluation: re.Match[bytes] | None = None
) -> RefusedFrame:
    forget_traceback(error)
    if type(value) is not dict:
        return RefusedFrame(error)
    if value.get("type") == "logs":
        return RefusedFrame(error, answered=False)
    asked = None if evaluation is None else evaluation[1].decode("ascii")
    return RefusedFrame(error, id=_usable_id(value), evaluation=asked)


def _usable_id(value: dict[str, Any]) -> str | None:
    found = value.get("id")
    if value.get("type") != "request" or type(found) is not str:
        return None
    if not 1 <= len(found) <= REQUEST_ID_CHARACTERS:
        return None
    try:
        found.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate: it can't be sent back
        return None
    return found


def welcome(version: str, services: dict[str, Any]) -> bytes:
    """Write the answer to a good ``hello``."""
    return dumps({"type": "welcome", **unstructure(Welcome(version, services))})


def response(request_id: str, result: Any) -> bytes:
    """Write the answer to a request that succeeded."""
    return dumps({"type": "response", "id": request_id, "ok": True, "result": result})


def refusal(request_id: str, error: BridgeError) -> bytes:
    """Write the answer to a request that was refused."""
    fields = error_fields(error)
    return dumps({"type": "response", "id": request_id, "ok": False, "error": fields})


def push(event: str, data: Any) -> bytes:
    """Write an event."""
    return dumps({"type": "push", "event": event, "data": data})


def error_fields(error: BridgeError) -> dict[str, Any]:
    """Return an error as on the wire."""
    plain: dict[str, Any] = unstructure(
        ErrorFields(error.code, error.message, error.retry_after)
    )
    return plain
