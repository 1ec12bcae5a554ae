# SPDX-License-Identifier: BSD-3-Clause
"""reference.py - the commands of a server as its own command table has them, and our examples beside them.

`Reference(server)` starts the server, and asks it once for COMMAND DOCS and COMMAND INFO. The examples stand in
docs/commands/GROUP.md, which are pages like any other (tests/docs runs them): `## NAME`, a sentence about the reply, and a block
of commands. `utils/docs/commands` makes the index docs/commands.md of both, and `utils/docs/site` a page per command."""
import glob
import json
import os
import re
import subprocess
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GROUPS = {  # in the order of the index; the titles are ours
    "string": "Strings", "bitmap": "Bitmaps", "hyperloglog": "HyperLogLogs", "list": "Lists", "set": "Sets", "hash": "Hashes",
    "sorted-set": "Sorted sets", "geo": "Positions", "stream": "Streams", "pathhash": "Path hashes", "generic": "Any key",
    "transactions": "Transactions", "pubsub": "Messages", "scripting": "Scripts and functions", "connection": "Connections",
    "server": "The server", "cluster": "Clusters", "sentinel": "Sentinels",
}


def ask_server(server):
    """COMMAND DOCS and COMMAND INFO of a server that is started for that: names in lower case, subcommands as `client|kill`."""
    cli = os.path.join(os.path.dirname(server), "valkey-cli")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        process = subprocess.Popen([server, "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(600):
                if os.path.exists(path) or process.poll() is not None:
                    break
                time.sleep(0.05)

            def ask(*words):
                return json.loads(subprocess.run([cli, "-s", path, "--json", *words], capture_output=True, text=True, check=True).stdout)
            return ask("command", "docs"), ask("command", "info")
        finally:
            process.terminate()
            process.wait()


def grammar(argument):
    """An argument as `help` of valkey-cli writes it: [options], choices|between, and a thing, ... again."""
    flags = argument.get("flags", [])
    kind = argument["type"]
    if kind == "oneof":
        text = "|".join(grammar({**part, "flags": [f for f in part.get("flags", []) if f != "optional"]}) for part in argument["arguments"])
        text = text if "optional" in flags else "<" + text + ">"
    elif kind == "block":
        text = " ".join(grammar(part) for part in argument["arguments"])
    elif kind == "pure-token":
        text = ""
    else:
        text = argument.get("display_text", argument["name"])
    token = argument.get("token")
    whole = (token + " " + text).strip() if token is not None else text
    if "multiple" in flags:
        again = whole if "multiple_token" in flags else text
        whole += " [" + again + " ...]"
    return "[" + whole + "]" if "optional" in flags else whole


class Command:
    def __init__(self, name, docs, info):
        self.name = name.upper().replace("|", " ")
        self.file = name.lower().replace("|", "-")
        self.anchor = self.name.lower().replace(" ", "-")
        self.docs, self.group, self.summary = docs, docs["group"], docs["summary"]
        self.is_container = "subcommands" in docs
        self.arity, self.flags, self.first, self.last, self.step, self.categories, self.tips = info[1:8]

    def grammar(self):
        return " ".join([self.name] + [grammar(argument) for argument in self.docs.get("arguments", [])])

    def explained(self):
        """Arguments that have an explanation: (how they are written, explanation)."""
        def walk(arguments):
            for argument in arguments:
                if argument.get("summary"):
                    yield grammar({**argument, "flags": [f for f in argument.get("flags", []) if f != "optional"]}), argument["summary"]
                yield from walk(argument.get("arguments", []))
        return list(walk(self.docs.get("arguments", [])))

    def keys(self):
        """Where its keys stand, in words."""
        if self.first == 0:
            return "movable: they depend on the arguments" if "movablekeys" in self.flags else "none"
        last = "the last argument" if self.last == -1 else "the last argument but %d" % (-self.last - 1) if self.last < 0 else "argument %d" % self.last
        text = "argument %d" % self.first if self.last == self.first else "from argument %d to %s" % (self.first, last)
        text += ", each second one" if self.step == 2 else ""
        return text + "; more depend on the arguments" if "movablekeys" in self.flags else text


class Reference:
    def __init__(self, server, examples=None):
        docs, infos = ask_server(server)
        by_name = {}

        def collect(infos):
            for info in infos:
                by_name[info[0].lower()] = info
                collect(info[9] if len(info) > 9 else [])
        collect(infos)
        self.commands = []
        for name, entry in docs.items():
            self.commands.append(Command(name, entry, by_name[name]))
            for sub, sub_entry in entry.get("subcommands", {}).items():
                self.commands.append(Command(sub, sub_entry, by_name[sub]))
        self.commands.sort(key=lambda command: command.name)
        self.examples = read_examples() if examples is None else examples

    def by_group(self):
        found = {group: [] for group in GROUPS}
        for command in self.commands:
            found.setdefault(command.group, []).append(command)
        return {group: commands for group, commands in found.items() if commands}


def read_examples():
    """{NAME: (group, Markdown under its heading)} from docs/commands/*.md."""
    found = {}
    for path in sorted(glob.glob(os.path.join(TOP, "docs/commands/*.md"))):
        text = re.sub(r"<!--.*?-->\n?", "", open(path).read(), flags=re.S)
        for part in re.split(r"^## ", text, flags=re.M)[1:]:
            title, body = part.split("\n", 1)
            found[title.strip()] = (os.path.basename(path)[:-3], body.strip())
    return found


def index_page(reference):
    """docs/commands.md."""
    out = ["# All commands", "",
           "This page is made from the server's command table by `utils/docs/commands`; do not edit it. A name leads to an",
           "example. `help SET` in `valkey-cli` shows a command's arguments, and `make site` makes a page for each, with",
           "its grammar, complexity, categories and history.", ""]
    for group, commands in reference.by_group().items():
        out += ["## " + GROUPS.get(group, group), "", "| command | what it does | since |", "|---|---|---|"]
        for command in commands:
            example = reference.examples.get(command.name)
            name = "[%s](commands/%s.md#%s)" % (command.name, example[0], command.anchor) if example else command.name
            since = command.docs["since"] + (", deprecated" if "deprecated" in command.docs.get("doc_flags", []) else "")
            out.append("| %s | %s | %s |" % (name, command.summary.replace("|", "\\|"), since))
        out.append("")
    return "\n".join(out).rstrip() + "\n"


def problems(reference):
    """What is wrong with the examples: names that are no commands, wrong groups, sections without a block or without a sentence."""
    known = {command.name: command for command in reference.commands}
    found = []
    for name, (group, body) in reference.examples.items():
        place = "docs/commands/%s.md: %s" % (group, name)
        if name not in known:
            found.append(place + ": the server has no such command")
        elif known[name].group != group:
            found.append("%s: it belongs to the group %s" % (place, known[name].group))
        if not re.search(r"^```sh$", body, re.M):
            found.append(place + ": no example that is run")
        if not body.split("```")[0].strip():
            found.append(place + ": no sentence about the reply")
    return found


def check(tree, server):
    """What is wrong with docs/commands.md and the examples, in the form of the checks of tests/docs."""
    reference = Reference(server)
    wrong = problems(reference)
    page = os.path.join(tree, "docs/commands.md")
    if not os.path.exists(page) or open(page).read() != index_page(reference):
        wrong.append("docs/commands.md is not what utils/docs/commands writes now")
    return wrong
