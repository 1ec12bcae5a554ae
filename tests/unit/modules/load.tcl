# MODULE, and modules in INFO, HELLO, COMMAND, ACL and the crash report; with tests/modules/infos.c, which can be
# loaded under several names, on this server and the oracle.

source -encoding utf-8 $::support/module.tcl

set ::load_error {ERR Error loading the extension. Please check the server logs.}

# The same file under another path: the second dlopen returns the loaded library.
proc infos_copy {n} {
    set path [file rootname [module_so infos]]-$n.so
    if {![file exists $path]} { file copy [module_so infos] $path }
    return $path
}
proc module_line {name} {
    foreach line [split [r info modules] "\r\n"] {
        if {[string match "module:name=$name,*" $line]} { return $line }
    }
}
# The log of 9.1.2 has other words.
proc expect_log {line body} {
    set n [count_log_message $line]
    uplevel 1 $body
    if {$::kind eq "ours"} { assert {[count_log_message $line] > $n} $line }
}

with_modules {infos} {} {
    test {MODULE LIST and HELLO name the modules} {
        set path [module_so infos]
        assert_equal [list name infos ver 7 path $path args {}] [lsearch -inline -index 1 [r module list] infos]
        assert_equal {name lua ver 1 path lua args {}} [lsearch -inline -index 1 [r module list] lua]
        assert_equal [r module list] [dict get [r hello 2] modules]
        assert_error "ERR wrong number of arguments for 'module|list' command" { r module list x }
        assert_error "ERR unknown subcommand 'foo'. Try MODULE HELP." { r module foo }
        assert_match "MODULE <subcommand>*" [lindex [r module help] 0]
    }

    test {a line of INFO about each module} {
        assert_equal "module:name=infos,ver=7,api=1,filters=0,usedby=\[\],using=\[\],options=\[handle-io-errors|handle-repl-async-load|no-implicit-signal-modified\]" \
            [module_line infos]
        assert_match "# Modules*module:name=infos*" [r info module_list]
        assert_match "*module:name=infos*" [r info]
        assert_no_match "*infos_*" [r info module_list]
    }

    test {a module's own sections of INFO are shown on request} {
        set numbers "# infos_Numbers\r\ninfos_double:0.10000000000000001\r\ninfos_large:1.0000000000000001e+300\r\n"
        append numbers "infos_least:-9223372036854775808\r\ninfos_most:18446744073709551615\r\n"
        set texts "# infos_texts\r\ninfos_string:a:b=c,#\r\nd\r\ninfos_odd #name:\r\n,=:odd #value:\r\n,=\r\n"
        append texts "infos_dict __,=__:a#:,=\r\n=1,b=a:b=c,#\r\nd,c=x y:#,=z,d=1.5,e=2\r\ninfos_next:a=1\r\n"
        append texts "infos_after:1\r\ninfos_empty:\r\ninfos_unended:a=1\r\n"
        assert_equal $numbers [r info INFOS_numbers]
        assert_equal $texts [r info infos_texts]
        set all "$numbers\r\n$texts\r\n# infos\r\ninfos_plain:1\r\n\r\n# infos_odd #:\r\n\r\ninfos_field:1\r\n"
        assert_equal $all [r info infos]
        assert_equal $all [string range [r info modules] end-[expr {[string length $all] - 1}] end]
        assert_equal $all [string range [r info everything] end-[expr {[string length $all] - 1}] end]
        assert_match "# Server*\r\n\r\n$texts" [r info infos_texts server]
        assert_no_match "*infos_*" [r info all]
        assert_no_match "*infos_*" [r info]
    }

    test {commands of a module in COMMAND} {
        assert_equal {module} [lindex [r command info infos.use] 0 2]
        assert_equal {infos.use {group module module infos}} [r command docs infos.use]
        assert_equal {infos.crash infos.refuse infos.use} [lsort [r command list filterby module infos]]
        assert_equal {} [r command list filterby module lua]
        assert_equal {infos.crash infos.refuse infos.use} [lsort [r command list filterby module INFOS]]
    }

    test {a module whose functions are shared cannot be unloaded} {
        assert_equal OK [r module load [infos_copy 2] two infos]
        assert_equal OK [r module load [infos_copy 3] three infos]
        assert_equal 8 [r two.use 4]
        assert_error "ERR none" { r infos.use 4 }
        assert_match {*usedby=\[two|three\],using=\[\]*} [module_line infos]
        assert_match {*usedby=\[\],using=\[infos\]*} [module_line two]
        expect_log "Module infos could not be unloaded: the module exports APIs used by other modules." {
            assert_error "ERR Error unloading module: the module exports APIs used by other modules. Please unload them first and try again" {
                r module unload infos
            }
        }
        assert_equal {two infos} [dict get [lsearch -inline -index 1 [r module list] two] args]
        assert_error $::load_error { r module load [infos_copy 4] four nobody }
        assert_equal OK [r module unload two]
        assert_match {*usedby=\[three\],using=\[\]*} [module_line infos]
        assert_equal OK [r module unload three]
        assert_match {*usedby=\[\],using=\[\]*} [module_line infos]
        # The name of an unloaded module is free.
        assert_equal OK [r module load [infos_copy 2] two infos]
        assert_equal OK [r module unload two]
    }

    test {a module can refuse to be unloaded, and ACL rules about its commands prevent it} {
        assert_equal OK [r module load [infos_copy 2] two infos]
        r two.refuse 1
        expect_log "Module two refuses to be unloaded" {
            assert_error "ERR Error unloading module: operation not possible." { r module unload two }
        }
        r two.refuse 0
        r acl setuser bob +two.use
        expect_log "Module two is not unloaded because the ACL rule '+two.use' of a user or role names one of its commands" {
            assert_error "ERR Error unloading module: one or more ACL users reference commands from this module. Remove those ACL rules before unloading" {
                r module unload two
            }
        }
        r acl deluser bob
        if {$kind eq "ours"} { # 9.2 §5
            r acl setrole reader "(-two.use)"
            assert_error "ERR Error unloading module: one or more ACL users reference commands*" { r module unload two }
            r acl delrole reader
        }
        expect_log "Module 'two' is unloaded" { assert_equal OK [r module unload TWO] }
        expect_log "Module two could not be unloaded: no such module with that name" {
            assert_error "ERR Error unloading module: no such module with that name" { r module unload two }
        }
        assert_error "ERR unknown command 'two.use'*" { r two.use 1 }
        assert_equal {{}} [r command info two.use]
    }

    test {MODULE LOAD refuses files that are no modules, and the log has the reason} {
        set plain $::work_dir/plain.so
        close [open $plain w 0644]
        set text $::work_dir/text.so
        close [open $text w 0755]
        foreach {path line} [list \
            /nonexistent.so {The module /nonexistent.so could not be loaded: /nonexistent.so: cannot open shared object file: No such file or directory} \
            $plain {is not loaded because its file is not executable} \
            $text "The module $text could not be loaded: $text: file too short" \
            [module_so infos] {initialization failed. Module name is busy.} \
            [list [module_so infos] INFOS] {initialization failed. Module name is busy.} \
            libc.so.6 {The module libc.so.6 is not loaded because it exports neither ValkeyModule_OnLoad nor RedisModule_OnLoad}] {
            expect_log $line { assert_error $::load_error { r module load {*}$path } }
        }
    }
}

