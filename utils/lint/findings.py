# SPDX-License-Identifier: BSD-3-Clause
"""Reports the findings of the checks in this folder."""

import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHOWN = 40


def report(checks):
    """Takes (check, what is wrong, findings) for each check, findings being texts that begin with file:line. Returns the
    exit code. `--all` on the command line shows every finding, not only the first ones of a check."""
    show_all = "--all" in sys.argv
    failed = False
    for check, wrong, findings in checks:
        failed |= bool(findings)
        for finding in findings if show_all else findings[:SHOWN]:
            print(f"{finding} [{check}]")
        if findings:
            print(f"lint: {check}: {len(findings)} {wrong}"
                  + (f" ({sys.argv[0]} --all shows all)" if len(findings) > SHOWN and not show_all else ""))
    return failed
