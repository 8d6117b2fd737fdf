"""Tests for bridge.protocol.errors."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.errors import (
    BridgeError,
    CloseCode,
    CloseReason,
    Code,
    Prefix,
    Retry,
    plugin_error,
)


class CodeTests(SynchronousTestCase):
    """Tests for the codes of errors."""

    def test_statuses(self) -> None:
        """Every code answers REST with the status callers know it by."""
        self.assertEqual(
            {str(code): code.status for code in Code},
            {
                "bad_request": 400,
                "malformed_body": 400,
                "unauthorized": 401,
                "forbidden_origin": 403,
                "forbidden_host": 403,
                "not_found": 404,
                "unknown_service": 404,
                "unknown_method": 404,
                "method_not_allowed": 405,
                "timed_out": 408,
                "payload_too_large": 413,
                "uri_too_long": 414,
                "unsupported_media_type": 415,
                "rate_limited": 429,
                "head_too_large": 431,
                "internal": 500,
                "unavailable": 503,
            },
        )


class CloseTests(SynchronousTestCase):
    """Tests for the reasons a socket is closed for."""

    def test_policy_is_for_handshakes(self) -> None:
        """Only a refused hello closes with 1008, on which a page gives up."""
        final = {str(r) for r in CloseReason if r.code is CloseCode.POLICY}
        self.assertEqual(final, {"hello_required", "unauthorized"})

    def test_fit_a_close_frame(self) -> None:
        """Every reason fits the 123 bytes a close frame has for it."""
        for reason in CloseReason:
            self.assertLessEqual(len(reason.encode("ascii")), 123)

    def test_codes(self) -> None:
        """Shutdown, rotation and the framing errors have RFC 6455's codes."""
        for reason, code in (
            (CloseReason.SHUTDOWN, 1001),
            (CloseReason.TOKEN_ROTATED, 1001),
            (CloseReason.PROTOCOL_ERROR, 1002),
            (CloseReason.TEXT_ONLY, 1003),
            (CloseReason.NOT_UTF8, 1007),
            (CloseReason.TOO_BIG, 1009),
            (CloseReason.SLOW_READER, 1013),
            (CloseReason.LOG_FLOOD, 1013),
            (CloseReason.TOO_MANY_SOCKETS, 1013),
        ):
            self.assertEqual(reason.code, code)


class BridgeErrorTests(SynchronousTestCase):
    """Tests for the refusal callers see."""

    def test_words(self) -> None:
        """As text it is the code and the message."""
        error = BridgeError(Code.NOT_FOUND, "there is nothing at this path")
        self.assertEqual(str(error), "not_found: there is nothing at this path")
        self.assertIsNone(error.retry_after)

    def test_plugin_error(self) -> None:
        """A refused plugin operation is a bad request that starts with its prefix."""
        error = plugin_error(Prefix.NOT_HTTPS, "url: must be an https URL")
        self.assertIs(error.code, Code.BAD_REQUEST)
        self.assertEqual(error.message, "not_https: url: must be an https URL")


class RetryTests(SynchronousTestCase):
    """When a page may connect again."""

    def test_each_reason(self) -> None:
        """After a refusal it pairs first; after an overload it waits."""
        self.assertIs(CloseReason.UNAUTHORIZED.retry, Retry.PAIRED)
        self.assertIs(CloseReason.TOKEN_ROTATED.retry, Retry.PAIRED)
        self.assertIs(CloseReason.SLOW_READER.retry, Retry.LATER)
        self.assertIs(CloseReason.SHUTDOWN.retry, Retry.YES)
