"""notebook_page - a notebook in JupyterLab as a person uses it, with every selector of the group.

Its one complication: JupyterLab says `idle` before a kernel exists, and drops in silence what it is
then told to run. So a state counts only beside a kernel's name.
"""

import re

from playwright.sync_api import expect

# Patience, not a measure: a busy machine may be slow, a lost message never comes.
PATIENCE_S = 60
expect.set_options(timeout=PATIENCE_S * 1000)

CHROMIUM = "/usr/bin/chromium"
CHROMIUM_FLAGS = (
    "--no-sandbox",  # which Chromium does not have as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# What JupyterLab says though nothing is wrong.
NOISE = (
    # Its server selects no subprotocol, so Chromium fails the first handshake; it tries again.
    r"WebSocket connection to .*/channels.* failed",
    r"Failed to load resource: .*/api/resolvePath",
    r"Canceled future for debug_request",
    # It asks for its debugger's state at each start; the kernel's end may be the answer.
    r"Could not restore the debugger state",
)


class NotebookPage:
    """A page of the browser on which one notebook is open. `errors` are the console's, without
    noise; `noise` may be extended by a test that breaks something on purpose."""

    def __init__(self, page, lab):
        self.page = page
        self.lab = lab
        self.noise = list(NOISE)
        self._said = []
        page.set_default_timeout(PATIENCE_S * 1000)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._said.append(f"uncaught: {error}"))
        page.on("dialog", lambda dialog: dialog.accept())  # leaving with unsaved changes

    def _hear(self, message):
        if message.type == "error":
            self._said.append(f"{message.text} {message.location.get('url', '')}")

    @property
    def errors(self):
        return [said for said in self._said if not any(re.search(n, said) for n in self.noise)]

    def open(self, path, workspace):
        """A workspace of its own has no tabs of earlier pages."""
        place = f"/lab/workspaces/{workspace}/tree/{path}?token={self.lab.token}"
        self.page.goto(self.lab.url + place)
        self.await_state("idle")

    def reload(self):
        self.page.reload()

    # -- the kernel -----------------------------------------------------------------------------

    @property
    def panel(self):
        return self.page.locator(".jp-NotebookPanel:visible")

    @property
    def kernel_name(self):
        return self.panel.locator(".jp-Toolbar-kernelName")

    def await_state(self, *states):
        expect(self.kernel_name).to_have_text(re.compile(r"^(?!No Kernel).+"))
        indicator = self.panel.locator(".jp-Notebook-ExecutionIndicator")
        expect(indicator).to_have_attribute("data-status", re.compile(f"^({'|'.join(states)})$"))

    def menu(self, menu, item):
        """item is the beginning of its label."""
        self.page.locator(".lm-MenuBar-itemLabel", has_text=re.compile(f"^{menu}$")).click()
        label = self.page.locator(".lm-Menu-itemLabel", has_text=re.compile(f"^{item}"))
        label.click()

    def accept_dialog(self):
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        expect(self.page.locator(".jp-Dialog")).to_have_count(0)

    def run_all(self):
        self.menu("Run", "Run All Cells$")

    def restart(self):
        """Ends when the new kernel is known; what is run before that, waits."""
        self.menu("Kernel", "Restart Kernel…$")
        with self.page.expect_response(re.compile("/restart")) as response:
            self.accept_dialog()
        assert response.value.status == 200, response.value.text()

    def accept_death(self):
        """What JupyterLab says of a kernel that died and is started again."""
        dialog = self.page.locator(".jp-Dialog", has_text="Kernel Restarting")
        expect(dialog).to_contain_text("appears to have died. It will restart automatically")
        dialog.locator("button").click()
        expect(dialog).to_have_count(0)

    def interrupt(self):
        self.page.locator('jp-button[data-command="notebook:interrupt-kernel"]').click()

    def shut_down(self):
        self.menu("Kernel", "Shut Down Kernel$")
        expect(self.kernel_name).to_have_text(re.compile("^No Kernel"))

    # -- cells ----------------------------------------------------------------------------------

    def cell(self, number):
        return self.panel.locator(".jp-CodeCell").nth(number)

    def editor(self, number):
        return self.cell(number).locator(".cm-content")

    def outputs(self, number):
        return self.cell(number).locator(".jp-OutputArea-output")

    def write(self, number, code):
        self.editor(number).click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(code)

    def run(self, number):
        self.editor(number).click()
        self.page.keyboard.press("Shift+Enter")

    def await_prompt(self, number, count):
        """count is what stands in the brackets: a number, or * while the cell waits or runs."""
        prompt = self.cell(number).locator(".jp-InputArea-prompt")
        expect(prompt).to_have_text(f"[{count}]:")

    def await_done(self, number):
        prompt = self.cell(number).locator(".jp-InputArea-prompt")
        expect(prompt).to_have_text(re.compile(r"^\[\d+\]:$"))

    def await_output(self, number, text):
        """text is a part of what the cell shows; a pattern where it is one."""
        expect(self.outputs(number).filter(has_text=text).first).to_be_visible()

    def text(self, number):
        return "".join(self.outputs(number).all_inner_texts())

    def complete(self, number, code):
        """What is offered after this code and Tab."""
        self.write(number, code)
        # Until it is, Tab is a tabulator.
        expect(self.cell(number).locator(".jp-mod-completer-enabled")).to_be_visible()
        self.page.keyboard.press("Tab")
        items = self.page.locator(".jp-Completer:not(.lm-mod-hidden) .jp-Completer-item")
        expect(items.first).to_be_visible()
        return items.all_inner_texts()

    def answer(self, number, text):
        """Answers the cell's input()."""
        field = self.cell(number).locator(".jp-Stdin-input")
        field.fill(text)
        field.press("Enter")
