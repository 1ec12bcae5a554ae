"""redis8.py - the tables "From Redis 8" of docs/migration.md are true: a command or word that is there exists in our server,
and one that is not there does not.

A row of the table of commands names commands, each with at most one word of its grammar behind it (`XADD IDMP`), in its
first column, and in its third what they are here: `the same`, `Valkey's form` or `no`. In the second column of the other
tables is `the same`, or that a directive is accepted only, or the field of INFO that our server has instead, or `no`.
tests/matrix/redis8 checks with a Redis 8 that the page has all of its newer commands.
"""
import os
import re
import sys

here = os.path.dirname(os.path.abspath(__file__))
for folder in ("differential", "matrix"):
    sys.path.append(os.path.join(here, "..", folder))

from arguments import commands_of, dictionary
from resp import Connection
from server import Server

PAGE = "docs/migration.md"


def section(tree):
    with open(os.path.join(tree, PAGE)) as file:
        return file.read().partition("\n## From Redis 8\n")[2].partition("\n## ")[0]


def without_section(text):
    """The page with empty lines in place of the section, so that line numbers stay."""
    before, heading, rest = text.partition("\n## From Redis 8\n")
    inside, _, after = rest.partition("\n## ")
    return before + "\n" * (heading + inside).count("\n") + ("\n## " + after if after else "")


def rows(text, heading):
    """Lists of columns of the table below a heading, without its first row."""
    part = text.partition("\n### %s\n" % heading)[2].partition("\n### ")[0]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.split("\n") if line.startswith("|")]
    return found[2:]


def names(cell):
    return re.findall(r"`([^`]+)`", cell)


def words_of(arguments):
    """The words in the grammar of COMMAND DOCS."""
    found = set()
    for argument in arguments or []:
        found |= {argument.get("token", "").upper()} | words_of(argument.get("arguments"))
    return found


def known_words(docs):
    """All commands, subcommands, and words behind them, in upper case."""
    found = set()
    for name, fact in commands_of(docs).items():
        command = name.upper().replace("|", " ")
        found |= {command, command.split()[0]} | {"%s %s" % (command, word) for word in words_of(fact.get("arguments"))}
    return found


def commands(text):
    """{command, or command and word: what it is here}"""
    return {name: row[2] for row in rows(text, "Commands") for name in names(row[0])}


def ask(server):
    """What our server knows: commands and words, directives, fields of INFO."""
    running = Server(server)
    try:
        connection = Connection(running.host, running.port, resp=3)
        docs = dictionary(connection.call("COMMAND", "DOCS"))
        directives = set(dictionary(connection.call("CONFIG", "GET", "*")))
        fields = set(re.findall(r"^([\w-]+):", dictionary(connection.call("INFO", "everything")), re.M))
        return known_words(docs), directives, fields
    finally:
        running.stop()


def wrong_commands(text, known):
    for name, state in commands(text).items():
        if state not in ("the same", "Valkey's form", "no"):
            yield "%s: %r is no state" % (name, state)
        elif (name in known) != (state != "no"):
            yield "%s is %r, and our server %s it" % (name, state, "has" if name in known else "lacks")


def wrong_directives(text, directives, program):
    for row in rows(text, "Directives"):
        for name in names(row[0]):
            if name not in directives and (row[1] == "the same" or name.encode() not in program):
                yield "our server has no directive %s" % name


def wrong_fields(text, fields):
    for row in rows(text, "INFO"):
        for name in names(row[0] if row[1] == "the same" else row[1]):
            if "_" in name and name not in fields and name != "redis_mode":
                yield "INFO of our server has no %s" % name
        for name in names(row[0]) if row[1].startswith("no") else []:
            if name in fields:
                yield "INFO of our server has %s" % name


def complaints(text, known, directives, fields, program):
    """What is wrong in the section."""
    if not commands(text):
        return ["%s: no table of commands \"From Redis 8\"" % PAGE]
    found = [*wrong_commands(text, known), *wrong_directives(text, directives, program), *wrong_fields(text, fields)]
    return ["%s: %s" % (PAGE, complaint) for complaint in found]


def check(tree, server):
    with open(server, "rb") as file:
        return complaints(section(tree), *ask(server), file.read())
