# SPDX-License-Identifier: BSD-3-Clause
# Turns what `make --dry-run V=1` prints into compile_commands.json, for `make compile_commands`. A compilation is a line
# with `-c SOURCE -o OBJECT` at its end. -v folder= is where these lines would run.

function quoted(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    return "\"" text "\""
}

BEGIN { printf "[" }

NF > 3 && $(NF - 3) == "-c" && $(NF - 1) == "-o" {
    sub(/^[ \t]+/, "")
    printf "%s\n{\"directory\": %s, \"file\": %s, \"output\": %s, \"command\": %s}", \
        count++ ? "," : "", quoted(folder), quoted($(NF - 2)), quoted($NF), quoted($0)
}

END {
    print "\n]"
    if (!count) {
        print "compile_commands: make named no file that is compiled" > "/dev/stderr"
        exit 1
    }
}
