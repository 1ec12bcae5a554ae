# Calls of a server that fail, by faults.c: source it where it is needed.
#
#   faults_possible     can they be made to fail here?
#   faults_build        the program to start (start_server {executable ...}) instead of the server
#   faults_environment  the variables under which any program is to be started
#   faults ...          what fails from now on
#   faults_seen         how many calls it was about so far

# Variables of the environment under which calls of a program, by default the server, can be made to fail. A sanitizer
# that is a library of its own has to be loaded first.
proc faults_environment {{program {}}} {
    set library $::work_dir/faults.so
    foreach cc {cc gcc clang} {
        if {[auto_execok $cc] ne {}} {
            exec $cc -O1 -shared -fPIC -o $library $::support/faults.c -ldl
            break
        }
    }
    if {$program eq {}} { set program $::options(server) }
    set first [lindex [regexp -inline -line {lib[at]san\S* => (\S+)} [exec ldd $program]] 1]
    return "LD_PRELOAD='[string trim "$first $library"]' FAULTS=$::work_dir/plan"
}

proc faults_build {} {
    set f [open $::work_dir/with-faults w 0755]
    puts $f "#!/bin/sh\nexport [faults_environment]\nexec $::options(server) \"\$@\""
    close $f
    return $::work_dir/with-faults
}

# call errno skip count pattern; see faults.c. Without arguments: no faults.
proc faults {args} {
    file delete $::work_dir/plan.seen
    set f [open $::work_dir/plan.new w]
    puts $f $args
    close $f
    file rename -force $::work_dir/plan.new $::work_dir/plan
}

proc faults_seen {} { return [expr {[file exists $::work_dir/plan.seen] ? [file size $::work_dir/plan.seen] : 0}] }

# Valgrind has calls of its own.
proc faults_possible {} { return [expr {!$::options(valgrind) && $::options(host) eq {}}] }
