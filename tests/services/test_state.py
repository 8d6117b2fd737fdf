from twisted.internet.defer import execute

from bridge.protocol.errors import Code
from bridge.services.state import State
from bridge.store.state import Put
from bridge.store.store import Store
from tests.directories import fresh_directory
from tests.disk import full, going_wrong

from .case import ServiceCase


class StateCase(ServiceCase):
    service = "state"

    def setUp(self) -> None:
        self.path = fresh_directory(self) / "state.json"
        self.store = Store.open(self.path, execute)
        self.register(State(self.store, self.path))


class MethodTests(StateCase):
    def test_answers(self) -> None:
        """The answers have the documented shapes."""
        self.assertEqual(self.call("get", ns="host", key="k"), {"value": None})
        for value in (None, [1]):
            self.assertEqual(self.call("set", ns="host", key="k", value=value), {})
            self.assertEqual(self.call("get", ns="host", key="k"), {"value": value})
        self.assertEqual(self.call("list", ns="host"), {"entries": {"k": [1]}})
        self.assertEqual(self.call("delete", ns="host", key="k"), {})
        self.assertEqual(self.call("delete", ns="host", key="k"), {})
        self.assertEqual(self.call("list", ns="host"), {"entries": {}})
        self.assertEqual(self.store._tables.namespaces(), [])

    def test_describe(self) -> None:
        """The description gives the methods, the file and the limits."""
        described = self.registry.describe()["state"]
        self.assertEqual(described["methods"], ["get", "set", "delete", "list"])
        self.assertEqual(described["location"], str(self.path))
        self.assertEqual(
            described["limits"],
            {
                "nameChars": 64,
                "valueBytes": 65536,
                "fileBytes": 8388608,
                "hostBytes": 524288,
                "namespaceBytes": 2097152,
            },
        )


class RefusalTests(StateCase):
    def assert_refused(self, name: str, params, message: str) -> None:
        """Check that a call is refused in these words."""
        error = self.refused(name, **params)
        self.assertEqual((error.code, error.message), (Code.BAD_REQUEST, message))

    def test_reserved_namespace_attack(self) -> None:
        """No method reaches the daemon's namespaces."""
        self.store.commit([Put("bridge.plugins", "a", {"secret": 1})])
        message = "ns: not starting with bridge., which is the daemon's"
        place = {"ns": "bridge.plugins", "key": "a"}
        self.assert_refused("get", place, message)
        self.assert_refused("delete", place, message)
        self.assert_refused("set", {**place, "value": 1}, message)
        self.assert_refused("list", {"ns": "bridge."}, message)
        self.assertEqual(self.call("list", ns="bridge"), {"entries": {}})

    def test_value_limit(self) -> None:
        """A value may take 65536 bytes as compact JSON, its quotes included."""
        place = {"ns": "a", "key": "k"}
        self.call("set", **place, value="x" * 65534)
        for value in ("x" * 65535, "é" * 40000):
            message = "value: at most 65536 bytes as compact JSON"
            self.assert_refused("set", {**place, "value": value}, message)

    def test_full_disk(self) -> None:
        """A failed write is answered as internal, and changes nothing."""
        with going_wrong(full()):
            error = self.refused("set", ns="a", key="k", value=1)
        self.assertEqual(error.code, Code.INTERNAL)
        self.assertEqual(self.call("list", ns="a"), {"entries": {}})
