# Runs one test file in a process of its own, and reports events to tests/run in lines of the form
#   @<base64 of a Tcl list: event arguments...>
# Anything else that a test prints is passed through. The events are at `proc event` in tests/run.
#
#   tclsh worker.tcl FILE WORK_DIR BASE_PORT OPTIONS        OPTIONS is a dict, see tests/run

fconfigure stdout -buffering line
lassign $argv path ::work_dir ::base_port
array set ::options [lindex $argv 3]
set ::support [file dirname [file normalize [info script]]]
set ::test_file $path
expr {srand($::options(seed))}

# How a server built with a sanitizer shall report; it must refuse huge allocations as a plain build does.
foreach {name value} {
    ASAN_OPTIONS allocator_may_return_null=1 UBSAN_OPTIONS print_stacktrace=1
    TSAN_OPTIONS "allocator_may_return_null=1 second_deadlock_stack=1 die_after_fork=0"
} {
    if {![info exists ::env($name)]} { set ::env($name) $value }
}

proc report_event {args} {
    puts @[binary encode base64 [encoding convertto utf-8 $args]]
    flush stdout
}

foreach part {client server assert} { source -encoding utf-8 $::support/$part.tcl }
if {"io-threads-always-active" in $::options(config)} { set resp::close_ms 2 }

if {[catch {source -encoding utf-8 $path} problem how]} {
    report_failure [expr {$::test_name eq {} ? "outside of any test" : $::test_name}] \
        "$problem\n[dict get $how -errorinfo]" {}
    foreach server $::servers { stop $server KILL }
}
report_event done
