"""Kernels of other languages, jailed, each through its whole life."""

import time

import pytest
import table
from channels import Channels, parent_of


def await_text(channels, msg_id, text):
    """Waits for text on stdout: some kernels print after they have said that they are idle."""
    while text not in channels.answer_so_far(msg_id).text:
        channels.until(lambda message: parent_of(message) == msg_id)


def check_says(channels, code, text):
    msg_id = channels.execute(code)
    assert channels.answer(msg_id).content["status"] == "ok"
    await_text(channels, msg_id, text)


def check_error(channels, code, words):
    answer = channels.run(code)
    assert answer.content["status"] == "error", answer.messages
    (error,) = answer.of_kind("error")
    content = error["content"]
    assert words in "\n".join([content["ename"], content["evalue"], *content["traceback"]])


def check_information(channels, kernel):
    content = channels.kernel_info().content
    assert content["implementation"] == kernel.implementation
    assert content["language_info"]["name"].lower() == kernel.language.lower()


def check_completion(channels, kernel):
    content = {"code": kernel.complete, "cursor_pos": len(kernel.complete)}
    answer = channels.answer(channels.send("complete_request", content))
    assert kernel.completed in answer.content["matches"]


def check_input(channels, kernel):
    msg_id = channels.execute(kernel.ask, allow_stdin=True)
    request = channels.until_kind("input_request", msg_id)
    channels.send("input_reply", {"value": "Ada"}, "stdin", parent_header=request["header"])
    assert channels.answer(msg_id).content["status"] == "ok"
    await_text(channels, msg_id, "Ada")


def check_interrupt(rest, kernel_id, channels, kernel):
    msg_id = channels.execute(kernel.wait)
    await_text(channels, msg_id, "begun")
    assert rest.post(f"/api/kernels/{kernel_id}/interrupt").status_code == 204
    content = channels.answer(msg_id).content
    assert content["status"] == kernel.interrupted or kernel.interrupted in content["evalue"]


def check_restart(rest, kernel_id, channels, kernel):
    """The same id and socket, and nothing of what was."""
    assert rest.post(f"/api/kernels/{kernel_id}/restart").status_code == 200
    check_error(channels, kernel.show, kernel.lost)
    check_says(channels, kernel.keep, "")
    check_says(channels, kernel.show, "7")


def check_death(channels, code, sentence):
    answer = channels.run(code)
    assert answer.content["status"] == "error", answer.messages
    assert sentence in answer.content["evalue"]
    assert answer.kinds[-2:] == ["error", "status"]


@pytest.mark.parametrize("kernel", table.KERNELS, ids=lambda kernel: kernel.name)
def test_a_life(rest, serve, kernel):
    kernel_id = rest.start_kernel(name=kernel.name)
    with Channels(serve, kernel_id) as channels:
        check_information(channels, kernel)
        check_says(channels, kernel.keep, "")
        check_says(channels, kernel.show, "7")
        check_error(channels, kernel.fail, kernel.failure)
        check_says(channels, kernel.show, "7")
        check_completion(channels, kernel)
        if kernel.ask:
            check_input(channels, kernel)
        check_interrupt(rest, kernel_id, channels, kernel)
        check_restart(rest, kernel_id, channels, kernel)
        check_death(channels, kernel.die, kernel.died)
        check_restart(rest, kernel_id, channels, kernel)
        start = time.monotonic()
        rest.end_kernel(kernel_id)
        # bash_kernel for one takes longer than that to leave by itself.
        assert time.monotonic() - start < 5
    assert kernel_id not in rest.kernel_ids()


def test_a_launcher_takes_its_kernel_along(rest, serve):
    """Java's launcher is the main process, and waits for another, which does not outlive it."""
    kernel_id = rest.start_kernel(name="java")
    with Channels(serve, kernel_id) as channels:
        code = "long launcher = ProcessHandle.current().parent().get().pid();"
        check_says(channels, code, "")
        code = 'new ProcessBuilder("kill", "-9", "" + launcher).start(); Thread.sleep(100000000L);'
        check_death(channels, code, "SIGKILL")
    rest.end_kernel(kernel_id)


def test_java_knows_how_much_memory_it_has(rest, serve):
    """The session's, not the host's; want of it is an error of the cell."""
    limits = {"memory_bytes": 400 << 20}
    heap = "Runtime.getRuntime().maxMemory() >> 20"
    kernel_id = rest.start_kernel(name="java", cellblock={"limits": limits})
    with Channels(serve, kernel_id) as channels:
        assert int(channels.run(f"System.out.println({heap});").text) < 200
        code = "System.out.println(new long[50_000_000].length);"
        check_error(channels, code, "OutOfMemoryError")
        check_says(channels, 'System.out.println("alive");', "alive")
    rest.end_kernel(kernel_id)


def test_tcp_of_two_sessions_at_once(rest, serve):
    """Both have a network of their own: ports of one are nothing to the other."""
    kernel_ids = [rest.start_kernel(name="deno") for _ in range(2)]
    for number, kernel_id in enumerate(kernel_ids):
        with Channels(serve, kernel_id) as channels:
            check_says(channels, f"let x = {number}; console.log('is', x)", f"is {number}")
    for kernel_id in kernel_ids:
        rest.end_kernel(kernel_id)


def test_a_large_message_through_the_bridge(rest, serve):
    """Many times what is on the way at once. Not by Deno, which writes messages into each other
    where its reader is slower than itself; the other direction is in init's own tests."""
    kernel_id = rest.start_kernel(name="java")
    with Channels(serve, kernel_id) as channels:
        size = 8 << 20
        answer = channels.run(f'"y".repeat({size})')
        assert answer.content["status"] == "ok"
        assert answer.text.strip('"') == "y" * size
    rest.end_kernel(kernel_id)
