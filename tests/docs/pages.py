"""pages.py - a page of documentation as something to run: its blocks of commands, and what they print.

A block ```sh is run, line after line, by one shell for the whole page; a block ```console or any other is only shown. Words behind
`sh` say where it runs: `sh tree` in the checkout instead of a scratch folder, `sh root` only with --root (it changes the system: use a
chroot), `sh slow` only with --slow. What a page needs but its reader has already (an old server, say) stands in a comment:

    <!-- sh                          run like a block, not shown
    "$OLD_SERVER" --port 6379 --daemonize yes
    -->
    <!-- needs: openssl curl -->     programs; where one is missing the page is skipped. metrics: a build with metrics-port;
                                     old-server: the page is run once with each old server that is there

What a command prints is compared with the lines behind it:

    valkey-cli ping                  # -> PONG
    valkey-cli lrange list 0 -1
    # -> a                           one line each; ... stands for any text, and alone in its line for any lines
    # -> b
    valkey-cli dbsize                # ~> 2     comes within some seconds: the command is repeated until it does

Without such lines the command must end with status 0 and print no error reply; `# -> exit status 1` expects another status.
"""
import ctypes
import os
import re
import select
import signal
import subprocess
import time

COMMAND_LIMIT_S, SLOW_LIMIT_S = 120, 1800
SOON_S = 40  # how long `# ~>` may take

EXPECTED = re.compile(r"^(?P<command>.*?)(?:^|\s+)# (?P<arrow>->|~>) ?(?P<text>.*)$")
ERROR_REPLY = re.compile(
    r"^(\(error\) )?(ERR|NOAUTH|WRONGPASS|NOPERM|WRONGTYPE|MOVED|ASK|CROSSSLOT|CLUSTERDOWN|READONLY|LOADING|MISCONF|OOM|NOREPLICAS|"
    r"MASTERDOWN|NOSCRIPT|BUSY|BUSYKEY|EXECABORT|DENIED|INPROG|IOERR|NOGOODSLAVE|UNKILLABLE|Could not connect)\b", re.M)


class Failed(Exception):
    pass


class Command:
    def __init__(self, text, line):
        self.text, self.line = text, line
        self.expected, self.soon = [], False

    def expect(self, arrow, text):
        self.soon = self.soon or arrow == "~>"
        self.expected.append(text.rstrip())


class Block:
    def __init__(self, words, line):
        self.words, self.line, self.lines = words, line, []

    def commands(self):
        """The whole commands of the block: one line, or as many as the shell needs."""
        found, pending, start = [], "", self.line
        for number, text in enumerate(self.lines, self.line + 1):
            match = EXPECTED.match(text)
            if match and pending and not match["command"].strip():
                match = None  # in the middle of a command: a line of a file, say
            if match:
                text = match["command"]
            if not pending and (not text.strip() or text.lstrip().startswith("#")):
                text = ""
            if text or pending:
                start = number if not pending else start
                pending += text + "\n"
                if whole(pending):
                    found.append(Command(pending.rstrip("\n"), start))
                    pending = ""
            if match:
                if pending or not found:
                    raise Failed("line %d: what is printed stands behind no whole command" % number)
                found[-1].expect(match["arrow"], match["text"])
        if pending:
            raise Failed("line %d: this command does not end within its block:\n%s" % (start, pending))
        return found


def whole(text):
    """Whether the shell would run this, or wait for more lines. What is wrong in any other way is found when it runs."""
    if text.endswith("\\\n"):
        return False
    checked = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
    return not ("unexpected end of file" in checked.stderr or "unexpected EOF" in checked.stderr or "here-document" in checked.stderr)


class Page:
    def __init__(self, path):
        self.path = path
        self.blocks, self.needs = [], []
        block, in_comment = None, False
        with open(path) as file:
            for number, line in enumerate(file, 1):
                line = line.rstrip("\n")
                fence = re.match(r"^\s*(```+|~~~+)\s*(.*)$", line)
                if block is None and re.match(r"^<!-- sh\b", line):
                    block, in_comment = Block(line[4:].split(), number), True
                elif block is None and line.startswith("<!-- needs:"):
                    self.needs += line[len("<!-- needs:"):].rsplit("-->", 1)[0].split()
                elif block is None and fence:
                    block, in_comment = Block(fence[2].split(), number), False
                elif block is not None and (line == "-->" if in_comment else fence):
                    self.blocks.append(block)
                    block = None
                elif block is not None:
                    block.lines.append(line)
        if block is not None:
            raise Failed("%s: the block of line %d has no end" % (path, block.line))

    def runnable(self, root=False, slow=False):
        for block in self.blocks:
            if block.words[:1] == ["sh"] and (root or "root" not in block.words) and (slow or "slow" not in block.words):
                yield block


