import errno
import io
import stat
import struct
import zlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from twisted.internet.defer import CancelledError, Deferred, execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.limits import ICON_FILE_SECONDS, ICON_FILES
from bridge.sinks.icons import IconFiles, ImageError, small_png
from tests.directories import fresh_directory

from ..disk import Plan, going_wrong
from ..pages import Page
from ..threads import Threads
from .samples import chunk, png, text64


def written(image: Any, form: str, **options: Any) -> bytes:
    """Write an image in some format."""
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def read(image: bytes) -> Any:
    """Read a PNG."""
    return Image.open(io.BytesIO(image), formats=["PNG"])


class SmallTests(SynchronousTestCase):
    def test_formats(self):
        """PNG, JPEG and GIF, in every mode, become a small PNG of the same colours."""
        for form, mode, colour in (
            ("PNG", "RGBA", (255, 0, 0, 128)),
            ("PNG", "P", 3),
            ("PNG", "1", 1),
            ("JPEG", "RGB", (255, 0, 0)),
            ("JPEG", "CMYK", (0, 255, 255, 0)),
            ("JPEG", "L", 7),
            ("GIF", "P", 3),
        ):
            got = read(small_png(written(Image.new(mode, (400, 200), colour), form)))
            self.assertEqual((got.mode, got.size), ("RGBA", (128, 64)), (form, mode))
        red, grey = png(pixel=b"\xff\0\0\x80"), Image.new("I;16", (2, 2), 0x40FF)
        kept = {red: (255, 0, 0, 128), written(grey, "PNG"): (64, 64, 64, 255)}
        for image, colour in kept.items():
            got = read(small_png(image))
            self.assertEqual((got.size, got.getpixel((0, 0))), ((2, 2), colour))

    def test_only_the_first_picture(self):
        """Of an animation the first picture is shown."""
        first, second = Image.new("RGB", (9, 9), "red"), Image.new("RGB", (9, 9))
        moving = written(first, "GIF", save_all=True, append_images=[second] * 9)
        got = read(small_png(moving))
        self.assertEqual(got.getpixel((4, 4)), (255, 0, 0, 255))
        self.assertEqual(getattr(got, "n_frames", 1), 1)

    def test_nothing_else_is_kept(self):
        """What else was in the file is not in the new one."""
        hidden = png()[:-12] + chunk(b"tEXt", b"a\0Zx9-SECRET-q7") + png()[-12:]
        self.assertNotIn(b"SECRET", small_png(hidden))

    def test_attack_icon_bomb(self):
        """An image that promises too many pixels is refused before they are made."""
        for bomb in (
            png(60_000, 60_000, b"\0\0\0\0"),
            # Pillow itself only warns of this one.
            png(11_000, 11_000, b"\0\0\0\0"),
            png(1025, 1024),
            b"GIF89a" + struct.pack("<HH", 65_535, 65_535) + b"\0\0\0,"
            b"\0\0\0\0" + struct.pack("<HH", 65_535, 65_535) + b"\0\x02\x02L\x01\0;",
            written(Image.new("L", (3000, 3000)), "JPEG"),
        ):
            self.assertLess(len(bomb), 200_000)
            self.assertRaises(ImageError, small_png, bomb)
        small_png(png(1024, 1024))

    def test_attack_jpeg_of_many_scans(self):
        """A small file that has all its pixels drawn thousands of times is refused."""
        written_to = io.BytesIO()
        Image.new("L", (1000, 1000)).save(written_to, "JPEG", progressive=True)
        good = written_to.getvalue()
        self.assertEqual(read(small_png(good)).size, (128, 128))
        scan = good[good.index(b"\xff\xda") : -2]
        self.assertRaises(ImageError, small_png, good[:-2] + scan * 40 + good[-2:])

    def test_attack_text_bomb(self):
        """Compressed text that becomes large is not kept, and does no harm."""
        text = chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(50_000_000)))
        bomb = png()[:33] + text * 2 + png()[33:]
        self.assertRaises(ImageError, small_png, bomb)

    def test_other_formats(self):
        """No other decoder is ever tried, whatever the first bytes are."""
        for form in ("BMP", "TIFF", "WEBP", "ICO", "PPM", "EPS"):
            image = written(Image.new("RGB", (4, 4)), form)
            self.assertRaises(ImageError, small_png, image)

    @given(st.binary(max_size=200), st.integers(0, 60), st.sampled_from("PJG"))
    def test_any_bytes(self, noise, where, form):
        """Any bytes are an image or an ``ImageError``."""
        form = {"P": "PNG", "J": "JPEG", "G": "GIF"}[form]
        good = written(Image.new("RGB", (5, 5), "red"), form)
        for image in (good[:where] + noise, good[:where] + noise + good[where:]):
            try:
                self.assertLessEqual(max(read(small_png(image)).size), 128)
            except ImageError:
                pass


