"""From SQLite's rows to the answer's, measured while they come."""

from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING, Any, Final

import orjson

from ..classes import define, frozen
from ..protocol import limits
from ..protocol.errors import BridgeError, bad_request
from ..protocol.strictjson import SAFE_INTEGER

if TYPE_CHECKING:
    import sqlite3

_NULL_BYTES: Final = 4
_NUMBER_BYTES: Final = 20
_BLOB_BYTES: Final = 32
_QUOTES_BYTES: Final = 2


@frozen(eq=False, repr=False)
class Rows:
    """
    What a statement gives.

    :ivar columns: Their names, in order; a name can be there twice.
    :ivar rows: Plain JSON by column; of two columns of a name it has the last.
    """

    columns: list[str]
    # JSON that is written already: to format 8 MiB in the reactor's thread would block
    # it for too long.  It is one block, as thousands of small ones would leave the heap
    # in pieces.
    rows: list[dict[str, Any]]


def _too_large(limit: str) -> BridgeError:
    return bad_request(f"the result is too large: over {limit}")


@define(eq=False, repr=False)
class Meter:
    """
    Estimates how large a result is as JSON, and stops it when it is too large.

    ``text`` is a connection's ``text_factory``, so a row of many long texts is
    stopped before it is whole.
    """

    _blobs: bool
    _left: int = limits.SQL_RESULT_BYTES

    def add(self, size: int) -> None:
        """
        Add to the size.

        :raise BridgeError: It is too large.
        """
        self._left -= size
        if self._left < 0:
            raise _too_large(f"{limits.SQL_RESULT_BYTES} bytes")

    def text(self, raw: bytes) -> str:
        """Read a text; what is not UTF-8 in it is replaced."""
        # As ``add``, without a call: this is half the time of a large result.
        self._left -= len(raw) + _QUOTES_BYTES
        if self._left < 0:
            self.add(0)
        return str(raw, "utf-8", "replace")

    def value(self, found: Any) -> Any:
        """Write a value that is no text as JSON can have it."""
        kind = type(found)
        if kind is int:
            self._left -= _NUMBER_BYTES
            if self._left < 0:
                self.add(0)
            return found if -SAFE_INTEGER <= found <= SAFE_INTEGER else str(found)
        if kind is bytes:
            return self._blob(found)
        if found is None:
            self.add(_NULL_BYTES)
            return None
        self.add(_NUMBER_BYTES)
        return found if math.isfinite(found) else None

    def _blob(self, blob: bytes) -> dict[str, Any]:
        self.add(_BLOB_BYTES)
        if not self._blobs:
            return {"blobBytes": len(blob)}
        self.add(len(blob) * 4 // 3)
        text = base64.b64encode(blob).decode("ascii")
        return {"blobBytes": len(blob), "base64": text}


def collect(cursor: sqlite3.Cursor, meter: Meter) -> Rows:
    """
    Read all rows.

    :raise BridgeError: They are too many, or too large: a character can take six bytes.
    """
    if len(cursor.description) > limits.SQL_COLUMNS:
        # Before the first row is read: blobs are measured only when it is whole.
        raise _too_large(f"{limits.SQL_COLUMNS} columns")
    columns = [description[0] for description in cursor.description]
    names = len("".join(columns).encode("utf-8", "replace"))
    text = bytearray()
    add, value = meter.add, meter.value
    for number, row in enumerate(cursor):
        if number == limits.SQL_ROWS:
            raise _too_large(f"{limits.SQL_ROWS} rows")
        add(names)
        values = [v if type(v) is str else value(v) for v in row]
        text += b","
        text += orjson.dumps(dict(zip(columns, values)))  # noqa: B905 (SQLite counts them)
        if len(text) > limits.SQL_RESULT_JSON_BYTES:
            raise _too_large(f"{limits.SQL_RESULT_JSON_BYTES} bytes as JSON")
    rows: Any = orjson.Fragment(b"".join((b"[", memoryview(text)[1:], b"]")))
    return Rows(columns, rows)
