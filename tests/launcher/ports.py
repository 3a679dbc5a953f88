"""TCP ports for servers that want a number: PostgreSQL, HAProxy, nginx, sshd, etcd, and servers that keep their port over a
restart. Other servers bind port 0 and say which they got (launcher.Program.ports).

free_port() binds a port, does not listen on it, and holds it until this process ends. On Linux this keeps everybody else away:
for port 0, and for the port of a connection, the kernel chooses none that a socket has bound. A server that binds the number
itself gets it, also again after it was killed, because both sockets set SO_REUSEADDR and one alone listens; all servers above
set it. Until then a connection is refused.
"""

import contextlib
import socket

HELD = []
LOCALHOST = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))  # a server of "localhost" binds both


def hold(family, address, port):
    """Bind a port of ADDRESS, for others to share. PORT 0 lets the kernel choose. Return the socket."""
    held = socket.socket(family, socket.SOCK_STREAM)
    try:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((address, port))
    except OSError:
        held.close()
        raise
    return held


def has_ipv6():
    with contextlib.suppress(OSError), hold(socket.AF_INET6, "::1", 0):
        return True
    return False


def free_port():
    """Return a port of localhost that no other process gets until this one ends."""
    while True:
        first = hold(*LOCALHOST[0], 0)
        port = first.getsockname()[1]
        try:
            more = [hold(*LOCALHOST[1], port)] if has_ipv6() else []
        except OSError:
            first.close()  # another process has the number of the other family
            continue
        HELD.extend([first, *more])
        return port
