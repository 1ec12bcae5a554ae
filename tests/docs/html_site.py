"""html_site.py - utils/docs/site makes a site whose links all lead somewhere, and whose search knows each command."""
import glob
import os
import subprocess
import tempfile


def check(tree, server):
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run([os.path.join(tree, "utils/docs/site"), "--server", server, "--out", folder], capture_output=True, text=True)
        if "there is no Python-Markdown" in ended.stderr:
            print("skipped: site: no Python-Markdown here")
            return []
        if ended.returncode != 0:
            return (ended.stdout + ended.stderr).rstrip().split("\n")
        commands = glob.glob(os.path.join(folder, "docs/command/*.html"))
        search = open(os.path.join(folder, "search.js")).read()
        wrong = ["the search does not know " + path for path in commands if os.path.relpath(path, folder) not in search]
        return wrong + ([] if len(commands) > 400 else ["there are pages of %d commands only" % len(commands)])
