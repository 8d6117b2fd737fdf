"""Tells twistd about the bridge.  This folder must have no __init__.py."""

from twisted.application.service import ServiceMaker

bridge = ServiceMaker(
    "plugin bridge", "bridge.tap", "A loopback plugin bridge.", "bridge"
)
