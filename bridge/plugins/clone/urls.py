"""Which URLs a plugin may be installed from."""

from __future__ import annotations

import re
from urllib.parse import unquote

from ...http.target import read_url
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.limits import URL_CHARACTERS

# RFC 3986's characters, without the number sign that starts a fragment.
_ALLOWED = re.compile(r"[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=%-]*", re.ASCII)


def check_url(url: str) -> str:
    """
    Check the URL of a plugin's repository.

    :return: The URL as it was given.
    :raise BridgeError: ``not_https: …``, naming the rule that is broken.
    """
    rule = _broken_rule(url)
    if rule is not None:
        raise refused(rule)
    return url


def refused(rule: str) -> BridgeError:
    """Return the refusal of a URL."""
    return plugin_error(Prefix.NOT_HTTPS, f"url: {rule}")


def _broken_rule(url: str) -> str | None:
    if url[:8].lower() != "https://":
        return "must start with https://"
    if len(url) > URL_CHARACTERS:
        return f"at most {URL_CHARACTERS} characters"
    if "#" in url:
        return "no fragment"
    if "?" in url:
        return "no query"
    if _ALLOWED.fullmatch(url) is None:
        return "only the characters of a URL, without spaces or control characters"
    try:
        target = read_url(url)
    except BridgeError as e:
        return e.message.removeprefix("url: ")
    if any(unquote(part) in (".", "..") for part in target.path.split("/")):
        # Git clients leave them out: the prompt would show another repository.
        return "no . or .. between the slashes of its path"
    return None
