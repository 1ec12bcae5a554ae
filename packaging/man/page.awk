# page.awk - makes a manual page from the output of a program's --help.
#
#   valkey-cli --help | awk -v name=valkey-cli -v date=2026-11-23 -v version=9.1.2 -v see='...' [-v more=FILE] -f page.awk
#
# The help has a line `name - what it is` (or -v what=), `Usage: ...` with further lines below it, then paragraphs and
# sections. A section is a line that begins in the first column and is followed by an indented one. In it, a line indented
# by two that has two blanks after its option gives the option and its text; lines indented further continue the text.
# `Examples` are kept line by line. `more` is a file with sections that are inserted unchanged before SEE ALSO.

function plain(s) { # escapes everything that troff would interpret
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    gsub(/"/, "\\(dq", s)
    if (s ~ /^[.']/) s = "\\&" s
    return s
}

function heading(s) { printf ".SH %s\n", toupper(plain(s)) }

{ line[NR] = $0; sub(/[ \t]+$/, "", line[NR]) }

END {
    if (line[1] ~ ("^" name "( [0-9.]+)? - ")) {
        what = line[1]
        sub(/^[^-]*-[^ ]* ?([0-9.]+ )?- /, "", what)
    }
    printf ".TH %s 1 %s \"Valkey %s\" \"User Commands\"\n", toupper(plain(name)), date, version
    printf ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n", plain(name), plain(what)
    for (i = 1; i <= NR && line[i] !~ /^Usage:/; i++) ;
    sub(/^Usage: */, "", line[i])
    for (; i <= NR && line[i] != ""; i++) {
        sub(/^ +/, "", line[i])
        printf "%s\n", plain(line[i])
    }
    printf ".fi\n"
    if (i < NR) heading("Description")
    fresh = 1
    for (i++; i <= NR; i++) {
        s = line[i]
        if (s == "") { fresh = 1; verbatim_end(); continue }
        if (s !~ /^ / && line[i + 1] ~ /^  /) {
            verbatim_end()
            sub(/:$/, "", s)
            heading(s)
            examples = s == "Examples"
            if (examples) { printf ".nf\n"; verbatim = 1 }
            fresh = 0
        } else if (examples && s ~ /^ /) {
            sub(/^  /, "", s)
            printf "%s\n", plain(s)
        } else if (s ~ /^  [^ ]/) {
            sub(/^  /, "", s)
            at = match(s, /  +/)
            printf ".TP\n.B %s\n", plain(at ? substr(s, 1, at - 1) : s)
            if (at) printf "%s\n", plain(substr(s, at + RLENGTH))
            fresh = 0
        } else {
            if (fresh && s !~ /^ /) printf ".PP\n"
            fresh = 0
            sub(/^ +/, "", s)
            printf "%s\n", plain(s)
        }
    }
    verbatim_end()
    if (more != "") while ((getline s < more) > 0) print s
    printf ".SH SEE ALSO\n%s\n", see
}

function verbatim_end() {
    if (verbatim) printf ".fi\n"
    verbatim = examples = 0
}
