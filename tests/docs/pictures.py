"""pictures.py - the picture of README.md shows the figures that RESULTS.md has now."""
import os
import subprocess
import tempfile


def check(tree, server):
    with tempfile.TemporaryDirectory() as folder:
        drawn = os.path.join(folder, "picture.svg")
        ended = subprocess.run([os.path.join(tree, "utils/bench/zrange_picture"), "--out", drawn], capture_output=True, text=True)
        if ended.returncode != 0:
            return ["utils/bench/zrange_picture: " + ended.stderr.strip()]
        with open(drawn) as new, open(os.path.join(tree, "docs/sorted-sets.svg")) as old:
            if new.read() != old.read():
                return ["docs/sorted-sets.svg is of other figures than utils/bench/RESULTS.md: run utils/bench/zrange_picture"]
    return []
