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


class WireString(StrEnum):
    """
    A string that is fixed by the protocol.

    :ivar meaning: For the reference.
    :ivar number: What stands for it where only a number can; 0 for nothing.
    """

    meaning: str
    number: int

    def __new__(cls, value: str, meaning: str, number: int = 0) -> Self:
        """Make a member that is its own wire string."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning, member.number = meaning, number
        return member


class Code(WireString):
    """The ``code`` of an error."""

    @property
    def status(self) -> int:
        """The HTTP status REST answers it with."""
        return self.number

    BAD_REQUEST = "bad_request", "a parameter or a frame breaks a rule", 400
    MALFORMED_BODY = "malformed_body", "the body is not UTF-8", 400
    UNAUTHORIZED = "unauthorized", "the pairing token is missing or wrong", 401
    FORBIDDEN_ORIGIN = "forbidden_origin", "the page's origin is not allowed", 403
    FORBIDDEN_HOST = "forbidden_host", "the Host header is not a loopback name", 403
    NOT_FOUND = "not_found", "there is nothing at this path", 404
    UNKNOWN_SERVICE = "unknown_service", "no service has this name", 404
    UNKNOWN_METHOD = "unknown_method", "the service has no such method", 404
    METHOD_NOT_ALLOWED = (
        "method_not_allowed",
        "the path does not accept the method",
        405,
    )
    TIMED_OUT = "timed_out", "the request did not arrive in time", 408
    PAYLOAD_TOO_LARGE = "payload_too_large", "the body is too large", 413
    URI_TOO_LONG = "uri_too_long", "the request line is too long", 414
    UNSUPPORTED_MEDIA_TYPE = (
        "unsupported_media_type",
        "the body's Content-Type is not application/json",
        415,
    )
    RATE_LIMITED = "rate_limited", "too many requests; wait and ask again", 429
    HEAD_TOO_LARGE = "head_too_large", "the headers are too many or too large", 431
    INTERNAL = "internal", "a defect or an I/O failure of the daemon", 500
    UNAVAILABLE = "unavailable", "what would answer is not available now", 503


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


class Retry(WireString):
    """When a page may connect again after a socket was closed."""

    YES = "yes", "after a pause that grows with each attempt"
    LATER = "later", "after five seconds at least"
    ONCE = "once", "once, as a busy page is late with its hello; then as `paired`"
    PAIRED = "paired", "only with a token that its user has given it since"


class CloseReason(WireString):
    """Why the daemon closes a socket."""

    @property
    def code(self) -> CloseCode:
        """The code it is closed with."""
        return CloseCode(self.number)

    @property
    def retry(self) -> Retry:
        """When a page may connect again."""
        if self is CloseReason.HELLO_REQUIRED:
            return Retry.ONCE
        if self in (CloseReason.UNAUTHORIZED, CloseReason.TOKEN_ROTATED):
            return Retry.PAIRED
        return Retry.LATER if self.code is CloseCode.TRY_AGAIN_LATER else Retry.YES

    HELLO_REQUIRED = (
        "hello_required",
        "anything but a hello came first, or nothing in time",
        CloseCode.POLICY,
    )
    UNAUTHORIZED = "unauthorized", "the hello's token is wrong", CloseCode.POLICY
    SHUTDOWN = "shutdown", "the daemon shuts down", CloseCode.GOING_AWAY
    TOKEN_ROTATED = (
        "token_rotated",
        "the pairing token was replaced",
        CloseCode.GOING_AWAY,
    )
    PROTOCOL_ERROR = (
        "protocol_error",
        "a frame breaks RFC 6455",
        CloseCode.PROTOCOL_ERROR,
    )
    TEXT_ONLY = "text_frames_only", "a binary message came", CloseCode.UNSUPPORTED_DATA
    NOT_UTF8 = "not_utf8", "a text is not UTF-8", CloseCode.INVALID_TEXT
    TOO_BIG = "frame_too_large", "a message is over the cap", CloseCode.TOO_BIG
    SLOW_READER = (
        "slow_reader",
        "more is unsent than can be kept; a page that still does not read for "
        "five seconds is cut off, which browsers report as 1006",
        CloseCode.TRY_AGAIN_LATER,
    )
    LOGS_BEHIND = (
        "logs_behind",
        "log lines come faster than they can be written",
        CloseCode.TRY_AGAIN_LATER,
    )
    LOG_FLOOD = (
        "log_flood",
        "too many log frames, for too long",
        CloseCode.TRY_AGAIN_LATER,
    )
    TOO_MANY_SOCKETS = (
        "too_many_sockets",
        "a newer socket, or the last page that fits, took its place before its hello",
        CloseCode.TRY_AGAIN_LATER,
    )


class Prefix(WireString):
    """What the message of a refused plugin operation starts with."""

    NOT_HTTPS = "not_https", "the URL is not an acceptable https URL"
    DENIED = "denied", "the prompt was declined, dismissed or not answered in time"
    APPROVAL_UNAVAILABLE = "approval_unavailable", "no prompt can be shown"
    CLONE_FAILED = "clone_failed", "the repository could not be fetched"
    NO_MANIFEST = "no_manifest", "the repository has no plugin.json at its root"
    MANIFEST_INVALID = "manifest_invalid", "the manifest breaks a rule"
    POLICY = "policy", "a source file breaks the source policy"
    UNSIGNED = "unsigned", "the signature is missing or does not verify"
    ALREADY_INSTALLED = "already_installed", "a plugin of this id is installed"
    NOT_INSTALLED = "not_installed", "no plugin of this id is installed"
    NOT_TRUSTED = (
        "not_trusted",
        "the signing key was not accepted, or another user may have written the tree",
    )
    INVALID_ID = "invalid_id", "the id breaks the id rule"
    DOWNGRADE = "downgrade", "a lower version, or an older signature"
    BUILD_FAILED = "build_failed", "no bundle could be built"
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


def forget_traceback(error: BaseException | None) -> None:
    """
    Forget what an error, and those it came of, led through; for where it ends.

    What awaits a Deferred keeps the failure in a frame of the traceback: a cycle, in
    which a tree, or a text of 8 MiB, would wait for a garbage collection.
    """
    if error is None:
        return
    others = error.__cause__, error.__context__, *getattr(error, "exceptions", ())
    error.__traceback__ = error.__cause__ = error.__context__ = None
    for other in others:
        forget_traceback(other)


def bad_request(rule: str) -> BridgeError:
    """Return the refusal of what breaks a rule."""
    return BridgeError(Code.BAD_REQUEST, rule)


def unavailable(why: str) -> BridgeError:
    """Return the refusal of what can't be done now."""
    return BridgeError(Code.UNAVAILABLE, why)


def internal_error() -> BridgeError:
    """Return the answer to a call that a bug, or an I/O failure, has ended."""
    return BridgeError(Code.INTERNAL, "the daemon failed; see its log")


def shutting_down() -> BridgeError:
    """Return the refusal of what comes after the shutdown has begun."""
    return unavailable(SHUTTING_DOWN)


def plugin_error(prefix: Prefix, detail: str) -> BridgeError:
    """
    Refuse a plugin operation.

    :param detail: Goes after the prefix and a colon; a readable sentence that
        names the field or file and the rule, and never repeats the input.
    """
    return bad_request(f"{prefix}: {detail}")


def clone_failed(detail: str) -> BridgeError:
    """Return the error of a failed clone: ``clone_failed: <detail>``."""
    return plugin_error(Prefix.CLONE_FAILED, detail)
