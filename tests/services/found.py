"""Every service there is, found by its methods."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import bridge.services
from bridge.rpc.registry import methods_of


def services() -> dict[str, type[Any]]:
    """Return the class of each service that pages can call, by its module's name."""
    found = {}
    for module in iter_modules(bridge.services.__path__, "bridge.services."):
        name = module.name.rpartition(".")[2]
        for kind in vars(import_module(module.name)).values():
            own = isinstance(kind, type) and kind.__module__ == module.name
            if own and any(methods_of(kind)) and name != "linking":
                found[name] = kind
    return found
