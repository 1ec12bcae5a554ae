"""names.py - what pages name in `backticks` exists: directives, fields of INFO, commands, options of the tools, make
targets, files.

The form of a name decides its kind: `lower-with-dashes` is a directive, `lower_with_underscores` a field or a name in
our programs, `UPPER CASE` a command and its arguments, `CODE some words` an error, `--word` an option of a tool or a
directive, `make word` a target. Everything else (values, programs of others, made-up names) is not checked, unless it
has one of these forms: then it must be listed in known_words. Pages of history and results are left out.
"""
import glob
import os
import re
import subprocess
import tempfile
import time

import redis8
from links import markdown_files

LEFT_OUT = ("utils/bench/RESULTS.md", "docs/differences.md", "src/README.md", "tests/", "deps/")
TOOLS = ("valkey-server", "valkey-cli", "valkey-benchmark", "valkey-check-rdb", "valkey-check-aof")


ERROR = re.compile(r"(?:ERR|DENIED|NOAUTH|WRONGPASS|NOPERM|OOM|MISCONF|READONLY|NOREPLICAS|LOADING|BUSY|MOVED|CROSSSLOT|CLUSTERDOWN) \w+ \w+")


class Known:
    def __init__(self, tree, server):
        folder = os.path.dirname(server)
        self.tree = tree
        with open(os.path.join(tree, "tests/docs/known_words")) as file:
            self.words = {line.strip() for line in file if line.strip() and not line.startswith("#")}
        self.texts, self.programs = b"", set()  # what is in them, and its words
        for name in ("valkey-server", "valkey-cli", "valkey-benchmark"):
            with open(os.path.join(folder, name), "rb") as file:
                self.texts += file.read()
        self.programs.update(re.findall(rb"[A-Za-z0-9_-]{2,}", self.texts))
        self.help = ""
        for name in TOOLS:
            self.help += subprocess.run([os.path.join(folder, name), "--help"], capture_output=True, text=True).stdout
        self.help += subprocess.run([os.path.join(folder, "valkey-cli"), "--cluster", "help"], capture_output=True, text=True).stdout
        self.help += "".join(open(path).read() for path in [os.path.join(tree, "tests/run")] +
                             glob.glob(os.path.join(tree, "utils/bench/*")) + glob.glob(os.path.join(tree, "tests/*/[a-z]*"))
                             if os.path.isfile(path) and "." not in os.path.basename(path))
        self.options = set(re.findall(r"--[a-z][a-z0-9-]+", self.help))
        self.targets = set(re.findall(r"^([a-z][\w-]*):", open(os.path.join(tree, "src/Makefile")).read(), re.M))
        self.targets |= set(open(os.path.join(tree, "Makefile")).read().split("TARGETS := ", 1)[1].split("\n", 1)[0].split())
        self.ask_server(server, os.path.join(folder, "valkey-cli"))

    def ask_server(self, server, cli):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "s")
            process = subprocess.Popen([server, "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                for _ in range(200):
                    if os.path.exists(path):
                        break
                    time.sleep(0.05)

                def ask(*words):
                    return subprocess.run([cli, "-s", path, *words], capture_output=True, text=True, check=True).stdout.split("\n")
                self.directives = set(ask("config", "get", "*")[0::2])
                self.commands = {name.upper() for name in ask("command", "list")}
                self.fields = {line.split(":")[0] for line in ask("info", "everything") if ":" in line}
            finally:
                process.terminate()
                process.wait()

    def in_programs(self, word):
        return word.encode() in self.programs

    def directive(self, word):
        return word in self.directives or self.in_programs(word)

    def field(self, word):
        word = re.sub(r"^(?:cmdstat|latency_percentiles_usec)_(\w+)$", lambda match: match[1] if match[1].upper() in self.commands else match[0], word)
        if word.startswith("redis_") and self.in_programs(word[len("redis_"):]):  # names of metrics
            return True
        return word in self.fields or self.in_programs(word) or word in self.help

    def command(self, text):
        """A command, its subcommand, and the words in capitals behind it, each of which the server must know."""
        words = [word for word in re.findall(r"[A-Z][A-Z0-9_-]+", text)]
        first = words[0]
        if first not in self.commands and not self.in_programs(first) and not self.in_programs(first.lower()):
            return False
        return all(self.in_programs(word) or self.in_programs(word.lower()) or word in self.words for word in words[1:])

    def wrong(self, text):
        """What is unknown in a piece of code, or None."""
        if text in self.words:
            return None
        if ERROR.match(text):  # the text of an error, or its beginning and …
            return None if text.split("…")[0].strip().encode() in self.texts else text
        unknown = []
        for option in re.findall(r"(?:^|\s)(--[a-z][a-z0-9-]+)", text):
            if option not in self.options and not self.directive(option[2:]) and option not in self.words:
                unknown.append(option)
        for target in re.findall(r"\bmake ((?:[a-z][\w-]*\s?)+)", text) if text.startswith("make ") else []:
            for word in target.split():
                if word not in self.targets and not re.match(r"(?:unit|fuzz)-", word) and word not in self.words:
                    unknown.append("make " + word)
        first = text.split()[0] if text.split() else ""
        if re.fullmatch(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+", first) and not self.directive(first) and first not in self.words:
            if not glob.glob(os.path.join(self.tree, "src", first)):
                unknown.append(first)
        if re.fullmatch(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+", first) and not self.field(first) and first not in self.words:
            unknown.append(first)
        if re.match(r"[A-Z][A-Z0-9]+(?:[ -]|$)", text) and not re.search(r"[=/]", text) and first not in self.words and not self.command(text):
            unknown.append(text)
        if re.fullmatch(r"(?:src|tests|utils|docs|deps|\.ci)/[\w./-]+", text) and not os.path.exists(os.path.join(self.tree, text)) and "foo" not in text:
            unknown.append(text)
        return ", ".join(unknown) or None


def shown_commands(text):
    """Lines of blocks ```console that call one of our programs or make: they are not run, but what they name is looked up."""
    for block in re.finditer(r"^```console\n(.*?)^```", text, flags=re.M | re.S):
        first = text.count("\n", 0, block.start()) + 2
        for number, line in enumerate(block[1].split("\n"), first):
            line = re.sub(r"\s# .*", "", line)
            if re.match(r"(?:src/)?valkey-|make |tests/run", line):
                yield number, line


def check(tree, server):
    known, wrong = Known(tree, server), []
    for path in markdown_files(tree):
        name = os.path.relpath(path, tree)
        if name.startswith(LEFT_OUT):
            continue
        text = open(path).read()
        text = redis8.without_section(text) if name == redis8.PAGE else text  # that page names what our programs do not know
        for number, line in shown_commands(text):
            unknown = known.wrong(line)
            if unknown:
                wrong.append("%s:%d: %s: our programs know no %s" % (name, number, line, unknown))
        text = re.sub(r"^\s*(```+).*?^\s*\1\s*$", lambda match: "\n" * match[0].count("\n"), text, flags=re.M | re.S)
        for number, line in enumerate(text.split("\n"), 1):
            for code in re.findall(r"`([^`]+)`", line):
                unknown = known.wrong(code)
                if unknown:
                    wrong.append("%s:%d: `%s`: our programs know no %s" % (name, number, code, unknown))
    return wrong
