"""itself.py - the checks of the pages, on small pages that are right or wrong in one thing each."""
import os
import tempfile

import links
import redis8
import sources
from names import Known
from pages import Block, Failed, Shell, run_command

# Lines of a block, and a part of the expected message; None: nothing is wrong.
BLOCKS = [
    (["echo a"], None),
    (["echo a # -> a"], None),
    (["echo a # -> b"], "prints something else"),
    (["echo a; echo b", "# -> a", "# -> b"], None),
    (["echo a; echo b", "# -> a"], "prints something else"),
    (["echo abc # -> a...c", "printf '1\\n2\\n3\\n'", "# -> 1", "# -> ...", "# -> 3"], None),
    (["false"], "status 1"),
    (["false # -> exit status 1"], None),
    (["echo ERR unknown command"], "gets an error"),
    (["echo ERR unknown command # -> ERR unknown..."], None),
    (["touch later; sleep 1 && echo x > later & cat later # ~> x"], None),
    (["for i in 1 2; do", "    echo $i", "done", "# -> 1", "# -> 2"], None),
    (["cat > file <<END", "# -> no expectation", "END", "cat file", "# -> ..."], None),
    (["x=kept", "mkdir d && cd d", "echo $x # -> kept", "basename $PWD # -> d"], None),
    (["for i in 1 2; do"], "does not end"),
    (["# -> a"], "stands behind no whole command"),
]
PAGES = [
    ("[a](there.md)", None), ("[a](there.md#a-heading)", None), ("[a](#here)\n# Here", None), ("[a](https://example.org/x)", None),
    ("```\n[a](nowhere.md)\n```", None), ("`[a](nowhere.md)`", None), ("[a](there.md#double-1)", None),
    ("[a](nowhere.md)", "no such file"), ("![a](nowhere.svg)", "no such file"), ("[a](there.md#no-heading)", "no such heading"),
    ("[a](#here)\n```\n# Here\n```", "no such heading"),
]
NAMES = [
    ("maxmemory-policy", None), ("used_memory", None), ("cmdstat_get", None), ("CONFIG SET", None), ("--bigkeys", None), ("make test", None),
    ("src/README.md", None), ("allkeys-lru", None), ("CLUSTER FAILOVER FORCE", None), ("READONLY You can't write …", None), ("READONLY You must not write …", "READONLY"), ("any text at all", None),
    ("maxmemory-polcy", "maxmemory-polcy"), ("used_memmory", "used_memmory"), ("cmdstat_gett", "cmdstat_gett"), ("GETT", "GETT"),
    ("CONFIG SETT", "CONFIG SETT"), ("--bigkey", "--bigkey"), ("make tests", "make tests"), ("src/NOTHING.md", "src/NOTHING.md"),
]

SOURCES = [  # lines of a map with the folder ds/, in which there is t.h
    ("`ds/`", None), ("`ds/` `ds/t.h` `src/ds/t.h` `ds/t` `ds/t*`", None), ("`ds/` `other/t.h` `ds/foo.c`", None),
    ("", "no line for"), ("`ds/` `ds/u.h`", "`ds/u.h`"), ("`ds/` `ds/t.c`", "`ds/t.c`"), ("`ds/` `ds/u*`", "`ds/u*`"),
]
TABLES = [  # rows of the table "From Redis 8", where our server has GET and SET EX
    ("| `GET`, `SET EX` | 8.0 | the same | |", None), ("| `SET EX` | 8.0 | Valkey's form | |\n| `VADD` | 8.0 | no | |", None),
    ("| `SET IFDEQ` | 8.0 | the same | |", "our server lacks it"), ("| `GET` | 8.0 | no | |", "our server has it"),
    ("| `GET` | 8.0 | equal | |", "is no state"), ("", "no table"),
]


def told_of_block(lines):
    block = Block(["sh"], 0)
    block.lines = lines
    # What a command left running may still write there for a moment.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as around:
        folder = os.path.join(around, "work")
        os.mkdir(folder)
        shell = Shell(folder, around, {"PATH": os.environ["PATH"]})
        try:
            for command in block.commands():
                run_command(shell, command, 20)
        except Failed as failure:
            return str(failure)
        finally:
            shell.process.kill()
            shell.process.wait()
    return None


def told_of_page(text):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "there.md"), "w") as file:
            file.write("# A heading\n## Double\n## Double\n")
        with open(os.path.join(folder, "page.md"), "w") as file:
            file.write(text)
        return "\n".join(links.check(folder, None)) or None


def told_of_map(text):
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "src", "ds"))
        for name, content in (("src/ds/t.h", ""), ("src/README.md", text), ("CONTRIBUTING.md", "")):
            with open(os.path.join(folder, name), "w") as file:
                file.write(content)
        return "\n".join(sources.check(folder, None)) or None


def told_of_table(rows):
    text = "\n### Commands\n| a | b | c |\n|---|---|---|\n%s\n\n### Directives\n| a | b |\n|---|---|\n| `here-it-is` | the same |\n" % rows
    return "\n".join(redis8.complaints(text, {"GET", "SET", "SET EX"}, {"here-it-is"}, {"field_a"}, b"")) or None


def check(tree, server):
    wrong = []

    def compare(what, told, expected):
        if (told is None) != (expected is None) or (expected and expected not in told):
            wrong.append("%r: said %r instead of %r" % (what, told, expected))

    for lines, expected in BLOCKS:
        compare(lines, told_of_block(lines), expected)
    for text, expected in PAGES:
        compare(text, told_of_page(text), expected)
    for text, expected in SOURCES:
        compare(text, told_of_map(text), expected)
    for text, expected in TABLES:
        compare(text, told_of_table(text), expected)
    known = Known(tree, server)
    for text, expected in NAMES:
        compare(text, known.wrong(text), expected)
    return wrong
