"""kernel_suite - runs jupyter_kernel_test on ipykernel: `kernel_suite.py gateway|direct`. What it
takes to run it on another kernel is here too.

Of the suite's machinery two things are ours. setUpClass: over the gateway it starts a kernel with
GatewayKernelManager and talks to it through GatewayKernelClient, made to block. And its patience:
the suite takes a tenth of a second without a message for the end of what a kernel sends, which on a
busy machine is no end. In a process of its own, since the gateway client is a process-wide
singleton that reads the environment once.

Prints one line of JSON: by test, its end ("passed", "failed", "skipped") and, where parts of it
failed or were left out, which.
"""

import inspect
import json
import sys
import unittest

from jupyter_client.utils import run_sync
from jupyter_kernel_test import KernelTests, ensure_sync, validate_message
from jupyter_server.gateway.managers import GatewayKernelClient, GatewayKernelManager

START_S = 60
PATIENCE_S = 60  # the first completion parses the standard library


class BlockingClient(GatewayKernelClient):
    start_channels = run_sync(GatewayKernelClient.start_channels)
    wait_for_ready = run_sync(GatewayKernelClient._async_wait_for_ready)
    get_shell_msg = run_sync(GatewayKernelClient._async_get_shell_msg)
    get_iopub_msg = run_sync(GatewayKernelClient._async_get_iopub_msg)


class BlockingManager(GatewayKernelManager):
    client_factory = BlockingClient
    start_kernel = run_sync(GatewayKernelManager.start_kernel)
    shutdown_kernel = run_sync(GatewayKernelManager.shutdown_kernel)


def patient(get_msg):
    """get_msg, which waits at least PATIENCE_S."""

    def wait(timeout=None):
        return get_msg(timeout=max(timeout or 0, PATIENCE_S))

    async def wait_async(timeout=None):
        return await wait(timeout)

    return wait_async if inspect.iscoroutinefunction(get_msg) else wait


class Patient(KernelTests):
    """The suite's reads, with an end that is known instead of guessed."""

    @classmethod
    def setUpClass(cls):
        cls.start()
        for channel in (cls.kc.shell_channel, cls.kc.iopub_channel):
            channel.get_msg = patient(channel.get_msg)

    @classmethod
    def start(cls):
        super().setUpClass()

    def flush_channels(self):
        """Messages of a channel come in order: what was sent before these is before them."""
        number = self.kc.kernel_info()
        self.drop_until(self.kc.shell_channel, number, "status", "ok")
        self.drop_until(self.kc.iopub_channel, number, "execution_state", "idle")

    def drop_until(self, channel, number, key, value):
        content = {}
        while content.get(key) != value:
            message = ensure_sync(channel.get_msg)()
            validate_message(message)
            answers = message["parent_header"].get("msg_id") == number
            content = message["content"] if answers else {}


class Direct(Patient):
    """Every list of samples that the suite knows, filled."""

    kernel_name = "python3"
    language_name = "python"
    file_extension = ".py"
    code_hello_world = "print('hello, world')"
    code_stderr = "import sys; print('oh no', file=sys.stderr)"
    completion_samples = [{"text": "zi", "matches": {"zip"}}]
    complete_code_samples = ["1", "print('hello, world')", "def f(x):\n  return x*2\n\n\n"]
    incomplete_code_samples = ["print('''hello", "def f(x):\n  x*2"]
    invalid_code_samples = ["import = 7q"]
    code_page_something = "zip?"
    code_generate_error = "raise"
    code_execute_result = [
        {"code": "1+2+3", "result": "6"},
        {"code": "[n*n for n in range(1, 4)]", "result": "[1, 4, 9]"},
    ]
    code_display_data = [
        {"code": "from IPython.display import HTML, display; display(HTML('<b>test</b>'))"}
        | {"mime": "text/html"},
        {"code": "from IPython.display import Math, display; display(Math('\\\\frac{1}{2}'))"}
        | {"mime": "text/latex"},
    ]
    code_history_pattern = "1?2*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "zip"
    code_clear_output = "from IPython.display import clear_output\nclear_output()"


class ThroughGateway(Patient):
    """To be named before the class that has the samples."""

    @classmethod
    def start(cls):
        cls.km = BlockingManager()
        cls.km.start_kernel(kernel_name=cls.kernel_name)
        cls.kc = cls.km.client()
        cls.kc.start_channels()
        cls.kc.wait_for_ready(timeout=START_S)


class Gateway(ThroughGateway, Direct):
    pass


class Ends(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.ends = {}

    def startTest(self, test):
        super().startTest(test)
        self.ends[test.id().rpartition(".")[2]] = {"end": "passed", "parts": []}

    def note(self, test, end):
        whole = getattr(test, "test_case", test)
        entry = self.ends.setdefault(whole.id().rpartition(".")[2], {"parts": []})
        entry["end"] = end
        if whole is not test:
            entry["parts"].append(test._subDescription())

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, "failed")

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, "failed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skipped")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.note(subtest, "failed")


def run(case):
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(case)
    result = Ends()
    suite.run(result)
    for test, trace in [*result.failures, *result.errors]:
        print(test, trace, sep="\n", file=sys.stderr)
    print(json.dumps(result.ends))


if __name__ == "__main__":
    run({"gateway": Gateway, "direct": Direct}[sys.argv[1]])
