"""TCP ports for the servers of tests."""

import contextlib
import random
import socket

RESERVED = []


def free_port():
    """Return a port without a listener, outside the kernel's ephemeral range, so that no connection takes it a moment later. No
    other call in any process gets it until this process ends: an abstract socket has its number."""
    while True:
        port = random.SystemRandom().randrange(10_000, 32_000)
        mine = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            mine.bind(f"\0mprofd-test-port-{port}")
            RESERVED.append(mine)
            return port
        mine.close()
