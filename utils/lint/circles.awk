# Finds include circles between files of different names. Arguments: the files, as layer/name.c or layer/folder/name.c.
#
# A unit is what has one name, as zset.h and zset.c. Unit a leads to unit b when a file of a includes a header of b. A
# knot is a set of units each of which leads to each other one, in however many steps (Tarjan's strongly connected
# components, 1972): where there is a circle there is a knot, and the other way round.
#
# hash_private.h may include hash.h while hash.c includes it, as it says more about the same thing: another file that
# includes it counts as including both.
#
#     -v show=circles   of each knot its size and one shortest circle, include by include, as complaints. Exit 1: there are some
#     -v show=includes  every include within a knot: what has to be cut is among these
#     -v show=figures   the table of docs/contributing/decisions.md: knots, files of each folder, headers most included

function unit(file) {
    sub(/\.[ch]$/, "", file)
    return file
}

FNR == 1 {
    split(FILENAME, path, "/")
    if (!(path[1] in files_of)) folders[++folder_count] = path[1]
    files_of[path[1]]++
    file_count++
    from = unit(FILENAME)
    if (!(from in known)) { known[from] = 1; units[++unit_count] = from }
}

/^[ \t]*#[ \t]*include[ \t]+"/ {
    split($0, quoted, "\"")
    included[++include_count] = quoted[2]
    include_from[include_count] = from
    include_at[include_count] = "src/" FILENAME ":" FNR
    fan_in[quoted[2]]++
}

# Include i makes a lead to b. Only what is among the files counts: a header of a library does not.
function add_edge(a, b, i) {
    if (a == b || !(b in known) || (a, b) in edge) return
    edge[a, b] = i
    to[a, ++out[a]] = b
}

function link_up(  i, a, b) {
    for (i = 1; i <= include_count; i++)
        if (include_from[i] == unit(included[i]) "_private") public_of[include_from[i]] = unit(included[i])
    for (i = 1; i <= include_count; i++) {
        a = include_from[i]; b = unit(included[i])
        if (public_of[a] == b) continue
        add_edge(a, b, i)
        if (public_of[b] != "") add_edge(a, public_of[b], i)
    }
}

function visit(v,  i, w) {
    number[v] = low[v] = ++visited
    stack[++depth] = v; on_stack[v] = 1
    for (i = 1; i <= out[v]; i++) {
        w = to[v, i]
        if (!(w in number)) {
            visit(w)
            if (low[w] < low[v]) low[v] = low[w]
        } else if (on_stack[w] && number[w] < low[v]) low[v] = number[w]
    }
    if (low[v] != number[v]) return
    knots++
    do {
        w = stack[depth--]; on_stack[w] = 0
        knot[w] = knots; size[knots]++
        member[knots, size[knots]] = w
    } while (w != v)
}

# The shortest way from a unit of a knot back to itself, as lines: a search in breadth.
function shortest(start,  queue, head, tail, before, i, v, w) {
    queue[tail = 1] = start
    for (head = 1; head <= tail; head++) {
        v = queue[head]
        for (i = 1; i <= out[v]; i++) {
            w = to[v, i]
            if (knot[w] != knot[start]) continue
            if (w == start) return way(start, v, before)
            if (!(w in before)) { before[w] = v; queue[++tail] = w }
        }
    }
}

function way(start, last, before,  lines, w, v) {
    for (w = start; ; w = v) {
        v = w == start && lines == "" ? last : before[w]
        lines = "    " include_at[edge[v, w]] ": " v " includes " w "\n" lines
        if (v == start) return lines
    }
}

function show_circles(  k, i, best, lines, names) {
    for (k = 1; k <= knots; k++) {
        if (size[k] < 2) continue
        best = names = ""
        for (i = size[k]; i >= 1; i--) {
            names = names " " member[k, i]
            lines = shortest(member[k, i])
            if (best == "" || split(lines, unused, "\n") < split(best, unused, "\n")) best = lines
        }
        printf "include circle, a knot of %d:%s\n%s", size[k], names, best
        bad = 1
    }
}

function show_includes(  i, a, b) {
    for (i = 1; i <= include_count; i++) {
        a = include_from[i]; b = unit(included[i])
        if (a != b && public_of[a] != b && b in known && knot[a] == knot[b]) print include_at[i] ": " a " includes " b
    }
}

function show_figures(  i, j, k, circular, in_knots, largest, text, best) {
    for (k = 1; k <= knots; k++) {
        if (size[k] < 2) continue
        circular++; in_knots += size[k]
        if (size[k] > largest) largest = size[k]
    }
    print "| what | figure |\n|---|---|"
    printf "| knots of files that include each other in a circle | %d |\n", circular
    printf "| names in them, of all | %d of %d |\n", in_knots, unit_count
    printf "| the largest knot, in names | %d |\n", largest
    for (i = 1; i <= folder_count; i++) text = text (i > 1 ? ", " : "") folders[i] " " files_of[folders[i]]
    printf "| files, %d in all | %s |\n", file_count, text
    text = ""
    for (j = 1; j <= 10; j++) {
        best = ""
        for (i in fan_in) if (best == "" || fan_in[i] > fan_in[best] || (fan_in[i] == fan_in[best] && i < best)) best = i
        if (best == "") break
        text = text (j > 1 ? ", " : "") best " " fan_in[best]
        delete fan_in[best]
    }
    printf "| headers most included, by how many files | %s |\n", text
}

END {
    link_up()
    for (i = 1; i <= unit_count; i++) if (!(units[i] in number)) visit(units[i])
    if (show == "figures") show_figures()
    else if (show == "includes") show_includes()
    else show_circles()
    exit bad
}
