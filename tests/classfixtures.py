from typing import ClassVar

from twisted.trial.unittest import SynchronousTestCase

from .reactors import reactor


class ClassFixtureCase(SynchronousTestCase):
    """
    Makes what all tests of a class share before the first: in ``set_up_all``.

    Trial calls no ``setUpClass``, and stops the reactor when it ends.
    """

    _is_set_up: ClassVar[bool] = False

    @classmethod
    def set_up_all(cls) -> None:
        """Make it; what is entered by ``enterClassContext`` is closed at the end."""
        raise NotImplementedError

    def setUp(self) -> None:
        cls = type(self)
        if not cls._is_set_up:
            cls._is_set_up = True
            reactor.addSystemEventTrigger("after", "shutdown", cls.doClassCleanups)
            cls.set_up_all()
