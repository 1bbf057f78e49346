"""suite_servers - the gateways that other projects' tests talk to: Cellblock in the place of a
server in their own process.

Those tests set up their server as an object and only then send requests, so App notes what they
ask for and starts a server at the first request. One server serves several tests that ask for the
same, and is emptied between them.
"""

import atexit
import pathlib
import tempfile

import cellblock
import kernelspecs
from rest import Rest

# jupyter_client takes python for python3; bad is the name for what cannot be started.
NAMES = ("python3", "python")


def make_kernelspecs():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="test-suites-"))
    for name in NAMES:
        kernelspecs.write_kernelspec(folder, name, kernelspecs.arguments("python3"))
    kernelspecs.write_kernelspec(folder, "bad", ["non_existent_path", "{connection_file}"])
    return folder


class Servers:
    def __init__(self):
        self.kernels = make_kernelspecs()
        self.arguments, self.server = None, None
        atexit.register(self.stop)

    def running(self, arguments):
        """A server with these arguments and no kernel."""
        if arguments != self.arguments:
            self.stop()
            token = "" if "--no-token" in arguments else None
            self.server = cellblock.Serve(*arguments, token=token, kernels=self.kernels)
            self.arguments = list(arguments)
        return self.server

    def clear(self):
        rest = Rest(self.server)
        sessions = rest.get("/api/sessions")
        for session in sessions.json() if sessions.ok else ():
            rest.delete(f"/api/sessions/{session['id']}")
        for kernel_id in rest.kernel_ids():
            rest.end_kernel(kernel_id)

    def stop(self):
        if self.server:
            self.server.stop()
        self.arguments, self.server = None, None


SERVERS = Servers()


class App:
    """One test's server. arguments may be changed until the first request."""

    def __init__(self, *arguments):
        self.arguments = list(arguments)
        self._server = None

    @property
    def server(self):
        if not self._server:
            self._server = SERVERS.running(self.arguments)
        return self._server

    def end(self):
        if self._server:
            SERVERS.clear()
