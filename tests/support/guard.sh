#!/bin/sh
# Runs a program so that it cannot outlive whoever started it: our standard input is a pipe that the starter holds
# open, and when that closes, because the starter ended or was killed, the program is killed.
#
#   guard.sh DIR LOG command...      writes DIR/pid at the start and DIR/exit (exit code, 128+n for signal n) at the
#                                    end; output is appended to LOG, or left alone when LOG is -
dir=$1 log=$2
shift 2
rm -f "$dir/exit"
exec 3<&0
if [ "$log" = - ]; then
    "$@" </dev/null 3<&- &
else
    "$@" </dev/null >>"$log" 2>&1 3<&- &
fi
child=$!
echo $child >"$dir/pid.new" && mv "$dir/pid.new" "$dir/pid"
exec 2>/dev/null # the shell's own word about killed children is of no use
(
    exec >/dev/null
    read -r _ <&3
    kill -9 $child
) &
watcher=$!
exec 3<&-
wait $child
echo $? >"$dir/exit.new" && mv "$dir/exit.new" "$dir/exit"
kill $watcher
