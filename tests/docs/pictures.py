"""pictures.py - the picture of README.md shows the figures that RESULTS.md has now, and no text of a picture is cut or covers another."""
import glob
import html
import os
import re
import subprocess
import tempfile


TEXT = re.compile(r'<text x="([\d.]+)" y="([\d.]+)"(?: class="([^"]*)")?>([^<]*)</text>')
# The width of a character in sans-serif fonts; a picture must fit with a wide font.
WIDTH, BOLD_WIDTH = 0.52, 0.6


def boxes(svg):
    """Where each text is, as the classes of our pictures have it: (left, right, baseline, text)."""
    sizes = {name: int(size) for name, size in re.findall(r"\.(\w+)\{[^}]*?font-size:(\d+)px", svg)}
    for x, y, classes, text in TEXT.findall(svg):
        names, text = classes.split(), html.unescape(text)
        size = next((sizes[n] for n in names if n in sizes), 12)
        bold = any(re.search(r"\.%s\{[^}]*font-weight:bold" % n, svg) for n in names)
        width = len(text) * size * (BOLD_WIDTH if bold else WIDTH)
        left = float(x) - (width if "e" in names else width / 2 if "m" in names else 0)
        yield left, left + width, float(y), text


def crowded(name, svg):
    """Texts that leave the picture, or lie on one of the same line."""
    wide, found = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1]), list(boxes(svg))
    problems = ["%s: '%s' is cut" % (name, text) for left, right, _, text in found if left < 0 or right > wide]
    for i, (left, right, y, text) in enumerate(found):
        for other_left, other_right, other_y, other in found[i + 1:]:
            if abs(y - other_y) < 6 and left < other_right and other_left < right:
                problems.append("%s: '%s' covers '%s'" % (name, text, other))
    return problems


def check(tree, server):
    problems = []
    for path in sorted(glob.glob(os.path.join(tree, "docs/*.svg"))):
        with open(path) as f:
            problems += crowded(os.path.basename(path), f.read())
    return problems + check_figures(tree)


def check_figures(tree):
    with tempfile.TemporaryDirectory() as folder:
        drawn = os.path.join(folder, "picture.svg")
        ended = subprocess.run([os.path.join(tree, "utils/bench/zrange_picture"), "--out", drawn], capture_output=True, text=True)
        if ended.returncode != 0:
            return ["utils/bench/zrange_picture: " + ended.stderr.strip()]
        with open(drawn) as new, open(os.path.join(tree, "docs/sorted-sets.svg")) as old:
            if new.read() != old.read():
                return ["docs/sorted-sets.svg is of other figures than utils/bench/RESULTS.md: run utils/bench/zrange_picture"]
    return []
