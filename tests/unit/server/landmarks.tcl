# Sentences of the log that tools and people's checks are known to look for. They are an interface, as error replies
# are, so none of them may be removed from the sources or changed; everything else in the log is in words of our own.
# A % stands for what a format inserts: a number, a name, a reason.

set ::log_landmarks {
    {=== VALKEY BUG REPORT START: Cut & paste starting from here ===}
    {=== VALKEY BUG REPORT END. Make sure to include from START to END. ===}
    {=== ASSERTION FAILED ===}
    {------ STACK TRACE ------}
    {crashed by signal: %}
    {Crashed running the instruction at: %}
    {--- WATCHDOG TIMER EXPIRED ---}
    {== CRITICAL == This primary is sending an error to its replica: '%' after processing the command '%'}
    {Ready to accept connections tcp}
    {% is now ready to exit, bye bye...}
    {% of % replicas are in sync}
    {Lagging replica % reported offset %}
    {Errors trying to shut down}
    {Shutdown manually aborted}
    {Received SIGUSR1 in child}
    {Slow script detected: }
    {for overcoming of output buffer limits.}
    {*redacted*}
    {Can't fork for module: %}
    {Module name is busy}

    {Loading RDB produced by % version %}
    {Done loading RDB, keys loaded: %, keys expired: %}
    {skipping empty key: %}
    {empty keys skipped: %}
    {Internal error in RDB reading offset %}
    {Can't handle RDB format version %}
    {Can't store key}
    {Error trying to save the DB, can't exit}
    {Writing initial AOF, can't exit}
    {AOF background was scheduled}
    {Unexpected end of file reading the append only file}
    {Bad file format reading the append only file}
    {triggered the limit}

    {Connection with replica % lost.}
    {Unable to partial resync with replica % for lack of backlog}
    {Disconnecting timedout replica (full sync): %}
    {Current BGSAVE has socket target. Waiting for next BGSAVE for SYNC}
    {Background RDB transfer started by pid %}
    {while skipping RDB checksum for this transfer}
    {Background RDB transfer error}
    {Diskless rdb transfer, done reading from pipe, % replicas still up}
    {Diskless rdb transfer, last replica dropped, killing fork child}
    {Replica main channel failed to establish PSYNC within the grace period}
    {Replica generated a reply to command '%', disconnecting it: %}
    {Replica can't interact with the keyspace}
    {Unable to AUTH to PRIMARY: %}
    {RDB signature and version check passed}
    {Loading DB in memory}
    {Failed trying to load the PRIMARY synchronization DB from %}
    {Failed trying to rename the temp DB into %}
    {inline protocol from primary}
    {Failover target rejected psync request}
    {time out exceeded, failing over.}

    {At least one hash slot is not served by any available node}
    {minority partition}
    {Cluster config updated even though writing the cluster config file to disk failed}
    {Fatal: can't update cluster config file}
    {PONG contains mismatching sender ID}
    {has old slots configuration, sending an UPDATE message about %}
    {Deleting keys in dirty slot %}
    {I am now an empty primary}
    {I'm a sub-replica! Reconfiguring myself from % to %}
    {Migrating to orphaned primary %}
    {Manual failover requested by replica %}
    {Manual failover timed out}
    {Start of election delayed for % milliseconds (rank #%, primary rank #%, offset %, replica priority %)}
    {Currently unable to failover: %}
    {Replication offset is 0}
    {This is the best ranked replica and can initiate the election immediately}
    {Myself become the best ranked replica, initiate the election immediately}
    {Failover election in progress for epoch %}
    {Resetting the election}
    {Failover auth denied to %}
    {epoch (%) > reqConfigEpoch (%)}
    {Failover attempt expired}
    {Unable to find a replica to perform the auto failover on shutdown}
    {Unable to perform auto failover on shutdown since there are legacy replicas}
    {Pausing writes (remaining_repl_size is %) to allow slot migration}
}

# The string literals of one C file, a line each: those that the compiler joins are joined, conversions are %.
proc source_literals {path} {
    set text [string map {'\"' {} '\\\"' {}} [read_file $path]]
    regsub -all {"\s+"} $text {} text
    set literals [join [regexp -all -inline {"(?:[^"\\\n]|\\.)*"} $text] \n]
    return [regsub -all {%[-+ #0]*[0-9.*]*(?:hh|h|ll|l|z)?[a-zA-Z]} $literals %]
}

test {sentences that tools look for in the log stand in the sources} {
    set top [file dirname [file dirname $::support]]
    set literals {}
    foreach path [exec find $top/src -name *.c -not -name *_test.c] { append literals [source_literals $path] \n }
    set gone {}
    foreach sentence $::log_landmarks {
        if {[string first $sentence $literals] < 0} { lappend gone $sentence }
    }
    assert_equal {} $gone
}
