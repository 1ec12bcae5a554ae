# Which function a module's symbol resolves to when the server or its libraries have the same name:
# tests/modules/opening.c. 9.1.2 with jemalloc as a library crashes when a module frees what libc has allocated for
# it, so this runs on this server only.

source -encoding utf-8 $::support/module.tcl

with_modules {opening} {kinds {ours}} {
    test {a module's own functions are used even when the server has functions of the same names} {
        if {[s mem_allocator] eq {libc}} { skip "the sanitizers want none of it, and builds with libc cannot be told from theirs" }
        assert_equal 4711 [r opening.own]
    }

    test {a module may free what libc has allocated} {
        assert_equal 5 [r opening.borrowed]
    }

    test {memory that a module allocates counts as used_memory, whichever thread allocates or frees it} {
        if {[s mem_allocator] eq {libc}} { skip "only jemalloc counts for all" }
        foreach {maker breaker} {here here  thread here  here thread  thread thread} {
            set before [s used_memory]
            r opening.keep 65536 $maker
            assert_range [expr {[s used_memory] - $before}] 66000000 72000000
            r opening.release $breaker
            assert_range [expr {[s used_memory] - $before}] -200000 200000
        }
    }

    test {a module that cannot be opened: the log has the linker's error} {
        foreach {path words} {
            /nowhere/x.so {/nowhere/x.so: cannot open shared object file: No such file or directory}
            nowhere.so {nowhere.so: cannot open shared object file: No such file or directory}
        } {
            assert_error "ERR Error loading the extension*" { r module load $path }
            wait_for_log "*The module $path could not be loaded: $words*"
        }
    }

    test {a module can be loaded and unloaded many times} {
        set descriptors [llength [glob /proc/[srv pid]/fd/*]]
        for {set i 0} {$i < 50} {incr i} {
            assert_equal OK [r module unload opening]
            assert_equal OK [r module load [module_so opening]]
            assert_equal 5 [r opening.borrowed]
        }
        assert_equal $descriptors [llength [glob /proc/[srv pid]/fd/*]]
        assert_equal OK [r module unload opening]
        assert_equal [expr {$descriptors - [expr {[s mem_allocator] ne {libc}}]}] [llength [glob /proc/[srv pid]/fd/*]]
    }
}
