"""
A ``SinkMaker`` for each sink; see ``bridge.sinks.maker``.

Other distributions may bring modules of their own: into this directory, or into a
``bridge/sinks/plugins`` without ``__init__.py`` elsewhere on ``sys.path``.
"""

from twisted.plugin import pluginPackagePaths

__path__.extend(pluginPackagePaths(__name__))
__all__: list[str] = []
