"""The bundler in use: its version, and its digests on every system it runs on."""

from __future__ import annotations

import os
import platform
from typing import Final

from ...classes import frozen

VERSION: Final = "0.28.2"

BINARY_NAME: Final = "esbuild.exe" if os.name == "nt" else "esbuild"
CHECKSUM_NAME: Final = "esbuild.sha256"


@frozen
class Pin:
    """
    The bundler for one system.

    :ivar platform: As npm names it, such as ``linux-x64``.
    :ivar tarball: The npm package's digest: SHA-512, base64.
    :ivar binary: The binary's digest: SHA-256, lower-case hexadecimal.
    """

    platform: str
    tarball: str
    binary: str

    @property
    def name(self) -> str:
        """The npm package's name."""
        return f"@esbuild/{self.platform}"

    @property
    def member(self) -> str:
        """Where the binary is in the package."""
        windows = self.platform.startswith("win32")
        return "package/esbuild.exe" if windows else "package/bin/esbuild"


PINS: Final = (
    Pin(
        "linux-x64",
        "4xTZr1FUmSoQW4XIWmit3tzQrUTZM+N3P0XV8xROKYF50XfI7xeO90+1bZvNwxIufQ9hDQVRJH5Y"
        "hgPVF8A/HQ==",
        "e1698a3d5c6c0798fee4fd3b5cc816651f460c63d390a7a26ea4beb0b1884100",
    ),
    Pin(
        "linux-arm64",
        "pW4AC0P3it8c7do9MVM4p51FzHzdM/TZrerurgRcHJ2WTa1VQ1CIq18xncfpBJw4ojkiZZrKW2yI"
        "BWBP92j6Ug==",
        "90bd269553d258e80b19e3ccab4f98f0831f87442a2f056510ce24fd1b425fc2",
    ),
    Pin(
        "linux-arm",
        "XlDnu2q5yoqems+xay6wSAcg9DDD7K9RLKZEBOMZm3ckNpJBvOX20tSfby8KfrrhINDyv9V2YVZK"
        "Y/SpoGJI8w==",
        "d88f751b22095b2f3b42c8c2e8a3f36fabc1705438c5d6e78366b681f8b4e7a5",
    ),
    Pin(
        "linux-ia32",
        "CYbnj78HsIeA+DhgUKgFCfvNsTHFhMMrinUrMZpDXJXKN8T3XViTZ/+wtHeVxEWY8ewSzTFN+nRm"
        "SwO2tZaLUQ==",
        "b1e2d87d79f9a2baa0d3043cdf0dc6716f9f2eea66c58f47588641fd6019f36f",
    ),
    Pin(
        "linux-riscv64",
        "GeXCej4IQtU1B+QlDV8W/RRvbzI3O/Stss+/bCXv4lZls5WGRtu2a+3JkA3i4qIUlMXpcHebWpF8"
        "AkJhATowuA==",
        "36bdcdc8230eef385838cdfeb0d9a1565cbe4b9ace30097a511d77e894de36a1",
    ),
    Pin(
        "linux-ppc64",
        "CAXl+Dtd9UUuJd8pKKdwh6MLm3MUMiqMPmhZ3tTSXPqfyQ3vDl6R5hZdZ/kYojK4ofXtdfSv1tFq"
        "8XzWx3heNQ==",
        "c30df60d09bb0ba4853d7b06e244ce966890d61ce60cadd9b22335f6379c316a",
    ),
    Pin(
        "linux-s390x",
        "3H1weTYZPxt/WOhByszQZybS9w5lKzUn1FDMsgEChbHWQwHYQQRfBxgCcZvPhjHfKyJjIievvMmE"
        "UawJrdY9Dg==",
        "bbbc1f92a76a5ca6e2976065222e42b02797363a1f119490dda315f74047741f",
    ),
    Pin(
        "linux-loong64",
        "buwkd8nsph4R+ajRvw0qM5Hja/TXQow3ptzWO2EbG/cqcIkHloRrdlBtQlshyYGTNFvfkfJ5tpPL"
        "VkY4DtsPfQ==",
        "55a66f9854d6798f36b2b5471db74f2e552481887ea14d8bda1634a512383a43",
    ),
    Pin(
        "freebsd-x64",
        "78XJTJkvPs0kz2w61301PJjXl4g7q3JqiYMZ/M/yVI73EHBrCRTgkhu9oqG7vPqq+a/yadEW8aD+"
        "agKlk5xrmg==",
        "8a237e222bee0e50556e7b00d83ec2ff43721bf72f19811a5f0ee56f1d40177c",
    ),
    Pin(
        "darwin-arm64",
        "n4KqkOQrraxHJcgjM1RvwbigfQKIKJVpM7xp+KsxiyUSrRdIXnt73VhrPAx0fV44hgfmIVKjxMN9"
        "J1t5jySVkw==",
        "10b6243df618d374bb2d5c9cfbe7052e1405f6aa4e53a6164f11a91b9f2e1384",
    ),
    Pin(
        "darwin-x64",
        "uq6suIWYP37qzGddBKPw5QEQPi6HiLGsO7UmkpfyaYNQ3D+rN6w6WfwH+nuqcGXWvawGwxOEroO4"
        "YGnFh95azw==",
        "7fe5c9c905fff0a05d92db98929434ab4d3b6dd92d7a7688922db74380c75df3",
    ),
    Pin(
        "win32-x64",
        "5ebpxr3nWMzrL/rnUI755Jkuee0bHL/Gq0WTF9lvcpv73wAp5eu8MfBUgWK9bhWvZjj7yX8etf/8"
        "tI8Ney695g==",
        "c7bee37877d0aa6a046e52783fa0a2cf1a9ce5579d68bb3083bda99d4bff18ef",
    ),
    Pin(
        "win32-arm64",
        "PIhhEkE9uPBleRBrQEJpUn7MBnibZzbGzYWPmY3x+YoVg/95zbjB4CxPPOQ8l5tYYM4mMaCthF8/"
        "1DIfBQQyWQ==",
        "530fb3933af14eefe85dfd06502f826e6ef60fdf4e75228ea67c696db312ecb1",
    ),
    Pin(
        "win32-ia32",
        "YmJbfTlvU7Sdn9BB+4PRES4oB6pxgS37MAONj+hBr/cpXS1aBPKXxNnDbu+QCWPj0o9dgyxeq79g"
        "6c5P8KeuYA==",
        "b2e62af5c17e00939583be0a0762fdc469f352869a617edc91371b00454c76f0",
    ),
)

_SYSTEMS: Final = {
    "linux": "linux",
    "darwin": "darwin",
    "windows": "win32",
    "freebsd": "freebsd",
}
_MACHINES: Final = {
    "x86_64": "x64",
    "amd64": "x64",
    "aarch64": "arm64",
    "arm64": "arm64",
    "armv6l": "arm",
    "armv7l": "arm",
    "i386": "ia32",
    "i686": "ia32",
    "x86": "ia32",
    "riscv64": "riscv64",
    "ppc64le": "ppc64",
    "s390x": "s390x",
    "loongarch64": "loong64",
}


def pin_for(
    system: str = platform.system(), machine: str = platform.machine()
) -> Pin | None:
    """The bundler for a system, by default for this one; ``None``: there is none."""
    kind = _SYSTEMS.get(system.lower())
    cpu = _MACHINES.get(machine.lower())
    wanted = f"{kind}-{cpu}"
    return next((pin for pin in PINS if pin.platform == wanted), None)
