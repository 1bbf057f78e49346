"""table - the kernels that gateway/add-kernel installs, and how each says what every kernel can."""

import dataclasses
import pathlib

import cellblock

# What JUPYTER_PATH is for a server that gateway/start starts.
ADDED = pathlib.Path(cellblock.PYTHON).parent / "kernels"
JUPYTER_PATH = f"{ADDED}/share/jupyter"


@dataclasses.dataclass(frozen=True)
class Kernel:
    """name is the kernelspec's. Code is in the kernel's own language: keep sets a variable to 7,
    show prints it; wait prints "begun" and goes on for ever; ask prints the line that it asks for;
    die ends the kernel by SIGKILL. lost is what show says where the variable is not set."""

    name: str
    language: str
    implementation: str
    keep: str
    show: str
    lost: str
    fail: str
    failure: str  # in the error's ename and evalue
    complete: str
    completed: str
    wait: str
    interrupted: str  # the reply's status, or a part of its evalue where the kernel ends
    ask: str | None
    die: str
    died: str = "SIGKILL"


R = Kernel(
    name="ir",
    language="R",
    implementation="IRkernel",
    keep="x <- 7",
    show="cat(x)",
    lost="object 'x' not found",
    fail="stop('very bad')",
    failure="very bad",
    complete="read.cs",
    completed="read.csv",
    wait="cat('begun\\n'); flush.console(); while (TRUE) {}",
    interrupted="abort",
    ask="cat(readline('who? '))",
    die="tools::pskill(Sys.getpid(), 9)",
)
BASH = Kernel(
    name="bash",
    language="bash",
    implementation="bash_kernel",
    keep="x=7",
    show="echo ${x?}",
    lost="1",  # the exit status
    fail="ls /very/bad",
    failure="2",  # ls's exit status
    complete="ech",
    completed="echo",
    wait="echo begun; sleep 100000",
    interrupted="abort",
    ask=None,  # nobody can: its shell's terminal is pexpect's
    die="kill -9 $PPID",
)
XEUS = Kernel(
    name="xpython",
    language="python",
    implementation="xeus-python",
    keep="x = 7",
    show="print(x)",
    lost="name 'x' is not defined",
    fail="raise ValueError('very bad')",
    failure="very bad",
    complete="impo",
    completed="import",
    wait="print('begun')\nwhile True: pass",
    interrupted="exit status 0",  # SIGINT ends it
    ask="print(input('who? '))",
    die="import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
)
DENO = Kernel(
    name="deno",
    language="typescript",
    implementation="Deno kernel",
    keep="let x = 7",
    show="console.log(x)",
    lost="x is not defined",
    fail="throw new Error('very bad')",
    failure="very bad",
    complete="consol",
    completed="console",
    # What it prints comes a moment later, by a thread of its own.
    wait="console.log('begun'); await new Promise(() => setInterval(() => {}, 1000))",
    interrupted="SIGINT",  # which ends it
    ask="console.log(prompt('who?'))",
    die="Deno.kill(Deno.pid, 'SIGKILL')",
)
JAVA = Kernel(
    name="java",
    language="java",
    implementation="JJava",
    keep="int x = 7;",
    show="System.out.println(x);",
    lost="cannot find symbol",
    fail='throw new RuntimeException("very bad");',
    failure="very bad",
    complete="System.ou",
    completed="out",
    # One snippet: between two of them an interrupt is lost.
    wait='{ System.out.println("begun"); Thread.sleep(100000000L); }',
    interrupted="error",
    ask="System.out.println(new java.util.Scanner(System.in).nextLine());",
    die='new ProcessBuilder("sh", "-c", "kill -9 $PPID").start().waitFor();',
    died="exit status 137",  # says its launcher, for 128 + SIGKILL
)
KERNELS = (R, BASH, XEUS, DENO, JAVA)
