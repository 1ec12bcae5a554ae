"""sources.py - the pages for contributors name files of src/ that are there, and the map names every folder.

A name is a path in `backticks` that begins with a folder of src/: `ds/hashtable.h`, `command/turn` (a file or a header of that stem),
`cluster/migration*`, `data/keyspace/`. Paths with foo, lamp or < are made up.
"""
import glob
import os
import re

MAP = "src/README.md"


def pages(tree):
    return [MAP, "CONTRIBUTING.md"] + sorted(os.path.relpath(path, tree)
                                             for path in glob.glob(os.path.join(tree, "docs/contributing/**/*.md"), recursive=True))


def folders(src):
    return sorted(os.path.relpath(path, src) for path, _, files in os.walk(src) if any(name.endswith(".h") for name in files) and path != src)


def exists(src, name):
    path = os.path.join(src, name)
    if "*" in name:
        return bool(glob.glob(path))
    return os.path.isdir(path) if name.endswith("/") else any(os.path.isfile(path + end) for end in ("", ".h", ".c"))


def check(tree, server):
    src, wrong = os.path.join(tree, "src"), []
    tops = {name.split("/")[0] for name in folders(src)}
    for page in pages(tree):
        with open(os.path.join(tree, page)) as file:
            text = file.read()
        for number, line in enumerate(text.split("\n"), 1):
            if page == "CONTRIBUTING.md" and re.match(r"\| `[a-z_/]*\.c`", line):
                continue  # an old name beside the new one
            for name in re.findall(r"`(?:src/)?([a-z]+/[\w./*-]*)`", line):
                if name.split("/")[0] in tops and not re.search(r"foo|lamp", name) and not exists(src, name):
                    wrong.append("%s:%d: `%s` is not in src/" % (page, number, name))
    with open(os.path.join(tree, MAP)) as file:
        text = file.read()
    for folder in folders(src):
        if not any("`%s/`" % part in text for part in (folder, os.path.dirname(folder))):
            wrong.append("%s: no line for `%s/`" % (MAP, folder))
    return wrong
