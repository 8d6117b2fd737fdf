"""Tests for bridge.wiring.lateplugins."""

from twisted.internet.defer import Deferred, execute
from twisted.internet.task import Clock
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from bridge.http.client import make_client
from bridge.protocol.errors import BridgeError
from bridge.rpc.dispatch import Dispatcher
from bridge.rpc.hub import Hub
from bridge.rpc.registry import Registry
from bridge.services.pluginoutline import PluginOutline
from bridge.settings.config import read_config
from bridge.settings.options import locate
from bridge.store import Store
from bridge.wiring import installation
from bridge.wiring.core import Core, Threads
from bridge.wiring.installation import Installation
from bridge.wiring.lateplugins import LatePlugins, make_approver
from tests.approval.screens import FakeScreen
from tests.directories import fresh_directory


class Reactor(MemoryReactorClock):
    """A reactor without threads."""

    def callFromThread(self, call, *arguments):
        """Call it now."""
        call(*arguments)


class LatePluginsTests(SynchronousTestCase):
    """Tests for LatePlugins."""

    def setUp(self):
        """A data directory."""
        directory = fresh_directory(self)
        self.paths = locate("reference", directory / "data", directory / "themes")
        self.paths.data.create()

    def make(self, **options):
        """Make them for a daemon that begins."""
        config = read_config(options, {})
        store = Store.open(self.paths.data.state, execute)
        core = Core(
            Reactor(),
            config,
            self.paths,
            Threads.make(Clock(), 1),
            store,
            Hub(),
            FakeScreen(),
            make_client(Clock(), execute, look_up=lambda name: Deferred()),
        )
        approver = make_approver(core)
        outline = PluginOutline(
            store, self.paths.data.plugins, self.paths.bundle, approver
        )
        return LatePlugins(core, approver, outline)

    def test_made_by_the_first_call(self):
        """A description makes nothing, nor does an unknown method; a call does."""
        late, registry = self.make(), Registry()
        registry.register_late("plugins", late.service())
        self.assertEqual(late.make_if_needed(), [])
        late.prepare()
        calls = Dispatcher(registry)

        def call(method):
            return Deferred.fromCoroutine(calls.call("plugins", method, {}))

        described = registry.describe()
        self.assertEqual(registry.names(), ["plugins"])
        refused = self.failureResultOf(call("lost"), BridgeError).value
        self.assertIn("list", refused.message)
        self.assertIsNone(late.made)
        self.assertEqual(self.successResultOf(call("keys")), {"keys": []})
        self.assertIsNotNone(late.made)
        self.assertEqual(registry.describe(), described)
        self.assertEqual(self.successResultOf(call("keys")), {"keys": []})

    def test_not_made_from_another_release(self):
        """A daemon whose files were updated answers that, and loads none of them."""
        late = self.make()
        late._installation = Installation.current("/no/such/file")
        self.patch(installation, "_identity", lambda _: (1,))
        error = self.assertRaises(BridgeError, late.service().load)
        self.assertIn("restart", error.message)
        self.assertIsNone(late.made)

    def test_not_made_at_the_end(self):
        """A daemon that shuts down loads them no more."""
        late = self.make()
        late.close()
        self.assertRaises(BridgeError, late.service().load)

    def test_made_for_what_is_left_to_do(self):
        """What a killed daemon has left is not kept until somebody calls."""
        data, theme = self.paths.data, self.paths.bundle.parent
        theme.mkdir(parents=True)
        for path in (data.plugins / ".tmp-0b", theme / ".build-7"):
            path.mkdir()
            late = self.make()
            self.assertEqual(late.make_if_needed(), [])
            late.prepare()
            self.assertFalse(path.exists(), path)
        journal = data.journal.with_name("journal.tmp")
        journal.write_text("{}")
        late = self.make()
        late.make_if_needed()
        self.assertIsNotNone(late.made)

    def test_made_for_authors(self):
        """With ``--dev``, plugins can be linked from the start."""
        late = self.make(dev=True)
        late.make_if_needed()
        self.assertIsNotNone(late.made)
