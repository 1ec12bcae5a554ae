#!/bin/sh
# Checks whether everything needed to build and test is installed, and installs what is missing if it may.
#
#   deps/check.sh [build] [scripts] [jemalloc] [tls] [uring] [web] [zstd] [test] [oracle] [redis-py] [go] [lint] [valgrind] [site] [--dry-run]
#
# Each word names a set of needs (below); without one, it is `build scripts jemalloc`. The Makefile calls this before each
# build, so when nothing is missing it calls pkg-config once and starts nothing else. `--dry-run` prints the command and stops.
#
# A missing package is installed by the system's package manager if this runs as root or has a sudo that needs no
# password; otherwise the command to run is printed, and the exit code is 1.
set -u

# The oracle is the server that tests compare this one with: Valkey, which utils/oracle fetches into build/ with Redis 8, and redis-server, which only
# apt installs, as comparisons are written for the version that Debian has. redis-py is the client that compares both, from
# PyPI in build/redis-py. Go builds tests/histories; it is large, so only `make test-all` installs it. Tests that need a missing
# one are counted as skipped: none of them is required.
#
# Libraries for scripts (scripts), TLS (tls), io_uring (uring), the metrics port (web) and Zstandard (zstd) are optional,
# too: a build without them reports that when they are used. The HTTP parser of the metrics port is llhttp, or http-parser where a
# distribution has no llhttp: deps/http_parser.
#
# Each need is one line:  set | how to look | what to look for | apt | dnf | pacman | apk | brew
#   how: pc (a pkg-config name; a/b means either of them), cmd (a program on the PATH), py (a module of Python, or redis-py),
#   module (a module of Python, of the first one on the PATH or of the system's),
#   http (the header of either parser).
#   A - means that there is no package.
needs='
build|cmd|gcc/clang/cc|gcc|gcc|gcc|gcc|gcc
build|cmd|ar|binutils|binutils|binutils|binutils|binutils
build|cmd|pkg-config|pkg-config|pkgconf-pkg-config|pkgconf|pkgconf|pkgconf
build|header|stdio.h|libc6-dev|glibc-devel|glibc|musl-dev|-
build|pc|lua5.1/lua-5.1/lua51|liblua5.1-0-dev|compat-lua-devel|lua51|lua5.1-dev|lua@5.1
scripts|pc|lua5.1-cjson|lua-cjson-dev|-|-|-|-
scripts|pc|lua5.1-bitop|lua-bitop-dev|-|-|-|-
build|pc|liblzf|liblzf-dev|liblzf-devel|liblzf|liblzf-dev|liblzf
build|pc|liblz4|liblz4-dev|lz4-devel|lz4|lz4-dev|lz4
build|pc|libxxhash|libxxhash-dev|xxhash-devel|xxhash|xxhash-dev|xxhash
build|pc|libedit|libedit-dev|libedit-devel|libedit|libedit-dev|libedit
tls|pc|openssl|libssl-dev|openssl-devel|openssl|openssl-dev|openssl@3
uring|pc|liburing|liburing-dev|liburing-devel|liburing|liburing-dev|-
zstd|pc|libzstd|libzstd-dev|libzstd-devel|zstd|zstd-dev|zstd
web|http|llhttp|-|llhttp-devel|llhttp|llhttp-dev|llhttp
jemalloc|pc|jemalloc|libjemalloc-dev|jemalloc-devel|jemalloc|jemalloc-dev|jemalloc
test|pc|cmocka|libcmocka-dev|libcmocka-devel|cmocka|cmocka-dev|cmocka
test|cmd|tclsh/tclsh8.6|tcl|tcl|tcl|tcl|tcl-tk
test|cmd|openssl|openssl|openssl|openssl|openssl|openssl
test|cmd|ps|procps|procps-ng|procps-ng|procps|-
lint|cmd|gcc|gcc|gcc|gcc|gcc|gcc
lint|cmd|clang|clang|clang|clang|clang|llvm
lint|cmd|clang-format|clang-format|clang-tools-extra|clang|clang-extra-tools|clang-format
valgrind|cmd|valgrind|valgrind|valgrind|valgrind|valgrind|-
oracle|cmd|redis-server|redis-server|-|-|-|-
redis-py|cmd|python3|python3|python3|python|python3|python3
redis-py|py|ensurepip|python3-venv|-|-|-|-
site|module|markdown|python3-markdown|python3-markdown|python-markdown|py3-markdown|-
go|cmd|go|golang-go|golang|go|go|go
'
sets=; dry=
for arg; do
    case $arg in
    --dry-run) dry=yes ;;
    build | scripts | jemalloc | tls | uring | web | zstd | test | oracle | redis-py | go | lint | valgrind | site) sets="$sets $arg" ;;
    *) echo "deps/check.sh: unknown word '$arg'" >&2; exit 2 ;;
    esac
done
[ -n "$sets" ] || sets=' build scripts jemalloc'

has_command() { # a/b/c: one of them
    for c in $(echo "$1" | tr / ' '); do command -v "$c" >/dev/null 2>&1 && return 0; done
    return 1
}

has_package() {
    for p in $(echo "$1" | tr / ' '); do pkg-config --exists "$p" 2>/dev/null && return 0; done
    return 1
}