foreach kind {ours valkey} {
    start_servers [list module [list kind $kind overrides {enable-module-command no}]] [string map [list KIND $kind] {
        test {MODULE LOAD, LOADEX and UNLOAD need enable-module-command, LIST does not, KIND} {
            foreach command {{load /x} {loadex /x} {unload x}} {
                assert_error "ERR MODULE command not allowed. If the enable-module-command option is set to \"local\", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server." {
                    r module {*}$command
                }
            }
            assert_equal lua [dict get [lindex [r module list] 0] name]
        }
    }]
    start_servers [list module [list kind $kind crash 1 args [list --loadmodule [module_so infos] --crash-memcheck-enabled no]]] [string map [list KIND $kind] {
        test {the crash report asks modules, KIND} {
            catch { r infos.crash }
            wait_for_log "VALKEY BUG REPORT END"
            set titles {ours {"INFO OF MODULES" SETTINGS} valkey {"MODULES INFO OUTPUT" CONFIG}}
            lassign [dict get $titles KIND] title next
            assert_match "*\n------ $title ------\n# infos_crash\r\ninfos_state:it crashed\r\n\n------ $next*" [read_file [srv log]]
            assert_equal 1 [count_log_message "infos_state:it crashed"]
        }
    }]
}

start_servers [list module [list kind ours crash 1 overrides [module_overrides {infos} {}]]] {
    test {at shutdown modules are unloaded} {
        set log [srv log]
        r infos.refuse 1
        assert_equal OK [r module load [infos_copy 2] three infos]
        catch { r shutdown }
        wait_for_condition 50 100 {[string match "*bye bye*" [read_file $log]]} else { fail "it does not end" }
        assert_match "*Module 'three' is unloaded*Module infos refuses to be unloaded*Module infos is not unloaded before the exit: operation not possible.*" [read_file $log]
    }
}
