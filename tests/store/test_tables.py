from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import limits
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.strictjson import loads
from bridge.store.tables import Put, Remove, Tables

names = st.sampled_from(["host", "plugin:a", "bridge.plugins", "b", "a"])
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
edits = st.one_of(
    st.builds(Put, names, names, values),
    st.builds(Remove, names, names),
    st.builds(Remove, names),
)


def content(tables: Tables) -> dict[str, dict[str, Any]]:
    """Give everything that is held."""
    return {ns: tables.entries(ns) for ns in tables.namespaces()}


def in_file(tables: Tables) -> bytes:
    """Give everything as it goes into the file."""
    return b"".join(tables.pieces())


def edited(model: dict[str, dict[str, Any]], edit: Any) -> None:
    """Do to plain dictionaries what ``edit`` does to tables."""
    match edit:
        case Put():
            model.setdefault(edit.ns, {})[edit.key] = edit.value
        case Remove(key=None):
            model.pop(edit.ns, None)
        case Remove():
            model.get(edit.ns, {}).pop(edit.key, None)
    for ns in [ns for ns, held in model.items() if not held]:
        del model[ns]


class TablesTests(SynchronousTestCase):
    @given(st.lists(edits, max_size=12))
    def test_counted(self, made: list[Any]) -> None:
        """What is counted is what the file takes, also after loading it."""
        tables = Tables().edited(made)
        loaded = Tables.load(content(tables))
        self.assertEqual(loaded._sizes, tables._sizes)
        self.assertEqual(loads(in_file(loaded)), loads(in_file(tables)))
        # A comma after each last entry is counted, but not written; braces are not.
        written = len(in_file(tables)) - len("{}") + (1 if content(tables) else 0)
        counted = sum(tables._sizes.values()) - len(tables.namespaces())
        self.assertEqual(counted, written)

    def test_copied(self) -> None:
        """Changing a value after it was put changes nothing that is held."""
        value = {"a": [1]}
        tables = Tables()
        tables = tables.edited([Put("a", "k", value)])
        value["a"].append(2)
        self.assertEqual(tables.get("a", "k"), {"a": [1]})


class RefusalTests(SynchronousTestCase):
    def refused(self, tables: Tables, *made: Any) -> BridgeError:
        error: BridgeError = self.assertRaises(BridgeError, tables.edited, made)
        self.assertEqual(error.code, Code.BAD_REQUEST)
        return error

    def test_too_deep_for_the_file(self) -> None:
        """A value is refused that the file could not be read back with."""
        value: list[Any] = []
        for _ in range(61):
            value = [value]
        tables = Tables()
        tables = tables.edited([Put("a", "k", value)])
        loads(in_file(tables))
        error = self.refused(tables, Put("a", "k", [value]))
        self.assertIn("nested deeper", error.message)

    def test_page_full(self) -> None:
        """The page's namespaces take at most their limit in the file."""
        tables = Tables.load({"plugin:a": {"k": "x" * (limits.STATE_FILE_BYTES - 100)}})
        # Braces, both names and braces, the keys, quotes.
        room = 100 - len('{"plugin:a":{"k":""},"b":{"k":""}}')
        self.refused(tables, Put("b", "k", "x" * (room - 1)))
        tables = tables.edited([Put("b", "k", "x" * (room - 2))])
        error = self.refused(tables, Put("c", "k", 1))
        self.assertIn("the page's values", error.message)

    def test_attack_one_plugin_takes_all(self) -> None:
        """A namespace has a quota, and what others have is not its own."""
        tables = Tables()
        name = "plugin:a"
        room = limits.STATE_NAMESPACE_BYTES - len(f',"{name}":{{"k":"",}}')
        tables = tables.edited([Put(name, "k", "x" * room)])
        for edit in (Put(name, "k", "x" * (room + 1)), Put(name, "l", 1)):
            self.assertIn("a namespace takes", self.refused(tables, edit).message)
        tables = tables.edited([Put("plugin:b", "k", "x" * room)])
        tables = tables.edited([Put(name, "k", "x"), Put(name, "l", "x" * (room - 10))])

    def test_attack_plugins_block_switches_and_grants(self) -> None:
        """What plugins have filled leaves host and daemon all their room."""
        large = {"k": "x" * limits.STATE_NAMESPACE_BYTES}
        full = Tables.load({f"plugin:{number}": large for number in range(5)})
        self.assertIn("the page's", self.refused(full, Put("b", "k", 1)).message)
        for ns, most, whose in (
            ("host", limits.STATE_HOST_BYTES, "the host's"),
            ("bridge.plugins", limits.STATE_DAEMON_BYTES, "the daemon's"),
        ):
            tables = full.edited([Put(ns, "k", "x" * (most - 100))])
            error = self.refused(tables, Put(ns, "l", "x" * 100))
            self.assertIn(f"{whose} values", error.message)

    def test_over_the_limit_can_shrink(self) -> None:
        """What was loaded over the limit can be made smaller, or stay as large."""
        big = "x" * (limits.STATE_HOST_BYTES // 2)
        tables = Tables.load({"host": {"a": big, "b": big, "c": big}})
        tables = tables.edited([Remove("host", "a")])
        tables = tables.edited([Put("host", "b", "small")])
        self.assertEqual(list(tables.entries("host")), ["b", "c"])
        size = limits.STATE_NAMESPACE_BYTES + 1
        tables = Tables.load({"a": {"k": "x" * size}})
        tables = tables.edited([Put("a", "k", "y" * size)])
        self.assertEqual(tables.get("a", "k"), "y" * size)
