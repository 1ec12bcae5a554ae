# Directives of modules, with tests/modules/configs.c, and MODULE LOADEX; on this server and the oracle.

source -encoding utf-8 $::support/module.tcl

proc set_failed {name reason} { return "ERR CONFIG SET failed (possibly related to argument '$name')$reason" }

# The calls of the setters and apply functions.
proc notes {} { return [split [string map {{; } ;} [r configs.notes]] ";"] }
proc expect_notes {args} { assert_equal $args [lmap note [notes] { string trim $note }] }

# Without directives that are not the module's.
proc rewritten {} {
    r config rewrite
    set lines {}
    foreach line [split [read_file [srv dir]/server.conf] "\n"] {
        if {[regexp {configs\.|loadmodule} $line]} { lappend lines $line }
    }
    return [lsort $lines]
}

set ::load_error {ERR Error loading the extension. Please check the server logs.}
set ::so [module_so configs]

with_modules {{configs vain}} {overrides {configs.number 77 configs.TEXT {two words} configs.bits {one two}}} {
    test {values of the file are applied when their module registers them; wrong registrations are refused} {
        expect_notes "try number 1 EALREADY" "try NUMBER 1 EALREADY" "try a b 1 EINVAL" "try a.b 1 EINVAL" \
            "try  1 EINVAL" "try flags 1 EINVAL" "try bit2 1 EINVAL" "try units 1 EINVAL" "try bitflags 1 EINVAL" \
            "try no sign 1 EINVAL" "try num-bitflags 1 EINVAL" "try range 0" \
            "set number 77" "set bytes 1024" "set unsigned 7" "set ubytes 2048" "set flag 1" "set fixed 0" \
            "set Hidden 0" "set guarded 0" "set not-loading 0" "set text two words" "set secret" "set bits 3" \
            "set word 2" "set range 5"
        foreach line {
            {A directive named NUMBER is registered already}
            {The character   is not allowed in the name a b of a module's directive}
            {A directive of a module has a flag that does not exist}
            {A directive of a module has a flag for numbers, but is none}
            {A directive of a module has a flag for enumerations, but is none}
        } {
            if {$kind eq "ours"} { assert {[count_log_message $line] > 0} $line }
        }
    }

    test {CONFIG GET} {
        assert_equal [list configs.bits {one two} configs.bytes 1024 configs.fixed no configs.flag yes configs.guarded no \
            configs.not-loading no configs.number 77 configs.range 5 configs.secret {} configs.text {two words} \
            configs.ubytes 2048 configs.unsigned 7 configs.word two] [r config get configs.*]
        assert_equal {configs.hidden no} [r config get configs.hidden]
        assert_equal {CONFIGS.number 77} [r config get CONFIGS.number]
    }

    if {$kind eq "ours"} {
        test {CONFIG INFO of each type (9.2 §6)} {
            foreach {name expected} {
                number {type numeric flags module range {-5 2000}}
                bytes {type numeric flags module range {0 3145728}}
                unsigned {type numeric flags module range {1 18446744073709551615}}
                ubytes {type numeric flags module range {0 18446744073709551615}}
                flag {type bool flags module}
                fixed {type bool flags {immutable module}}
                hidden {type bool flags {hidden module}}
                guarded {type bool flags {protected module}}
                not-loading {type bool flags {deny-loading module}}
                text {type string flags module}
                secret {type string flags {sensitive module}}
                bits {type enum flags {multi-arg module} values {none one two four}}
                word {type enum flags module values {none one two four ten}}
            } {
                assert_equal $expected [lrange [lindex [r config info configs.$name] 0] 2 end] $name
            }
        }
    }

    test {CONFIG SET of each type} {
        foreach {name value notes} {
            number 77 {}
            number -5 {{set number -5} {apply number}}
            Number 6 {{set number 6} {apply number}}
            bytes 1mb {{set bytes 1048576}}
            unsigned 18446744073709551615 {{set unsigned -1} {apply something}}
            ubytes 2gb {{set ubytes 2147483648} {apply something}}
            flag no {{set flag 0} {apply something}}
            flag no {}
            hidden yes {{set Hidden 1} {apply something}}
            text {} {{set text} {apply something}}
            text {a  b} {{set text a  b} {apply something}}
            secret xx {{set secret xx}}
            bits none {{set bits 0} {apply something}}
            bits {four one} {{set bits 5} {apply something}}
            bits {one one} {{set bits 1} {apply something}}
            word ten {{set word 10}}
        } {
            assert_equal OK [r config set configs.$name $value] "$name $value"
            expect_notes {*}$notes
        }
        assert_equal {configs.bits one configs.unsigned 18446744073709551615} \
            [r config get configs.bits configs.unsigned]
    }

    test {values that are refused, by the server and by the module} {
        foreach {name value reason} {
            number 3000 {argument must be between -5 and 2000 inclusive}
            number x {argument couldn't be parsed into an integer}
            bytes 4mb {argument must be between 0 and 3145728 inclusive}
            bytes 1x {argument must be a memory value}
            unsigned 0 {argument must be between 1 and 18446744073709551615 inclusive}
            unsigned -1 {argument couldn't be parsed as an unsigned number}
            ubytes -1 {argument must be a memory value}
            flag maybe {argument must be 'yes' or 'no'}
            fixed yes {can't set immutable config}
            guarded yes {can't set protected config}
            bits three {argument(s) must be one of the following: none, one, two, four}
            bits {one  four} {argument(s) must be one of the following: none, one, two, four}
            bits {} {argument(s) must be one of the following: none, one, two, four}
            word {one two} {argument(s) must be one of the following: none, one, two, four, ten}
        } {
            assert_error [string map {* \\*} [set_failed configs.$name " - $reason"]] { r config set configs.$name $value }
            expect_notes
        }
        assert_error [set_failed configs.number " - thirteen is no good"] { r config set configs.number 13 }
        expect_notes "set number 13"
        assert_error [set_failed configs.number ""] { r config set configs.number 14 }
        expect_notes "set number 14"
        assert_error "ERR Unknown option or number of arguments for CONFIG SET - 'configs.nope'" {
            r config set configs.nope 1
        }
    }

    test {several directives are one change} {
        r config set configs.number 6 configs.text t configs.flag no
        r configs.notes
        assert_error [set_failed configs.text " - bad is bad"] { r config set configs.number 8 configs.text bad }
        expect_notes "set number 8" "set text bad" "set number 6"
        assert_error [set_failed number " - a hundred cannot be applied"] {
            r config set configs.text u configs.number 100
        }
        expect_notes "set text u" "set number 100" "apply something" "apply number" \
            "set text t" "set number 6" "apply something" "apply number"
        if {$kind eq "ours"} { assert {[count_log_message {A module refused its new configuration, so the previous settings are restored}] > 0} }
        assert_equal OK [r config set configs.number 8 configs.flag yes configs.text u]
        expect_notes "set number 8" "set flag 1" "set text u" "apply number" "apply something" "apply something"
    }

    test {after the load no directive can be registered} {
        assert_equal "try late 1 EBUSY; try load 1 another error" [r configs.late]
    }

    test {CONFIG REWRITE keeps a module's directives and arguments, and comments out those without a module} {
        r config set configs.bits {one two} configs.bytes 2097152 configs.ubytes 1mb configs.word two configs.secret "a \"b"
        r configs.args vain {b c} d
        assert_equal {vain {b c} d} [dict get [lsearch -inline -index 1 [r module list] configs] args]
        set lines [list \
            "configs.Hidden yes" "configs.bits one two" "configs.bytes 2mb" "configs.number 8" \
            "configs.secret \"a \\\"b\"" "configs.text \"u\"" "configs.ubytes 1mb" \
            "configs.unsigned 18446744073709551615"]
        # 9.1.2 does not quote the argument, and reads it as two the next time.
        set arguments [expr {$kind eq "ours" ? {vain "b c" d} : {vain b c d}}]
        assert_equal [lsort [list {*}$lines "loadmodule $::so $arguments"]] [rewritten]
        restart_server
        assert_equal {configs.bits {one two} configs.secret {a "b} configs.unsigned 18446744073709551615} \
            [r config get configs.bits configs.secret configs.unsigned]
        r module unload configs
        assert_equal [lsort [lmap line $lines { string cat "# ??? " $line }]] [rewritten]
        assert_equal {} [r config get configs.*]
    }
}

with_modules {} {} {
    test {MODULE LOADEX gives values and arguments} {
        assert_equal OK [r module loadex $::so CONFIG configs.number 9 CONFIG configs.number 10 CONFIG configs.maybe x ARGS null]
        assert_match "set number 10;*set text a default;*set maybe x" [r configs.notes]
        assert_equal {configs.maybe x} [r config get configs.maybe]
        assert_equal null [dict get [lsearch -inline -index 1 [r module list] configs] args]
        r module unload configs
        assert_equal OK [r module loadex $::so ARGS]
        r module unload configs
        assert_equal OK [r module loadex $::so]
        r module unload configs
    }

    test {MODULE LOADEX undoes a load that fails} {
        foreach {arguments lines} {
            {CONFIG configs.number} {{MODULE LOADEX: CONFIG is not followed by a name and a value}}
            {CONFIG configs.number 5x} {{Setting the directive configs.number failed: argument couldn't be parsed into an integer}}
            {CONFIG configs.number 13} {{Setting the directive configs.number failed: thirteen is no good}}
            {CONFIG configs.word 1 x} {{MODULE LOADEX: x is not understood}}
            {CONFIG configs.nope 1} {{MODULE LOADEX: the module has not taken all of its directives, so it is unloaded}}
            {CONFIG configs.number 9 ARGS unloaded} {
                {The module did not call LoadConfigs, so its directives have no values and it is unloaded}
                {MODULE LOADEX: the module has not taken all of its directives, so it is unloaded}}
            {CONFIG configs.number 9 ARGS fail} {{is not loaded because its initialization failed}}
        } {
            set before [lmap line $lines { count_log_message $line }]
            assert_error $::load_error { r module loadex $::so {*}$arguments } $arguments
            foreach line $lines n $before {
                if {$kind eq "ours"} { assert {[count_log_message $line] > $n} "$arguments: $line" }
            }
            assert_equal {} [r config get configs.*]
            assert_error "ERR unknown command*" { r configs.notes }
        }
        assert_error $::load_error { r module load $::so unloaded }
        # Nothing waits for the next one.
        assert_equal OK [r module load $::so]
        assert_equal {configs.number 5} [r config get configs.number]
        r module unload configs
    }
}

with_modules {} {kinds ours} {
    # The oracle crashes.
    test {a string without default and value is not set} {
        assert_equal OK [r module load $::so null]
        assert_no_match "*maybe*" [r configs.notes]
        assert_equal {configs.maybe {}} [r config get configs.maybe]
        r module unload configs
    }
}

start_server {} {
    test {values for modules that are not loaded end the start} {
        foreach {arguments line} [list \
            [list --loadmodule $::so --configs.number 5 --configs.nope 6 7] {No module has registered the directive configs.nope} \
            [list --configs.number 5] {The configuration has directives of modules that were not loaded or did not call LoadConfigs, so the server exits} \
            [list --loadmodule $::so --configs.number 13] "The module $::so could not be loaded, so the server exits" \
            [list --configs.number] {Module config specified without value}] {
            catch { exec $::options(server) --port [free_port] {*}$arguments 2>@1 } output how
            assert_match "*$line*" $output
            assert_equal 1 [lindex [dict get $how -errorcode] 2]
        }
    }
}
