"""suite_gatewayapp - the base class of Enterprise Gateway's tests of its handlers, put in the place
of its test_gatewayapp.py: the same words, but the gateway is a Cellblock.

What its tests set on their gateway's object becomes an argument of the server.
"""

import pathlib
import types

from suite_plugin import PATIENCE_S
from suite_servers import App
from tornado.httpclient import AsyncHTTPClient
from tornado.testing import AsyncTestCase, ExpectLog

RESOURCES = str(pathlib.Path(__file__).parent / "resources")

# Of our parameters those that it has too, by its names.
PARAMETERS = {"eg_max_kernels": "--max-kernels"}


class Settings(dict):
    """Of the web application. That kernels are listed is so without being asked for."""

    def arguments(self):
        wanted = {name: self[name] for name in self if name != "eg_list_kernels"}
        return [f"{PARAMETERS[name]}={value}" for name, value in wanted.items()]


class TestGatewayAppBase(AsyncTestCase, ExpectLog):
    def setUp(self):
        super().setUp()
        self.http_client = AsyncHTTPClient(defaults={"request_timeout": PATIENCE_S})
        self.app = types.SimpleNamespace(env_whitelist=[])
        self.app.web_app = types.SimpleNamespace(settings=Settings())
        self.gateway = App()
        self.setup_app()
        self.setup_configurables()

    def tearDown(self):
        self.gateway.end()
        super().tearDown()

    def get_app(self):
        return self.app.web_app

    def setup_app(self):
        pass

    def setup_configurables(self):
        pass

    @property
    def server(self):
        """Its tests start without a token."""
        envs = [f"--allowed-envs={name}" for name in self.app.env_whitelist]
        self.gateway.arguments = [
            "--no-token",
            *envs,
            *self.app.web_app.settings.arguments(),
        ]
        return self.gateway.server

    def get_http_port(self):
        return self.server.port

    def get_url(self, path):
        return self.server.url + path
