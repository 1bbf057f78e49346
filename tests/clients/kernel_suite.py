"""kernel_suite - runs jupyter_kernel_test on one kernel: `kernel_suite.py gateway|direct`.

Of the suite's machinery setUpClass alone is ours: over the gateway it starts a kernel with
GatewayKernelManager and talks to it through GatewayKernelClient, made to block. In a process of its
own, since the gateway client is a process-wide singleton that reads the environment once.

Prints one line of JSON: by test, its end ("passed", "failed", "skipped") and, where parts of it
failed or were left out, which.
"""

import json
import sys
import unittest

from jupyter_client.utils import run_sync
from jupyter_kernel_test import KernelTests
from jupyter_server.gateway.managers import GatewayKernelClient, GatewayKernelManager

START_S = 60


class BlockingClient(GatewayKernelClient):
    start_channels = run_sync(GatewayKernelClient.start_channels)
    wait_for_ready = run_sync(GatewayKernelClient._async_wait_for_ready)
    get_shell_msg = run_sync(GatewayKernelClient._async_get_shell_msg)
    get_iopub_msg = run_sync(GatewayKernelClient._async_get_iopub_msg)


class BlockingManager(GatewayKernelManager):
    client_factory = BlockingClient
    start_kernel = run_sync(GatewayKernelManager.start_kernel)
    shutdown_kernel = run_sync(GatewayKernelManager.shutdown_kernel)


class Direct(KernelTests):
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


class Gateway(Direct):
    @classmethod
    def setUpClass(cls):
        cls.km = BlockingManager()
        cls.km.start_kernel(kernel_name=cls.kernel_name)
        cls.kc = cls.km.client()
        cls.kc.start_channels()
        cls.kc.wait_for_ready(timeout=START_S)


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


def main():
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(
        {"gateway": Gateway, "direct": Direct}[sys.argv[1]]
    )
    result = Ends()
    suite.run(result)
    for test, trace in [*result.failures, *result.errors]:
        print(test, trace, sep="\n", file=sys.stderr)
    print(json.dumps(result.ends))


if __name__ == "__main__":
    main()
