"""From a named method and plain JSON to its result: look up, read, call, write."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from attrs import NOTHING, fields
from twisted.logger import Logger

from ..classes import frozen
from ..protocol.errors import BridgeError, internal_error
from ..protocol.wire import camel, converter, structure, unstructure
from .caller import HTTP_CALLER, Caller
from .registry import Registry

T = TypeVar("T")


@frozen(eq=False, repr=False)
class Dispatcher:
    """Calls the methods of a registry."""

    registry: Registry

    _log: ClassVar[Logger] = Logger()

    async def call(
        self, service: str, name: str, params: Any, caller: Caller = HTTP_CALLER
    ) -> Any:
        """
        Call one method.

        :param params: Plain JSON.
        :param caller: The page or program that calls.
        :return: The result as plain JSON.
        :raise BridgeError: The call is refused.  A bug in a service or in
            a rule is logged in full, and refused as ``internal`` without any detail;
            so is ``CancelledError``, as no code cancels a call.
        """
        owner, method = self.registry.find(service, name)
        try:
            arguments = read_arguments(params, method.params)
            result = await method.call(owner, arguments, caller)
            return unstructure(result, method.result)
        except BridgeError:
            raise
        except Exception:  # noqa: BLE001
            # The names were looked up, so they are ours and safe to log.
            self._log.failure("{service}/{name} failed", service=service, name=name)
            raise internal_error() from None


def read_arguments(params: Any, kind: type[T]) -> T:
    """
    Read the parameters of a call as a method's class.

    What may be absent may also be null, which means the same.

    :raise BridgeError: ``bad_request``, naming the field and the rule.
    """
    if type(params) is dict and None in params.values():
        known: type[Any] = kind
        optional = {camel(a.name) for a in fields(known) if a.default is not NOTHING}
        params = {
            name: value
            for name, value in params.items()
            if value is not None or name not in optional
        }
    return structure(converter, params, kind)
