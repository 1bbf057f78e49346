"""suite - runs jupyter_kernel_test on a kernel of another language: `suite.py gateway|direct NAME`,
as tests/clients/kernel_suite.py does on ipykernel."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "clients"))

import kernel_suite  # noqa: E402


class R(kernel_suite.Patient):
    kernel_name = "ir"
    language_name = "R"
    file_extension = ".r"
    code_hello_world = "cat('hello, world')"
    code_stderr = "message('oh no')"
    completion_samples = [{"text": "read.cs", "matches": {"read.csv", "read.csv2"}}]
    complete_code_samples = ["1", "cat('hello, world')", "f <- function(x) {\n  x * 2\n}"]
    incomplete_code_samples = ["cat('hello", "f <- function(x) {\n  x * 2"]
    invalid_code_samples = ["import = 7q"]
    code_generate_error = "stop('very bad')"
    code_display_data = [{"code": "1+2+3", "mime": "text/plain"}]  # as it shows every result
    code_inspect_sample = "print"


class Bash(kernel_suite.Patient):
    kernel_name = "bash"
    language_name = "bash"
    file_extension = ".sh"
    code_hello_world = "echo 'hello, world'"
    completion_samples = [{"text": "ech", "matches": {"echo"}}]
    code_generate_error = "false"


def main():
    where, name = sys.argv[1:]
    (samples,) = (one for one in (R, Bash) if one.kernel_name == name)
    bases = (kernel_suite.ThroughGateway, samples) if where == "gateway" else (samples,)
    kernel_suite.run(type(name, bases, {}))


if __name__ == "__main__":
    main()
