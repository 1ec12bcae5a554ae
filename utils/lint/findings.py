# SPDX-License-Identifier: BSD-3-Clause
"""Reports the findings of the checks in this folder.

A check that the tree does not pass yet has a line `check count` in utils/lint/allowed: the number of findings that are
allowed. More fail, fewer ask for a lower number. A check without a line allows none. When all numbers are 0, the file
and everything here that reads it can be deleted.
"""

import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHOWN = 40


def read_allowed():
    path = os.path.join(TOP, "utils/lint/allowed")
    if not os.path.exists(path):
        return {}
    with open(path) as lines:
        return {check: int(count) for check, count in (line.split() for line in lines if line.strip())}


def report(checks):
    """Takes (check, what is wrong, findings) for each check, findings being texts that begin with file:line. Returns the
    exit code. `--all` on the command line shows every finding, the allowed ones too."""
    show_all = "--all" in sys.argv
    allowed = read_allowed()
    failed = False
    for check, wrong, findings in checks:
        limit = allowed.get(check, 0)
        too_many = len(findings) > limit
        failed |= too_many
        if show_all or too_many:
            for finding in findings if show_all else findings[:SHOWN]:
                print(f"{finding} [{check}]")
        if too_many:
            print(f"lint: {check}: {len(findings)} {wrong}, allowed are {limit}"
                  + (f" ({sys.argv[0]} --all shows all)" if len(findings) > SHOWN and not show_all else ""))
        elif len(findings) < limit:
            print(f"lint: {check}: {len(findings)} {wrong}, allowed are {limit}: lower it in utils/lint/allowed")
    return failed
