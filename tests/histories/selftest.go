package main

// selftest.go - the checker must be able to fail. Each case is a history, written by hand, of which it has to say what is wrong; each has
// a twin that is right.

import (
	"fmt"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// A history is a text: one operation a line, `client call return kind arg,arg2,n -> reply`; a return of `?` makes it unknown.
type selfCase struct {
	name  string
	group string
	good  string // linearizable
	bad   string // not
}

var selfCases = []selfCase{
	{"register, stale read", "register", "0 0 10 set a -> OK\n1 20 30 set b -> OK\n2 25 40 get -> a", "0 0 10 set a -> OK\n1 20 30 set b -> OK\n2 35 40 get -> a"},
	{"register, lost write", "register", "0 0 10 set a -> OK\n0 20 30 get -> a", "0 0 10 set a -> OK\n0 20 30 get -> -"},
	{"register, unknown write", "register", "0 0 ? set a -> ?\n1 20 30 get -> -\n1 40 50 get -> a", "0 0 ? set a -> ?\n1 20 30 get -> a\n1 40 50 get -> -"},
	{"register, two GETSET see one value", "register", "0 0 10 getset a -> -\n1 0 10 getset b -> a", "0 0 10 getset a -> -\n1 0 10 getset b -> -"},
	{"register, two SETNX succeed", "register", "0 0 10 setnx a -> 1\n1 0 10 setnx b -> 0", "0 0 10 setnx a -> 1\n1 0 10 setnx b -> 1"},
	{"register, expired early", "register", "0 0 1 setpx a,,500 -> OK\n0 600 610 get -> -", "0 0 1 setpx a,,500 -> OK\n0 300 310 get -> -"},
	{"register, expired late", "register", "0 0 1 setpx a,,500 -> OK\n0 400 410 get -> a", "0 0 1 setpx a,,500 -> OK\n0 700 710 get -> a"},
	{"register, back from the dead", "register", "0 0 1 setpx a,,500 -> OK\n0 500 505 get -> a\n0 510 520 get -> -", "0 0 1 setpx a,,500 -> OK\n0 500 505 get -> -\n0 510 520 get -> a"},
	{"register, FLUSHALL", "register", "0 0 10 set a -> OK\n9 20 30 flushall -> OK\n0 40 50 get -> -", "0 0 10 set a -> OK\n9 20 30 flushall -> OK\n0 40 50 get -> a"},
	{"register, SWAPDB", "register", "0 0 10 set a -> OK\n9 20 30 swapdb -> OK\n0 40 50 get -> -", "0 0 10 set a -> OK\n9 20 30 swapdb -> OK\n0 40 50 get -> a"},
	{"counter, lost increment", "counter", "0 0 10 incr -> 1\n1 0 10 incr -> 2\n0 20 30 read -> 2", "0 0 10 incr -> 1\n1 0 10 incr -> 1\n0 20 30 read -> 1"},
	{"counter, duplicate increment", "counter", "0 0 ? incr -> ?\n1 20 30 read -> 1", "0 0 ? incr -> ?\n1 20 30 read -> 2"},
	{"set, stale read", "set", "0 0 10 add a -> 1\n1 5 20 all -> -", "0 0 10 add a -> 1\n1 15 20 all -> -"},
	{"set, removed twice", "set", "0 0 10 add a -> 1\n1 20 30 remove a -> 1\n2 20 30 remove a -> 0", "0 0 10 add a -> 1\n1 20 30 remove a -> 1\n2 20 30 remove a -> 1"},
	{"list, reordered", "list", "0 0 10 push a -> 1\n1 20 30 push b -> 2\n0 40 50 all -> a,b", "0 0 10 push a -> 1\n1 20 30 push b -> 2\n0 40 50 all -> b,a"},
	{"list, duplicate", "list", "0 0 ? push a -> ?\n1 20 30 all -> a", "0 0 ? push a -> ?\n1 20 30 all -> a,a"},
	{"list, popped twice", "list", "0 0 10 push a -> 1\n0 20 30 pop -> a\n1 20 30 pop -> -", "0 0 10 push a -> 1\n0 20 30 pop -> a\n1 20 30 pop -> a"},
	{"hash, lost write", "hash", "0 0 10 set a,f -> 1\n1 20 30 set b,f -> 0\n0 40 50 all -> f=b", "0 0 10 set a,f -> 1\n1 20 30 set b,f -> 0\n0 40 50 all -> f=a"},
	{"hash, torn command", "hash", "0 0 10 set a,f -> 1\n1 5 20 get ,f -> a", "0 0 10 set a,f -> 1\n1 5 20 get ,f -> torn"},
	{"zset, wrong order", "zset", "0 0 10 add a,,2 -> 1\n1 0 10 add b,,1 -> 1\n0 20 30 all -> b=1,a=2", "0 0 10 add a,,2 -> 1\n1 0 10 add b,,1 -> 1\n0 20 30 all -> a=2,b=1"},
	{"zset, stale score", "zset", "0 0 10 add a,,2 -> 1\n1 20 30 move a,,3 -> 0\n0 25 40 score a -> 2", "0 0 10 add a,,2 -> 1\n1 20 30 move a,,3 -> 0\n0 35 40 score a -> 2"},
	{"pair, torn transaction", "pair", "0 0 10 both a -> OK\n1 20 30 both b -> OK\n2 20 30 read -> a a", "0 0 10 both a -> OK\n1 20 30 both b -> OK\n2 20 30 read -> a b"},
	{"pair, WATCH did not see a change", "pair", "0 0 10 both a -> OK\n1 20 30 both b -> OK\n2 15 40 cas c,a -> OK\n0 50 60 read -> b b",
		"0 0 10 both a -> OK\n1 20 30 both b -> OK\n2 35 40 cas c,a -> OK"},
	{"pair, RENAME", "pair", "0 0 10 both a -> OK\n1 20 30 rename -> OK\n2 40 50 read -> - a", "0 0 10 both a -> OK\n1 20 30 rename -> OK\n2 40 50 read -> a a"},
	{"ledger, torn transaction", "ledger", "0 0 10 add a -> 1\n1 0 10 add b -> 2\n2 20 30 read -> a,b", "0 0 10 add a -> 1\n1 0 10 add b -> 2\n2 20 30 read -> torn"},
	{"ledger, lost across a crash", "ledger", "0 0 10 add a -> 1\n0 20 ? add b -> ?\n1 50 60 read -> a", "0 0 10 add a -> 1\n0 20 ? add b -> ?\n1 50 60 read -> b"},
}

// What findLosses has to find, in histories of additions. The last reader is client 1000.
var lossCases = []struct{ name, group, history, finds string }{
	{"nothing", "list", "0 0 10 push a -> 1\n1000 90 99 all -> a", ""},
	{"an unknown addition may be missing", "list", "0 0 ? push a -> ?\n1000 90 99 all -> -", ""},
	{"lost", "list", "0 0 10 push a -> 1\n0 20 30 push b -> 2\n1000 90 99 all -> a", "lost"},
	{"seen and lost", "set", "0 0 ? add a -> ?\n1 20 30 all -> a\n1000 90 99 all -> -", "seen"},
	{"twice", "list", "0 0 ? push a -> ?\n1000 90 99 all -> a,a", "twice"},
	{"invented", "hash", "0 0 10 set a,a -> 1\n1000 90 99 all -> a=a,x=x", "never added"},
	{"reordered", "ledger", "0 0 10 add a -> 1\n0 20 30 add b -> 2\n1000 90 99 read -> b,a", "stands before"},
	{"torn, on the way", "ledger", "0 0 10 add a -> 1\n1 5 9 read -> torn: the counter is 1, the list has 0 entries\n1000 90 99 read -> a", "torn"},
	{"torn pair", "pair", "0 0 10 both a -> OK\n1000 90 99 read -> a -", "half of a transaction"},
	{"lost pair", "pair", "0 0 10 both a -> OK\n0 20 30 both b -> OK\n1000 90 99 read -> a a", "lost"},
	{"lost increment", "counter", "0 0 10 incr -> 1\n0 20 30 incr -> 2\n1000 90 99 read -> 1", "lost"},
	{"duplicate increment", "counter", "0 0 10 incr -> 1\n1000 90 99 read -> 2", "all increments"},
}

func parseHistory(group, lines string) []*op {
	var ops []*op
	for _, line := range strings.Split(lines, "\n") {
		head, out, _ := strings.Cut(line, " -> ")
		ws := strings.Split(head, " ")
		o := &op{Group: "{" + group + ":1}", Kind: ws[3], Out: out, Acked: true}
		fmt.Sscan(ws[0], &o.Client)
		fmt.Sscan(ws[1], &o.Call)
		if o.Call *= 1e6; ws[2] == "?" {
			o.Unknown, o.Return = true, never
		} else {
			fmt.Sscan(ws[2], &o.Return)
			o.Return *= 1e6
		}
		if len(ws) > 4 {
			args := append(strings.Split(ws[4], ","), "", "")
			o.Arg, o.Arg2 = args[0], args[1]
			fmt.Sscan(args[2], &o.N)
		}
		if o.Kind == "flushall" || o.Kind == "swapdb" {
			o.Group = ""
		}
		ops = append(ops, o)
	}
	return ops
}

// selfTest returns how many cases there are, and what the checker has got wrong.
func selfTest() (cases int, wrong []string) {
	for _, c := range selfCases {
		cases += 2
		for _, side := range []struct {
			lines  string
			wanted porcupine.CheckResult
		}{{c.good, porcupine.Ok}, {c.bad, porcupine.Illegal}} {
			h := newHistory()
			h.ops = parseHistory(c.group, side.lines)
			for _, part := range h.partitions() {
				if v := verdict(part, false); v != side.wanted {
					wrong = append(wrong, fmt.Sprintf("%s: %s instead of %s\n%s", c.name, v, side.wanted, table(part)))
				} else if v == porcupine.Illegal && verdict(shrink(part, false), false) != v {
					wrong = append(wrong, fmt.Sprintf("%s: the shrunk history does not fail", c.name))
				}
			}
		}
	}
	for _, c := range lossCases {
		cases++
		h := newHistory()
		h.ops = parseHistory(c.group, c.history)
		l := findLosses(h)
		found := strings.Join(l.wrong, "\n") + strings.Repeat(" lost", len(l.lost)) + strings.Repeat(" seen", len(l.seen))
		if (c.finds == "") != (found == "") || !strings.Contains(found, c.finds) {
			wrong = append(wrong, fmt.Sprintf("losses, %s: found %q instead of %q", c.name, found, c.finds))
		}
	}
	// A machine that was late excuses what was not done in time, and nothing else.
	for _, c := range []struct {
		p      problem
		tilts  int
		late   time.Duration
		wanted outcome
	}{
		{problem{}, 1, time.Second, isPassed},
		{problem{"no other primary", true}, 0, lateAfter, isFailed},
		{problem{"no other primary", true}, 0, time.Second, isLate},
		{problem{"no other primary", true}, 1, 0, isLate},
		{problem{"lost", false}, 1, time.Second, isFailed},
	} {
		cases++
		var clock punctuality
		clock.note(c.late)
		if how := c.p.outcome(clock.lateness(c.tilts)); how != c.wanted {
			wrong = append(wrong, fmt.Sprintf("%v, late by %s and %d TILTs: outcome %d instead of %d", c.p, c.late, c.tilts, how, c.wanted))
		}
	}
	// An object may be gone after eviction, but not come back.
	cases += 2
	gone := "0 0 10 set a -> OK\n0 20 30 get -> -"
	if verdict(parseHistory("register", gone), true) != porcupine.Ok {
		wrong = append(wrong, "an evicted register may not be gone")
	}
	if verdict(parseHistory("register", gone+"\n0 40 50 get -> a"), true) != porcupine.Illegal {
		wrong = append(wrong, "an evicted register comes back")
	}
	return cases, wrong
}
