# A primary and its replica, for tests of what a replica refuses and keeps: source it where it is needed.

# The server at `level` follows the one at `primary`; returns when it does.
proc follow {level primary} {
    r $primary config set repl-diskless-sync-delay 0
    r $level replicaof 127.0.0.1 [srv $primary port]
    wait_for_condition 200 50 {[s $level master_link_status] eq "up"} else { fail "the link does not come up" }
}

# The replica has applied all that the primary has sent.
proc catch_up {level primary} {
    wait_for_condition 400 25 {[s $level slave_repl_offset] == [s $primary master_repl_offset]} else { fail "the replica stays behind" }
}

# Has the server closed the connection?
proc is_closed {client} {
    return [catch {$client ping; $client read}]
}
