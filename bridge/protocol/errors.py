"""
Every error that can be reported to a caller.

::

    BridgeError         a refusal the caller may see: a Code and a message
    anything else       a bug: logged in full, answered as Code.INTERNAL
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final, Self

from ..classes import define

SHUTTING_DOWN: Final = "the daemon is shutting down"
"""Why nothing more is begun, in every message that reports it."""


class Code(StrEnum):
    """The ``code`` of an error, with the HTTP status REST answers it with."""

    status: int
    meaning: str

    def __new__(cls, value: str, status: int, meaning: str) -> Self:
        """Make a member that is its own wire string."""
        code = str.__new__(cls, value)
        code._value_ = value
        code.status = status
        code.meaning = meaning
        return code

    BAD_REQUEST = "bad_request", 400, "a parameter or a frame breaks a rule"
    MALFORMED_BODY = "malformed_body", 400, "the body is not UTF-8"
    UNAUTHORIZED = "unauthorized", 401, "the pairing token is missing or wrong"
    FORBIDDEN_ORIGIN = "forbidden_origin", 403, "the page's origin is not allowed"
    FORBIDDEN_HOST = "forbidden_host", 403, "the Host header is not a loopback name"
    NOT_FOUND = "not_found", 404, "there is nothing at this path"
    UNKNOWN_SERVICE = "unknown_service", 404, "no service has this name"
    UNKNOWN_METHOD = "unknown_method", 404, "the service has no such method"
    METHOD_NOT_ALLOWED = (
        "method_not_allowed",
        405,
        "the path does not accept the method",
    )
    TIMED_OUT = "timed_out", 408, "the request did not arrive in time"
    PAYLOAD_TOO_LARGE = "payload_too_large", 413, "the body is too large"
    URI_TOO_LONG = "uri_too_long", 414, "the request line is too long"
    UNSUPPORTED_MEDIA_TYPE = (
        "unsupported_media_type",
        415,
        "the body's Content-Type is not application/json",
    )
    RATE_LIMITED = "rate_limited", 429, "too many requests; wait and ask again"
    HEAD_TOO_LARGE = "head_too_large", 431, "the headers are too many or too large"
    INTERNAL = "internal", 500, "a defect or an I/O failure of the daemon"
    UNAVAILABLE = "unavailable", 503, "what would answer is not available now"


class CloseCode(IntEnum):
    """
    The codes the daemon closes a socket with (RFC 6455, section 7.4.1).

    A page stops reconnecting on 1008, so only a refused handshake uses it.
    """

    GOING_AWAY = 1001
    PROTOCOL_ERROR = 1002
    UNSUPPORTED_DATA = 1003
    INVALID_TEXT = 1007
    POLICY = 1008
    TOO_BIG = 1009
    TRY_AGAIN_LATER = 1013


class WireString(StrEnum):
    """A string that is fixed by the protocol, with its meaning for the reference."""

    meaning: str

    def __new__(cls, value: str, meaning: str) -> Self:
        """Make a member that is its own wire string."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member


class Retry(WireString):
    """When a page may connect again after a socket was closed."""

    YES = "yes", "after a pause that grows with each attempt"
    LATER = "later", "after five seconds at least"
    PAIRED = "paired", "only with a token that its user has given it since"


