# Modules of our own (tests/modules/*.c), compiled when they are needed: source it where they are.
#
#   module_so NAME                         the path of NAME.c as a shared object
#   with_modules {NAME ...} OPTIONS body   runs the body with a server that has loaded them, first ours, then the oracle's
#                                          (whose tests are named "NAME, valkey"); in it $kind is ours or valkey. OPTIONS
#                                          are those of start_server, and `kinds {ours}` for what only ours does.
#                                          A NAME may be a list: the module and its arguments.
#   beside_modules {NAME ...} OPTIONS body both servers at once; `both COMMAND ...` asks both, their answers must be the
#                                          same, and it returns ours

# The name depends on the sources, so that an existing build is always up to date; several tests may build it at once.
proc module_so {name} {
    set source [file normalize $::support/../modules/$name.c]
    set src [file normalize $::support/../../src]
    set folder [file normalize $::support/../../build/modules]
    set sum [zlib crc32 [read_file $source][read_file $src/valkeymodule.h]]
    set path $folder/$name-$sum.so
    if {[file exists $path]} { return $path }
    file mkdir $folder
    set new $path.[pid]
    foreach cc {cc gcc clang} {
        if {[auto_execok $cc] eq {}} { continue }
        exec $cc -std=gnu11 -Wall -Wextra -Werror -g -O1 -fno-omit-frame-pointer -shared -fPIC -pthread -I$src \
            -o $new $source
        file rename -force $new $path
        return $path
    }
    error "no compiler for $source"
}

proc module_overrides {names options} {
    set overrides [expr {[dict exists $options overrides] ? [dict get $options overrides] : {}}]
    lappend overrides enable-module-command yes
    foreach name $names {
        lappend overrides loadmodule [join [list [module_so [lindex $name 0]] {*}[lrange $name 1 end]]]
    }
    return $overrides
}

proc with_modules {names options body} {
    set kinds {ours valkey}
    if {[dict exists $options kinds]} { set kinds [dict get $options kinds] }
    set overrides [module_overrides $names $options]
    foreach kind $kinds {
        set run [dict merge [dict remove $options kinds] [list kind $kind overrides $overrides]]
        set suffix [expr {$kind eq {ours} ? {} : ", $kind"}]
        # The names of tests contain the kind of the server.
        set named [regsub -all -line {^(\s*test\s+\{)(.*?)(\}\s+\{)} $body "\\1\\2$suffix\\3"]
        uplevel 1 [list set kind $kind]
        uplevel 1 [list start_servers [list module $run] $named]
    }
}

proc beside_modules {names options body} {
    set overrides [module_overrides $names $options]
    set servers {}
    foreach kind {ours valkey} {
        lappend servers $kind [dict merge [dict remove $options kinds] [list kind $kind overrides $overrides]]
    }
    uplevel 1 [list start_servers $servers $body]
}

proc both {args} {
    foreach kind {ours valkey} {
        if {[catch { r [at $kind] {*}$args } answer($kind)]} { set answer($kind) "error: $answer($kind)" }
    }
    assert_equal $answer(valkey) $answer(ours) $args
    return $answer(ours)
}