has_header() {
    [ -e "/usr/include/$1" ] || echo "#include <$1>" | cc -E - >/dev/null 2>&1 || echo "#include <$1>" | gcc -E - >/dev/null 2>&1
}

top=${0%/*}/..
python=$top/build/redis-py/bin/python

has_redis_py() { [ -x "$python" ] && ls -d "${python%/bin/*}"/lib/python3*/site-packages/redis >/dev/null 2>&1; }

# What no package manager provides is installed in build/. If it cannot be fetched, a message is printed and nothing else.
beside_packages() {
    [ -z "$dry" ] || return 0
    case " $sets " in
    *" oracle "*)
        for which in '' --redis8; do
            # shellcheck disable=SC2086
            "$top/utils/oracle" --find $which >/dev/null 2>&1 || {
                say "utils/oracle $which"
                "$top/utils/oracle" $which >/dev/null
            }
        done
        ;;
    esac
    case " $sets " in
    *" redis-py "*)
        has_redis_py || {
            wanted=$(grep '^redis==' "$top/tests/clients/python/requirements.txt")
            say "pip install $wanted, into build/redis-py"
            rm -rf "$top/build/redis-py"
            { python3 -m venv "$top/build/redis-py" && "$python" -m pip install -q --disable-pip-version-check "$wanted"; } 2>&1 |
                tail -n 3 >&2
        }
        ;;
    esac
    return 0
}

# Prints the lines of the needs that are not met.
missing() {
    echo "$needs" | while IFS='|' read -r set how what rest; do
        case " $sets " in *" $set "*) ;; *) continue ;; esac
        case $how in
        cmd) has_command "$what" ;;
        pc) has_package "$what" ;;
        header) has_header "$what" ;;
        http) has_header llhttp.h || has_header http_parser.h ;;
        module) python3 -c "import $what" 2>/dev/null || /usr/bin/python3 -c "import $what" 2>/dev/null ;;
        py) has_redis_py || python3 -c "import $what" 2>/dev/null ;;
        esac || echo "$set|$how|$what|$rest"
    done
}

column() { # the package names of manager number $1, on one line
    echo "$lacking" | cut -d'|' -f"$1" | sort -u | tr '\n' ' '
}

say() { echo "deps: $*" >&2; }
optional='^(scripts|oracle|tls|uring|web|zstd|redis-py|go)'

lacking=$(missing)
[ -n "$lacking" ] || { beside_packages; exit 0; }

if command -v apt-get >/dev/null 2>&1; then
    manager=apt-get; packages=$(column 4); install="apt-get install -y --no-install-recommends"
elif command -v dnf >/dev/null 2>&1; then
    manager=dnf; packages=$(column 5); install="dnf install -y"
elif command -v pacman >/dev/null 2>&1; then
    manager=pacman; packages=$(column 6); install="pacman -S --needed --noconfirm"
elif command -v apk >/dev/null 2>&1; then
    manager=apk; packages=$(column 7); install="apk add"
elif command -v brew >/dev/null 2>&1; then
    manager=brew; packages=$(column 8); install="brew install"
else
    manager=; packages=; install=
fi
names=$(echo "$lacking" | cut -d'|' -f3 | tr '\n' ' ')
packages=$(echo "$packages" | tr ' ' '\n' | grep -v '^-*$' | tr '\n' ' ')
required=$(echo "$lacking" | grep -Ev "$optional")
# Debian 12 has no llhttp, and later versions have no http-parser, so this package is looked up apart from the others.
web=
[ "$manager" != apt-get ] || case " $names " in *" llhttp "*) web='libllhttp-dev libhttp-parser-dev' ;; esac

say "missing: $names"

as_root=; may=yes
if [ "$manager" != brew ] && [ "$(id -u)" != 0 ]; then
    as_root='sudo '
    sudo -n true 2>/dev/null || may=no
fi

if [ -z "$packages$web" ]; then
    [ -n "$required" ] || { beside_packages; exit 0; }
    if [ -n "$manager" ]; then
        say "$manager has no package for them; see deps/README.md"
    else
        say "none of apt-get, dnf, pacman, apk, brew was found: install them manually, see deps/README.md"
    fi
    exit 1
fi
if [ -n "$dry" ] || [ "$may" = no ]; then
    [ -z "$packages" ] || say "install them with:  $as_root$install $packages"
    [ -z "$web" ] || say "and for the metrics port the first available one of:  $web"
    [ -n "$required" ] || { beside_packages; exit 0; }
    exit 1
fi

say "$install $packages$web"
log=$(mktemp)
if [ "$manager" = apt-get ]; then
    # RUNLEVEL=1: packages that bring a service (redis-server) do not start it.
    run() { ${as_root}env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -qq "$@"; }
    # shellcheck disable=SC2086
    { run update && { [ -z "$packages" ] || run install -y --no-install-recommends $packages; } } >"$log" 2>&1 &&
        { for p in $web; do run install -y --no-install-recommends "$p" >/dev/null 2>&1 && break; done; true; }
else
    # shellcheck disable=SC2086
    $as_root$install $packages >"$log" 2>&1
fi || tail -n 15 "$log" >&2
rm -f "$log"

beside_packages
lacking=$(missing)
[ -n "$lacking" ] || exit 0
say "still missing: $(echo "$lacking" | cut -d'|' -f3 | tr '\n' ' ')"
[ -z "$(echo "$lacking" | grep -Ev "$optional")" ] || exit 1
