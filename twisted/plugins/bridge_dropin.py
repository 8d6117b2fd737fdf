"""Registers the bridge with twistd.  This folder must have no __init__.py."""

from twisted.application.service import ServiceMaker

bridge = ServiceMaker(
    "plugin bridge", "bridge.tap", "A loopback daemon for web pages.", "bridge"
)
