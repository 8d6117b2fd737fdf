"""The sinks that ship."""

from bridge.sinks.maker import SinkMaker

overlay = SinkMaker("overlay", "bridge.sinks.overlay.make", rank=0, is_default=True)
freedesktop = SinkMaker(
    "freedesktop", "bridge.sinks.freedesktop.make", rank=1, is_default=True
)
xsoverlay = SinkMaker("xsoverlay", "bridge.sinks.xsoverlay.make", rank=2)
ovrtoolkit = SinkMaker("ovrtoolkit", "bridge.sinks.ovrtoolkit.make", rank=3)
