"""What the tests of services share."""

from typing import Any, ClassVar

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.errors import BridgeError
from bridge.rpc import HTTP_CALLER

from ..schemas.checking import CheckedRegistry


class ServiceCase(SynchronousTestCase):
    """A service, called as a page's request is."""

    service: ClassVar[str]

    def register(self, service: object) -> None:
        self.registry = CheckedRegistry()
        self.registry.register(self.service, service)

    def calling(self, name, params, caller=HTTP_CALLER):
        return Deferred.fromCoroutine(
            self.registry.call(self.service, name, params, caller)
        )

    def call(self, name: str, **params: Any) -> Any:
        """Call one method, and give its answer."""
        return self.successResultOf(self.calling(name, params))

    def refused(self, name: str, **params: Any) -> BridgeError:
        """Call one method, and give its refusal."""
        return self.failureResultOf(self.calling(name, params), BridgeError).value
