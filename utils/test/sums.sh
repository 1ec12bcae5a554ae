# Sourced by scripts that add up tests: utils/test/run, utils/test/all and .ci/run. Each of them ends with the same lines, so
# that its caller can add these up in turn:
#
#   skipped: NAME: REASON                      one line for each
#   flaky: N: NAME; NAME                       failed, and passed when run again; only if there are any
#   N passed, M failed, K skipped
#
# shellcheck shell=bash
passed=0
failed=0
skips=()
flaky=0
flaky_names=()

closing_lines='^skipped: \|^flaky: \|^no test was run$\|^[0-9]* passed, [0-9]* failed\(, [0-9]* skipped\)\?$'

skip() { skips+=("$1: $2"); } # name, reason

# Adds the results of a program. Arguments: the file of its output, its exit code, its name.
add_output() {
    local p f line n names
    read -r p f < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed\(, [0-9]* skipped\)\{0,1\}$/\1 \2/p' "$1" | tail -n 1)
    p=${p:-0} f=${f:-0}
    if [ "$2" -ne 0 ] && [ "$f" -eq 0 ]; then
        echo "FAILED $3: exit code $2 without a failed test$([ "$2" -ne 124 ] && [ "$2" -ne 137 ] || echo ": it took too long")"
        f=1
    fi
    passed=$((passed + p))
    failed=$((failed + f))
    while read -r line; do skips+=("$line"); done < <(sed -n 's/^skipped: //p' "$1")
    while IFS=: read -r n names; do
        flaky=$((flaky + n))
        flaky_names+=("${names# }")
    done < <(sed -n 's/^flaky: //p' "$1")
}

# Prints the closing lines. False if a test failed, or none was run.
print_sums() {
    local line names
    for line in ${skips[@]+"${skips[@]}"}; do echo "skipped: $line"; done
    if [ "$flaky" -gt 0 ]; then
        names=$(printf '; %s' "${flaky_names[@]}")
        echo "flaky: $flaky: ${names#; }"
    fi
    if [ $((passed + failed + ${#skips[@]} + flaky)) -eq 0 ]; then
        echo 'no test was run'
        failed=1
    fi
    echo "$passed passed, $failed failed, ${#skips[@]} skipped"
    [ "$failed" -eq 0 ]
}
