"""Two network namespaces: dom0's, in which the daemons run, and the viewer's, in which the clients
run. Shared by the tests of this folder: SCRIPT BUILD-DIRECTORY [TEST…]

A veth pair joins them. dom0 has the address 192.0.2.1; the viewer has 192.0.2.2 and, for clients
that shall be other peers, more of 192.0.2.0/24. The main thread of the script enters the viewer's
namespace, and what it starts runs there; only the daemons and sshd are put into dom0's. Unix sockets
have no namespace, so the script asks the daemons by them as root does in dom0.
"""

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../integration"))

import access  # noqa: E402  pylint: disable=wrong-import-position
import certificates as keys  # noqa: E402  pylint: disable=wrong-import-position
import daemons  # noqa: E402  pylint: disable=wrong-import-position

DOM0, VIEWER = f"mprof-dom0-{os.getpid()}", f"mprof-viewer-{os.getpid()}"
ADDRESS, HONEST = "192.0.2.1", "192.0.2.2"
PORT = 7443
URL = f"https://{ADDRESS}:{PORT}"
HOST = access.HOST
CLONE_NEWNET = 0x40000000
IN_DOM0 = ["nsenter", f"--net=/run/netns/{DOM0}", "--"]


def why_not():
    """Return why there can be no namespaces here, or None."""
    if os.geteuid() != 0:
        return "network namespaces are made by root"
    if not shutil.which("ip") or not shutil.which("nsenter"):
        return "there is no program ip (package iproute2), or no nsenter (util-linux)"
    done = subprocess.run(["ip", "netns", "add", DOM0], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"ip netns: {done.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", DOM0], check=True)
    return None


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def make(addresses):
    """Make the namespaces, give the viewer's the ADDRESSES too, and enter it."""
    ip("netns", "add", DOM0)
    ip("netns", "add", VIEWER)
    ip("-n", DOM0, "link", "add", "to-viewer", "type", "veth", "peer", "name", "to-dom0", "netns", VIEWER)
    for name, link, own in ((DOM0, "to-viewer", [ADDRESS]), (VIEWER, "to-dom0", [HONEST, *addresses])):
        for address in own:
            ip("-n", name, "address", "add", f"{address}/24", "dev", link)
        # An address of IPv6 would come seconds later, and Chromium ends its requests when addresses change.
        ip("-n", name, "link", "set", link, "addrgenmode", "none")
        ip("-n", name, "link", "set", link, "up")
        ip("-n", name, "link", "set", "lo", "up")
    with open(f"/run/netns/{VIEWER}", "rb") as f:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(f.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


def remove():
    for name in DOM0, VIEWER:
        if os.path.exists(f"/run/netns/{name}"):
            ip("netns", "del", name)


def certificates(where):
    """Make certificates in WHERE: server and server2 for dom0, viewer and stranger for clients."""
    os.mkdir(where)
    with contextlib.chdir(where):
        keys.authority("ca", "Test authority")
        keys.authority("clients", "Viewers")
        keys.authority("other", "Viewers")
        for name in "server", "server2":
            server_certificate(name)
        keys.certificate("viewer", "/CN=viewer", "clients", *keys.CLIENT)
        keys.certificate("stranger", "/CN=viewer", "other", *keys.CLIENT)


def server_certificate(name):
    """Make NAME.pem and NAME.key for dom0 in the current directory."""
    names = [f"subjectAltName = DNS:{HOST},IP:{ADDRESS}", "extendedKeyUsage = serverAuth"]
    keys.certificate(name, f"/CN={HOST}", "ca", *names)


class Host(daemons.Daemons):
    """The daemons of dom0. COMMAND runs them."""

    def __init__(self, command):
        super().__init__()
        self.command = command

    def spawn(self, name, *options, prefix=()):
        return super().spawn(name, *options, prefix=[*IN_DOM0, *self.command, *prefix])


class Case(daemons.Case):
    """A test with daemons in dom0's namespace, which serve HTTPS with access control."""

    more = ""  # lines of [access]
    http = ""  # lines of [http]
    prefix = []  # a command that runs the daemons
    guests = {"web": ["--rate", "2000"]}  # options of a demonstration guest by its name

    def setUp(self):
        super().setUp()
        certificates("tls")
        self.d = self.enterContext(Host(self.prefix))
        self.d.configure(self.config())
        self.full = self.token("full", access.ALL)
        self.d.start_collector()
        self.start_server()
        self.running = {name: self.guest(name, *options) for name, options in self.guests.items()}
        for name in self.guests:
            self.d.wait(lambda name=name: self.d.domain(name))

    def config(self):
        tls = os.path.abspath("tls")
        return (
            f"{daemons.QUIET}[http]\nlisten = https:{ADDRESS}:{PORT}\nlisten = unix:{self.d.socket}\n{self.http}"
            f"[access]\ncertificate = {tls}/server.pem\nkey = {tls}/server.key\nclient-ca = {tls}/clients.pem\n"
            f"tokens = {os.path.abspath('tokens')}\n{self.more}[grant certificate:viewer]\nread = web*\n"
        )

    def start_server(self):
        """Start the server with the listeners of the configuration."""
        self.d.server = self.d.launch("mprofd-http")

    def guest(self, name, *options):
        """Start a demonstration guest, and kill it at the end of the test, if it still runs."""
        return self.writer("mprof-demo-guest", "--ring", f"rings/{name}.ctf", *options)

    def end_guest(self, name):
        self.running[name].terminate()
        self.running[name].wait(daemons.PATIENCE)
        self.d.wait_ended(name)

    def token(self, name, *scopes):
        command = [daemons.program("mprofd-http"), "--config", "mprofd.conf", "--token", "new", name]
        for scope in scopes:
            command += ["--scope", scope]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main(addresses=()):
    """Run the tests of the script. Without namespaces print why, and end with 77: skipped."""
    reason = why_not()
    if reason:
        print(f"SKIP: {reason}")
        sys.exit(77)
    try:
        make(addresses)
        program = unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2, exit=False)
    finally:
        remove()
    result = program.result
    if result.skipped and len(result.skipped) == result.testsRun:
        print(f"SKIP: {result.skipped[0][1]}")
        sys.exit(77)
    sys.exit(not result.wasSuccessful())
