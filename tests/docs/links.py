"""links.py - every link of every page leads to a file that is there, and to a heading that is in it."""
import glob
import os
import re
import subprocess

LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
SOURCE = re.compile(r"<(?:img|source)\b[^>]*?\b(?:src|srcset)=\"([^\"]+)\"")


def markdown_files(tree):
    listed = subprocess.run(["git", "-C", tree, "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return sorted({os.path.join(tree, name) for name in listed.stdout.split("\n") if name and os.path.exists(os.path.join(tree, name))})
    return sorted(glob.glob(os.path.join(tree, "**", "*.md"), recursive=True))


def without_code(text):
    """The page with its blocks of code emptied, line by line, and the code within its lines too."""
    text = re.sub(r"^\s*(```+).*?^\s*\1\s*$", lambda match: "\n" * match[0].count("\n"), text, flags=re.M | re.S)
    return re.sub(r"`+[^`\n]*`+", "", text)


def anchors(text):
    """The anchors of a page's headings, as GitHub and similar forges make them."""
    found = set()
    text = re.sub(r"^\s*(```+).*?^\s*\1\s*$", "", text, flags=re.M | re.S)
    for title in re.findall(r"^#{1,6} +(.*?)\s*#*$", text, flags=re.M):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        name, number = slug, 0
        while name in found:
            number += 1
            name = "%s-%d" % (slug, number)
        found.add(name)
    return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))


def check(tree, server):
    wrong = []
    for path in markdown_files(tree):
        with open(path) as file:
            text = without_code(file.read())
        for number, line in enumerate(text.split("\n"), 1):
            for target in LINK.findall(line) + SOURCE.findall(line):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                at = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
                where = "%s:%d: %s" % (os.path.relpath(path, tree), number, target)
                if not os.path.exists(at):
                    wrong.append(where + ": no such file")
                elif anchor and at.endswith(".md") and anchor not in anchors(open(at).read()):
                    wrong.append(where + ": no such heading")
    return wrong
