"""Ports for programs that cannot choose one themselves."""

import socket


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """
    Find a port of 127.0.0.1 that nobody has.

    It is free when this returns; use it soon. What can listen on port 0 should.

    :param kind: ``SOCK_STREAM`` for TCP, ``SOCK_DGRAM`` for UDP.
    """
    with socket.socket(type=kind) as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def free_udp_port() -> int:
    """Find a UDP port of 127.0.0.1 that nobody has."""
    return free_port(socket.SOCK_DGRAM)
