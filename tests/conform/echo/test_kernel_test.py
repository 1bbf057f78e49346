"""jupyter_kernel_test's own tests on the echo kernel, every sample list filled."""

import unittest

import echo
import jupyter_kernel_test


class Started:
    """setUpClass with the build's kernelspec instead of an installed one."""

    @classmethod
    def setUpClass(cls):
        cls.km = echo.manager()
        cls.km.start_kernel()
        cls.kc = cls.km.blocking_client()
        if cls.ready_first:
            cls.kc.start_channels()
            cls.kc.wait_for_ready(timeout=echo.TIMEOUT_S)

    ready_first = True


class TestEchoKernel(Started, jupyter_kernel_test.KernelTests):
    language_name = "echo"
    file_extension = ".echo"
    code_hello_world = "print hello, world"
    code_stderr = "stderr oops"
    completion_samples = [
        {"text": "s", "matches": ["stderr", "sleep", "spin", "signal"]},
        {"text": "echo a\npri", "matches": ["print"]},
        {"text": "nothing", "matches": []},
    ]
    complete_code_samples = ["print a", "sleep 1\nanything", ""]
    incomplete_code_samples = ["print a\\"]
    invalid_code_samples = ["sleep soon", "print a\nexit 999"]
    code_page_something = "page text"
    code_generate_error = "error NameError x"
    code_execute_result = [
        {"code": "echo a", "result": "a"},
        {"code": "some text", "result": "some text"},
    ]
    code_display_data = [
        {"code": "display image/png iVBORw0KGgo=", "mime": "image/png"},
        {"code": "display application/json {}", "mime": "application/json"},
    ]
    code_history_pattern = "echo*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "sleep 10"
    code_clear_output = "clear"


class TestEchoWelcome(Started, jupyter_kernel_test.IopubWelcomeTests):
    support_iopub_welcome = True
    ready_first = False


if __name__ == "__main__":
    unittest.main()
