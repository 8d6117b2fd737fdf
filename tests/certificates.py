"""
Certificates for the TLS servers of tests.

Making a key takes long; each authority and each certificate is made once per process.
"""

from __future__ import annotations

import datetime
import functools

import trustme


@functools.cache
def authority(name: str = "trusted") -> trustme.CA:
    """Return an authority; those of different names do not trust each other."""
    return trustme.CA(organization_name=name)


@functools.cache
def certificate(
    *names: str, issuer: str = "trusted", expired_days: int | None = None
) -> trustme.LeafCert:
    """
    Return a server's certificate and its key.

    :param names: The host names and addresses it is for.
    :param issuer: The name of the authority that issues it.
    :param expired_days: How many days ago it expired; ``None`` when it is valid.
    """
    expiry = None
    if expired_days is not None:
        now = datetime.datetime.now(datetime.UTC)
        expiry = now - datetime.timedelta(expired_days)
    return authority(issuer).issue_cert(*names, not_after=expiry)
