# conf.awk - makes the manual page of a configuration file from the comments in it.
#
#   awk -v name=valkey.conf -v what='...' -v date=2026-11-23 -v version=9.1.2 -v see='...' -f conf.awk valkey.conf
#
# The form of the file: `# ==== Title` begins a section. A block of comments describes the directives directly below it. Directives
# that are comments themselves begin with a lower-case letter, after a line that ends a sentence.

function plain(s) {
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    gsub(/"/, "\\(dq", s)
    if (s ~ /^[.']/) s = "\\&" s
    return s
}

function flush(  i, words, block) {
    if (list) {
        for (i = 1; i <= directives; i++) {
            split(directive[i], words, " ")
            print words[1]
        }
        directives = texts = 0
        return
    }
    for (i = 1; i <= directives; i++) printf ".%s\n.B %s\n", i == 1 ? "TP" : "TQ", plain(directive[i])
    if (!directives && texts) printf ".PP\n"
    for (i = 1; i <= texts; i++) {
        if ((text[i] ~ /^  /) != block) { # lines with an indentation are printed as they are
            block = !block
            printf block ? ".RS 2\n.nf\n" : directives ? ".fi\n.RE\n.IP\n" : ".fi\n.RE\n"
        }
        if (text[i] == "") printf ".sp\n"
        else printf "%s\n", plain(substr(text[i], block ? 3 : 1))
    }
    if (block) printf ".fi\n.RE\n"
    directives = texts = 0
}

BEGIN {
    if (!list) printf ".TH %s 5 %s \"Valkey %s\" \"File Formats\"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n", toupper(plain(name)), date, version, plain(name), what
}

/^# ====/ {
    flush()
    gsub(/^# =+ | =+$/, "")
    if (!list) printf ".SH %s\n", toupper(plain($0))
    next
}

/^$/ { flush(); next }

/^#/ {
    s = $0
    sub(/^# ?/, "", s)
    ends = !texts || text[texts] ~ /[].)]$/ || text[texts] ~ /^  / || directives
    if (s ~ /^[a-z][a-z0-9-]*( |$)/ && texts && ends && text[texts] != "") directive[++directives] = s
    else if (directives) { keep = s; flush(); text[++texts] = keep }
    else text[++texts] = s
    next
}

{ directive[++directives] = $0 }

END {
    flush()
    if (!list) printf ".SH SEE ALSO\n%s\n", see
}