def same(expected, printed):
    """Whether the printed lines are the expected ones; `...` is any text, a line of it any lines."""
    parts = []
    for line in expected:
        if line == "...":
            parts.append(r"(?:.*\n)*")
        else:
            parts.append(".*".join(re.escape(piece) for piece in line.split("...")) + r"\n")
    return re.fullmatch("".join(parts), "".join(line.rstrip() + "\n" for line in printed)) is not None


class Shell:
    """A bash that runs one command at a time, and keeps its variables and folder from one to the next."""

    def __init__(self, folder, around, environment):
        self.around = around
        read, write = os.pipe()
        self.codes = read
        self.process = subprocess.Popen(["bash", "--norc", "--noprofile"], cwd=folder, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(write,))
        self.write_fd = write

    def run(self, text, limit_s=COMMAND_LIMIT_S):
        """Status and printed text of the command."""
        command, output = os.path.join(self.around, "command"), os.path.join(self.around, "output")
        with open(command, "w") as file:
            file.write(text + "\n")
        line = "source '%s' >'%s' 2>&1 </dev/null %d>&-; echo $? >&%d\n" % (command, output, self.write_fd, self.write_fd)
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        code, until = b"", time.monotonic() + limit_s
        while not code.endswith(b"\n"):
            ready, _, _ = select.select([self.codes], [], [], 1)
            if ready:
                code += os.read(self.codes, 16)
            elif self.process.poll() is not None:
                raise Failed("the shell has ended (%s)" % self.process.returncode)
            elif time.monotonic() > until:
                with open(output, errors="replace") as file:
                    raise Failed("no end after %d s; so far it has printed:\n%s" % (limit_s, file.read()))
        with open(output, errors="replace") as file:
            return int(code), re.sub(r"\x1b\[[0-9;]*m", "", file.read())  # without colours


def run_command(shell, command, limit_s):
    until = time.monotonic() + (SOON_S if command.soon else 0)
    while True:
        code, printed = shell.run(command.text, limit_s)
        lines = printed.rstrip().split("\n") if printed.strip() else []
        wanted_code, expected = 0, list(command.expected)
        if expected and expected[-1].startswith("exit status "):
            wanted_code = int(expected.pop()[len("exit status "):])
        wrong = None
        if code != wanted_code:
            wrong = "it ends with status %d" % code
        elif expected and not same(expected, lines):
            wrong = "it prints something else than\n" + "\n".join(expected)
        elif not command.expected and ERROR_REPLY.search(printed):
            wrong = "it gets an error"
        if wrong is None:
            return
        if time.monotonic() >= until:
            raise Failed("%s\n-- printed:\n%s" % (wrong, "\n".join(lines[-40:])))
        time.sleep(0.3)


def become_reaper():
    """A process that a shell leaves behind becomes a child of ours, so that it can be ended by its id."""
    ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def end_children():
    for _ in range(20):
        children = []
        for name in os.listdir("/proc"):
            try:
                with open("/proc/%s/stat" % name) as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                if name.isdigit() and int(fields[1]) == os.getpid():
                    children.append(int(name))
            except (OSError, IndexError, ValueError):
                continue
        if not children:
            return
        for child in children:
            try:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            except OSError:
                pass


def run_page(page, folder, around, environment, tree, root, slow):
    """Runs the page's blocks; returns how many commands that were."""
    become_reaper()
    count = 0
    shell = Shell(folder, around, environment)
    try:
        for block in page.runnable(root, slow):
            in_tree = "tree" in block.words
            if in_tree:
                shell.run("cd '%s'" % tree)
            for command in block.commands():
                try:
                    run_command(shell, command, SLOW_LIMIT_S if {"slow", "root"} & set(block.words) else COMMAND_LIMIT_S)
                except Failed as failure:
                    raise Failed("line %d: %s\n-- %s" % (command.line, command.text, failure))
                count += 1
            if in_tree:
                shell.run("cd '%s'" % folder)
    finally:
        end_children()
    return count