class FileTests(SynchronousTestCase):
    def setUp(self):
        self.directory = fresh_directory(self) / "icons"
        self.clock = Clock()
        self.files = IconFiles(self.directory, self.clock, execute)
        self.files.open()

    def asking(self, image, page=None):
        return Deferred.fromCoroutine(self.files.file(text64(image), page))

    def file(self, image):
        return self.successResultOf(self.asking(image))

    def held(self):
        """What holds up the thread in which files are written."""
        threads = Threads(slow="_write")
        self.files = IconFiles(self.directory, self.clock, threads)
        return threads

    def there(self):
        return sorted(self.directory.iterdir())

    def image(self, number):
        return png(pixel=bytes([number, 0, 0, 255]))

    def test_same_icon_twice_at_once(self):
        """Two notifications with one new icon share its file, made once."""
        threads = self.held()
        pair = [self.asking(png()) for _ in range(2)]
        threads.step()
        first, second = map(self.successResultOf, pair)
        self.assertEqual((first, threads.waiting), (second, []))
        self.assertEqual(self.there(), [first])
        self.files.close()

    def test_full_disk(self):
        """An icon that can't be kept leaves nothing behind."""
        kept = self.file(png())
        with going_wrong(Plan(1, 1, errno.ENOSPC)):
            self.failureResultOf(self.asking(self.image(1)), OSError)
        self.assertEqual(self.there(), [kept])

    def test_cancelled_while_it_is_written(self):
        """Its file is removed a minute later, or at the end if that comes first."""
        for is_end in (False, True):
            threads = self.held()
            asked = self.asking(png())
            asked.cancel()
            self.failureResultOf(asked, CancelledError)
            if is_end:
                self.files.close()
            threads.step()
            if not is_end:
                self.assertEqual(len(self.there()), 1)
                self.clock.advance(ICON_FILE_SECONDS)
            self.assertEqual(self.there(), [])

    def test_attack_icons_that_wait(self):
        """One is decoded at a time, four of a page wait, and none is at the stop."""
        threads = self.held()
        page, other = Page(), Page()
        asked = [self.asking(self.image(n), page) for n in range(7)]
        for refused in asked[5:]:
            self.failureResultOf(refused, ImageError)
        last = self.asking(png(), other)
        self.assertEqual(len(threads.waiting), 1)
        page.go()
        for dropped in asked[1:5]:
            self.failureResultOf(dropped, ImageError)
        threads.step()
        self.failureResultOf(asked[0], ImageError)
        self.assertEqual(len(threads.waiting), 1)
        waiting = self.asking(self.image(9), other)
        self.files.close()
        self.failureResultOf(waiting, ImageError)
        threads.step()
        self.failureResultOf(last, ImageError)
        self.assertEqual(threads.waiting, [])
        # What a thread still writes at the end is removed, and leaves no timer.
        self.assertEqual(self.there(), [])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_a_file_for_a_minute(self):
        """It is there, for its owner alone, and gone a minute after it was wanted."""
        path = self.file(png())
        self.assertEqual(read(path.read_bytes()).size, (2, 2))
        self.assertEqual(stat.S_IMODE(self.directory.stat().st_mode), 0o700)
        self.clock.advance(ICON_FILE_SECONDS - 1)
        self.assertEqual(self.file(png()), path)
        self.clock.advance(ICON_FILE_SECONDS - 1)
        self.assertEqual(self.there(), [path])
        self.clock.advance(1)
        self.assertEqual(self.there(), [])
        self.assertEqual(self.file(png()), path)
        self.clock.advance(ICON_FILE_SECONDS)
        self.assertEqual(self.there(), [])

    def test_attack_many_icons(self):
        """However many there are, only the newest are kept."""
        paths = [self.file(self.image(n)) for n in range(ICON_FILES + 3)]
        self.assertEqual(self.there(), sorted(paths[3:]))
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)
        self.clock.advance(ICON_FILE_SECONDS)
        self.assertEqual(self.there(), [])

    def test_ends(self):
        """Nothing is left at the end, nor by a daemon that was killed."""
        self.file(png())
        self.files.close()
        self.assertEqual(self.there(), [])
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.directory.joinpath("x.png").touch()
        IconFiles(self.directory, self.clock, execute).open()
        self.assertEqual(self.there(), [])
