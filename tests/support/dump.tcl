# Payloads of DUMP, for tests that make or change them: source it where it is needed.
#
#   dump_seal BODY ?version?     the body with version and checksum: what RESTORE takes
#   dump_body PAYLOAD            without them
#   dump_string TEXT             a string as the encoding has it: length and bytes

# CRC-64 of Jones, reflected: polynomial ad93d23594c935a9.
proc crc64_table {} {
    for {set b 0} {$b < 256} {incr b} {
        set crc $b
        for {set i 0} {$i < 8} {incr i} {
            set crc [expr {$crc & 1 ? ($crc >> 1) ^ 0x95ac9329ac4bc9b5 : $crc >> 1}]
        }
        lappend table $crc
    }
    return $table
}
set ::crc64_table [crc64_table]

proc crc64 {bytes} {
    set crc 0
    binary scan $bytes cu* codes
    foreach code $codes {
        set crc [expr {($crc >> 8) ^ [lindex $::crc64_table [expr {($crc ^ $code) & 255}]]}]
    }
    return $crc
}

proc dump_seal {body {version 10}} {
    append body [binary format s $version]
    return $body[binary format w [crc64 $body]]
}

proc dump_body {payload} { return [string range $payload 0 end-10] }

proc dump_string {text} {
    set n [string length $text]
    if {$n < 64} { return [binary format c $n]$text }
    if {$n < 16384} { return [binary format S [expr {$n | 0x4000}]]$text }
    return [binary format cI 0x80 $n]$text
}
