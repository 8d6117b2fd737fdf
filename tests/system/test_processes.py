import ctypes
import linecache

from attrs import define
from twisted.trial.unittest import SynchronousTestCase

from bridge.system import processes

from ..programs import python

PROGRAM = """
import re
from pathlib import Path
from bridge.system.processes import map_large_blocks

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

if %r:
    map_large_blocks()
bytearray(30 * 2**20)
before, kept = resident(), []
for _ in range(8):
    large = bytearray(b"x") * (8 * 2**20)
    kept.append(bytearray(b"x") * 5000)
    kept.append(large)
del kept[1::2], large
print((resident() - before) // 1024)
"""

FAULTS = """
import resource
from bridge.system.processes import map_large_blocks

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

if %r:
    map_large_blocks()
before = faults()
for _ in range(50):
    kept = [bytearray(b"x") * 65536 for _ in range(16)]
    del kept
print(faults() - before)
"""


class LargeBlocksTests(SynchronousTestCase):
    def printed(self, program: str, *, mapped: bool) -> int:
        """Return the number that a program prints."""
        done = python("-c", program % mapped)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout)

    def test_returned(self) -> None:
        """Of 64 MiB that are freed most is returned, though small blocks came later."""
        self.assertLess(self.printed(PROGRAM, mapped=True), 8)
        # Otherwise this would test nothing.
        self.assertGreater(self.printed(PROGRAM, mapped=False), 40)

    def test_kept(self) -> None:
        """A megabyte of smaller blocks is used again, and not returned in between."""
        once, again = (self.printed(FAULTS, mapped=mapped) for mapped in (True, False))
        self.assertLess(4 * once, again)

    def test_another_library(self) -> None:
        """Without the function, and on other systems, nothing happens."""
        for platform, library in (("linux", lambda _: object()), ("darwin", None)):
            self.patch(processes.sys, "platform", platform)
            self.patch(ctypes, "CDLL", library)
            processes.map_large_blocks()
            processes.trim()


class TrimTests(SynchronousTestCase):
    def test_sources(self) -> None:
        """The sources of what attrs generates are kept no longer."""
        define(type("Loaded", (), {"__annotations__": {"a": int}}))
        self.assertTrue([name for name in linecache.cache if "Loaded" in name])
        processes.trim()
        self.assertEqual([name for name in linecache.cache if "Loaded" in name], [])