class CloseReason(StrEnum):
    """Why the daemon closes a socket, with the code it closes it with."""

    code: CloseCode
    meaning: str

    def __new__(cls, value: str, code: CloseCode, meaning: str) -> Self:
        """Make a member that is its own wire string."""
        reason = str.__new__(cls, value)
        reason._value_ = value
        reason.code = code
        reason.meaning = meaning
        return reason

    @property
    def retry(self) -> Retry:
        """When a page may connect again."""
        if self.code is CloseCode.POLICY or self is CloseReason.TOKEN_ROTATED:
            return Retry.PAIRED
        return Retry.LATER if self.code is CloseCode.TRY_AGAIN_LATER else Retry.YES

    HELLO_REQUIRED = (
        "hello_required",
        CloseCode.POLICY,
        "anything but a hello came first, or nothing in time",
    )
    UNAUTHORIZED = "unauthorized", CloseCode.POLICY, "the hello's token is wrong"
    SHUTDOWN = "shutdown", CloseCode.GOING_AWAY, "the daemon shuts down"
    TOKEN_ROTATED = (
        "token_rotated",
        CloseCode.GOING_AWAY,
        "the pairing token was replaced",
    )
    PROTOCOL_ERROR = (
        "protocol_error",
        CloseCode.PROTOCOL_ERROR,
        "a frame breaks RFC 6455",
    )
    TEXT_ONLY = (
        "text_frames_only",
        CloseCode.UNSUPPORTED_DATA,
        "a binary message came",
    )
    NOT_UTF8 = "not_utf8", CloseCode.INVALID_TEXT, "a text is not UTF-8"
    TOO_BIG = "frame_too_large", CloseCode.TOO_BIG, "a message is over the cap"
    SLOW_READER = (
        "slow_reader",
        CloseCode.TRY_AGAIN_LATER,
        "more is unsent than can be kept; a page that still does not read for "
        "five seconds is cut off, which browsers report as 1006",
    )
    LOGS_BEHIND = (
        "logs_behind",
        CloseCode.TRY_AGAIN_LATER,
        "log lines come faster than they can be written",
    )
    LOG_FLOOD = (
        "log_flood",
        CloseCode.TRY_AGAIN_LATER,
        "too many log frames, for too long",
    )
    TOO_MANY_SOCKETS = (
        "too_many_sockets",
        CloseCode.TRY_AGAIN_LATER,
        "a newer socket, or the last page that fits, took its place before its hello",
    )


class Prefix(WireString):
    """What the message of a refused plugin operation starts with."""

    NOT_HTTPS = "not_https", "the URL is not an acceptable https URL"
    DENIED = "denied", "the prompt was declined, dismissed or not answered in time"
    APPROVAL_UNAVAILABLE = "approval_unavailable", "no prompt can be shown"
    CLONE_FAILED = "clone_failed", "the repository could not be fetched within limits"
    NO_MANIFEST = "no_manifest", "the repository has no plugin.json at its root"
    MANIFEST_INVALID = "manifest_invalid", "plugin.json breaks a rule"
    POLICY = "policy", "a source file breaks the source policy"
    UNSIGNED = "unsigned", "plugin.sig is missing or does not verify"
    ALREADY_INSTALLED = "already_installed", "a plugin of this id is installed"
    NOT_INSTALLED = "not_installed", "no plugin of this id is installed"
    NOT_TRUSTED = (
        "not_trusted",
        "the signing key was not accepted, or another user may have written the tree",
    )
    INVALID_ID = "invalid_id", "the id breaks the id rule"
    DOWNGRADE = "downgrade", "a lower version, or an older signature"
    BUILD_FAILED = "build_failed", "the bundle does not build with the plugin"
    REINSTALL_REQUIRED = "reinstall_required", "the record names no signing key"
    MOVED = "moved", "the repository holds something else than what was previewed"
    PRIVATE_ADDRESS = (
        "private_address",
        "a preview would connect to a private network, and the user did not allow it",
    )
    BUSY = "busy", "the same is under way, or another preview"
    CANCELLED = "cancelled", "the operation was cancelled, and rolled back"
    NOT_CANCELLABLE = (
        "not_cancellable",
        "the operation commits already, has ended, or is unknown",
    )


class UserError(Exception):
    """Why something can't be done: one line for the user of a command, no secret."""


# Not frozen: Twisted and Python both set attributes on a raised exception.
@define(auto_exc=True)
class BridgeError(Exception):
    """
    A refusal the caller may see.

    :ivar message: Names the rule that was broken; never repeats what was sent.
    :ivar retry_after: With ``rate_limited``: whole seconds to wait.
    """

    code: Code
    message: str
    retry_after: int | None = None

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def internal_error() -> BridgeError:
    """Return the answer to a call that a bug, or an I/O failure, has ended."""
    return BridgeError(Code.INTERNAL, "the daemon failed; see its log")


def shutting_down() -> BridgeError:
    """Return the refusal of what comes after the shutdown has begun."""
    return BridgeError(Code.UNAVAILABLE, SHUTTING_DOWN)


def plugin_error(prefix: Prefix, detail: str) -> BridgeError:
    """
    Refuse a plugin operation.

    :param detail: Goes after the prefix and a colon; a readable sentence that
        names the field or file and the rule, and never repeats the input.
    """
    return BridgeError(Code.BAD_REQUEST, f"{prefix}: {detail}")
