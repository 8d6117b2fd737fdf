"""Certificates for the TLS servers of tests, each made once per process."""

import datetime
import functools

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@functools.cache
def authority(name: str = "trusted") -> trustme.CA:
    """Return an authority; those of different names do not trust each other."""
    return trustme.CA(organization_name=name)


@functools.cache
def certificate(
    *names: str, issuer: str = "trusted", days: int = 0
) -> trustme.LeafCert:
    """
    Return a server's certificate and its key.

    :param names: The host names and addresses it is for.
    :param issuer: The name of the authority that issues it.
    :param days: In how many days it becomes valid; negative: since when it is not.
    """
    at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days)
    begin, end = at if days > 0 else None, at if days < 0 else None
    return authority(issuer).issue_cert(*names, not_before=begin, not_after=end)


def without_alternative_names(name: str) -> trustme.LeafCert:
    """Return a certificate that has a name as its subject's common name alone."""
    issued = authority().issue_cert(common_name=name)
    whole = x509.load_pem_x509_certificate(issued.cert_chain_pems[0].bytes())
    builder = x509.CertificateBuilder(
        issuer_name=whole.issuer,
        subject_name=whole.subject,
        public_key=whole.public_key(),
        serial_number=whole.serial_number,
        not_valid_before=whole.not_valid_before_utc,
        not_valid_after=whole.not_valid_after_utc,
    )
    for extension in whole.extensions:
        if extension.oid != x509.SubjectAlternativeName.oid:
            builder = builder.add_extension(extension.value, extension.critical)
    pem = authority().private_key_pem.bytes()
    key = serialization.load_pem_private_key(pem, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    signed = builder.sign(key, hashes.SHA256())
    return trustme.LeafCert(
        issued.private_key_pem.bytes(),
        signed.public_bytes(serialization.Encoding.PEM),
        [],
    )
