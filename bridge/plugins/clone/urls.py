"""Which URLs a plugin may be installed from."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, unquote, urlsplit

from ...net.addresses import is_host_name
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
    if _ALLOWED.fullmatch(url) is None:
        return "only the characters of a URL, without spaces or control characters"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "the host or the port is not usable"
    if port == 0:
        return "the host or the port is not usable"
    return _broken_part(parts)


def _broken_part(parts: SplitResult) -> str | None:
    if "@" in parts.netloc:
        return "no user name or password"
    if parts.query:
        return "no query"
    if not parts.hostname:
        return "a host is required"
    if any(unquote(part) in (".", "..") for part in parts.path.split("/")):
        # Git clients leave them out: the prompt would show another repository.
        return "no . or .. between the slashes of its path"
    if not _is_host(parts.netloc, parts.hostname):
        return "the host is not a host name or an address"
    return None


def _is_host(netloc: str, host: str) -> bool:
    if netloc.startswith("["):
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            return False
        return "%" not in host
    return is_host_name(host)
