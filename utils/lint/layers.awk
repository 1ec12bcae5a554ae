# Checks the rules of src/README.md that a compiler does not know. Arguments: the files, as layer/name.c or, in a
# subfolder of a layer, layer/folder/name.c. A subfolder is of its layer.
#
#   - An include with quotes is written "layer/name.h" or "layer/folder/name.h" and names a header of the same layer or of
#     a lower one. The modules of the layer below server/ do not include each other. The headers of commands/ are of the
#     layer of registry/: they name handlers that modules above implement. tools/ includes base, ds and net, and no other
#     folder includes tools/. Tests may include "tests/sim/name.h".
#   - No file includes a .c file.
#   - No file has more than 1200 lines; each header has #pragma once. No line of a comment is wider than 110 columns:
#     clang-format leaves drawings as they are (CommentPragmas).
#   - The first line of a file names its license.
#   - What a .c file offers is declared in a header that one finds by its name. That header has the same name (sds.c,
#     sds.h), a shorter one of which the file is a part (resp_request.c, resp.h), or the name of the folder or of the layer
#     (types/types.h). Tests, main files and commands/ offer nothing. Any other file says "Part of name.h" within its
#     first 15 lines.

BEGIN {
    split("base ds net registry data client command acl types", shared)
    for (i in shared) layer[shared[i]] = i - 1
    modules_layer = 9
    split("persist repl script cluster sentinel module metrics web", modules)
    for (i in modules) layer[modules[i]] = modules_layer
    layer["server"] = modules_layer + 1
    layer["tools"] = 2
    layer["commands"] = 3
    limit = 1200
    for (i = 1; i < ARGC; i++) exists[ARGV[i]] = 1
}

function complain(file, line, what) {
    printf "src/%s:%d: %s\n", file, line, what
    bad = 1
}

# Why `here` must not include a file of `there`, or "".
function objection(here, there) {
    if (!(there in layer)) return "is in no layer (src/README.md)"
    if (here == there) return ""
    if (there == "tools") return "belongs to the tools"
    if (layer[there] == modules_layer && layer[here] == modules_layer)
        return "is another module of the same layer: go through a lower layer"
    if (layer[there] > layer[here]) return "is in a higher layer"
    return ""
}

# Whether the folder has a header of its own name: types/types.h, data/keyspace/keyspace.h.
function has_header_of(folder,  name) {
    name = folder; sub(/.*\//, "", name)
    return (folder "/" name ".h") in exists
}

function check_header(file,  stem, folder) {
    if (file ~ /_test\.c$/ || file ~ /^commands\// || file ~ /^tools\/valkey_/ || file == "server/main.c" || part_of != "")
        return
    folder = file; sub(/\/[^\/]*$/, "", folder)
    if (has_header_of(folder) || has_header_of(here)) return
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
    if (lines > limit) complain(file, lines, lines " lines, at most " limit ": probably two modules")
    if (file ~ /\.h$/ && !once) complain(file, 1, "no #pragma once")
    if (file ~ /\.c$/) check_header(file)
}

FNR == 1 {
    if (previous != "") finish(previous)
    previous = FILENAME
    once = 0
    part_of = ""
    here = FILENAME; sub(/\/.*/, "", here)
    folder_here = FILENAME; sub(/\/[^\/]*$/, "", folder_here)
    if (!(here in layer)) complain(FILENAME, 1, "src/" here "/ is in no layer")
    if ($0 != "/* SPDX-License-Identifier: BSD-3-Clause */") complain(FILENAME, 1, "its first line is not the SPDX line of the license")
}

{ lines = FNR }

/^[ \t]*(\/\*|\*) / {
    shown = $0; gsub(/[\200-\277]/, "", shown) # what follows the first byte of a character
    if (length(shown) > 110) complain(FILENAME, FNR, "a line of a comment is wider than 110 columns")
}

/^#pragma once/ { once = 1 }

FNR <= 15 && match($0, /Part of [a-z0-9_\/]+\.h/) {
    header = substr($0, RSTART + 8, RLENGTH - 8)
    if (header in exists || (folder_here "/" header) in exists) part_of = 1
}

/^[ \t]*#[ \t]*include[ \t]+["<]/ {
    split($0, quoted, /["<>]/)
    name = quoted[2]
    if (name ~ /\.c$/) complain(FILENAME, FNR, "includes a .c file: " name)
    else if ($0 ~ /include[ \t]+"/) {
        if (name == "valkeymodule.h") next # for writers of modules, who find it at the top of src/
        if (name ~ /^tests\/sim\// && FILENAME ~ /_test\.c$/) next
        if (name !~ /^[a-z0-9_]+(\/[a-z0-9_]+)?\/[A-Za-z0-9_]+\.h$/) complain(FILENAME, FNR, "write \"layer/name.h\", not \"" name "\"")
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
