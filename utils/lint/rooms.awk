# Checks the house rules of src/README.md that a compiler does not know. Arguments: the files, as floor/name.c.
#
#   - An include with quotes is written "floor/name.h" and names a header of the same floor or of one below. The rooms
#     of the floor below server/ do not include each other. The headers of commands/ stand on the floor of registry/: they
#     name handlers that rooms above implement. tools/ sees base, ds and net, and nobody else sees tools/. Tests may include "tests/sim/name.h".
#   - No file includes a .c file.
#   - No file has more than 1200 lines; each header has #pragma once. No line of a comment is wider than 110 columns:
#     clang-format leaves drawings as they are (CommentPragmas).
#   - The first line of a file names its license.
#   - What a .c file offers is declared in a header that one finds by its name: the same name (sds.c, sds.h), a
#     shorter one of which the file is a part (resp_request.c, resp.h), or the folder's (types/types.h). Tests, main
#     files and commands/ offer nothing. Any other file says "Part of name.h" within its first 15 lines.

BEGIN {
    split("base ds net registry data client command acl types", ground)
    for (i in ground) floor[ground[i]] = i - 1
    rooms_floor = 9
    split("persist repl script cluster sentinel module metrics web", rooms)
    for (i in rooms) floor[rooms[i]] = rooms_floor
    floor["server"] = rooms_floor + 1
    floor["tools"] = 2
    floor["commands"] = 3
    limit = 1200
    for (i = 1; i < ARGC; i++) exists[ARGV[i]] = 1
}

function complain(file, line, what) {
    printf "src/%s:%d: %s\n", file, line, what
    bad = 1
}

# Why `here` must not include a file of `there`, or "".
function objection(here, there) {
    if (!(there in floor)) return "is on no floor (src/README.md)"
    if (here == there) return ""
    if (there == "tools") return "belongs to the tools"
    if (floor[there] == rooms_floor && floor[here] == rooms_floor) return "is a room beside: go through a lower floor"
    if (floor[there] > floor[here]) return "is on a higher floor"
    return ""
}

function check_header(file,  stem, folder) {
    if (file ~ /_test\.c$/ || file ~ /^commands\// || file ~ /^tools\/valkey_/ || file == "server/main.c" || part_of != "")
        return
    folder = file; sub(/\/.*/, "", folder)
    if ((folder "/" folder ".h") in exists) return
    stem = file; sub(/\.c$/, "", stem)
    while (!((stem ".h") in exists)) {
        if (stem !~ /_[^\/_]+$/) {
            complain(file, 1, "no header goes with it: neither its own, nor one of a shorter name, nor a \"Part of x.h\"")
            return
        }
        sub(/_[^\/_]+$/, "", stem)
    }
}

# What is known only when a file has been read to its end.
function finish(file) {
    if (lines > limit) complain(file, lines, lines " lines, at most " limit ": probably two rooms")
    if (file ~ /\.h$/ && !once) complain(file, 1, "no #pragma once")
    if (file ~ /\.c$/) check_header(file)
}

FNR == 1 {
    if (previous != "") finish(previous)
    previous = FILENAME
    once = 0
    part_of = ""
    here = FILENAME; sub(/\/.*/, "", here)
    if (!(here in floor)) complain(FILENAME, 1, "src/" here "/ is on no floor")
    if ($0 != "/* SPDX-License-Identifier: BSD-3-Clause */") complain(FILENAME, 1, "its first line is not the SPDX line of the license")
}

{ lines = FNR }

/^[ \t]*(\/\*|\*) / {
    shown = $0; gsub(/[\200-\277]/, "", shown) # what follows the first byte of a character
    if (length(shown) > 110) complain(FILENAME, FNR, "a line of a comment is wider than 110 columns")
}

/^#pragma once/ { once = 1 }

FNR <= 15 && match($0, /Part of [a-z0-9_]+\.h/) && (here "/" substr($0, RSTART + 8, RLENGTH - 8)) in exists { part_of = 1 }

/^[ \t]*#[ \t]*include[ \t]+["<]/ {
    split($0, quoted, /["<>]/)
    name = quoted[2]
    if (name ~ /\.c$/) complain(FILENAME, FNR, "includes a .c file: " name)
    else if ($0 ~ /include[ \t]+"/) {
        if (name == "valkeymodule.h") next # for writers of modules, who find it at the top of src/
        if (name ~ /^tests\/sim\// && FILENAME ~ /_test\.c$/) next
        if (name !~ /^[a-z0-9]+\/[A-Za-z0-9_]+\.h$/) complain(FILENAME, FNR, "write \"floor/name.h\", not \"" name "\"")
        else {
            there = name; sub(/\/.*/, "", there)
            why = objection(here, there)
            if (why != "") complain(FILENAME, FNR, name " " why)
        }
    }
}

END {
    if (previous != "") finish(previous)
    exit bad
}
