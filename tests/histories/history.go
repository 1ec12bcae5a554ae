package main

// history.go - what clients did: operations with the times of call and return.
//
// Each operation belongs to a group: the keys of one object (one key, or two with a hash tag). Groups are independent of each other,
// so each one's history is checked alone. What concerns all keys (FLUSHALL, SWAPDB) has no group and is part of every history.
//
// An operation whose connection was lost, or that timed out, is unknown: it may take effect at any later time, or never. Its return
// time is `never`, so that the checker may put it after everything else, which is the same as if it had not happened.

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const never = math.MaxInt64 / 4 // a return time in nanoseconds

type op struct {
	Client  int
	Group   string
	DB      int
	Kind    string // of the group's model, or flushall, flushdb, swapdb
	Arg     string // the unique value, or the element that is meant
	Arg2    string // a field, or the value that a WATCH has seen
	N       int64  // an increment, a score, or milliseconds
	Way     int    // which commands do it
	Call    int64  // nanoseconds since the start of the run
	Return  int64
	Out     string // the reply, as the model writes it
	Unknown bool
	Acked   bool // done, and with WAIT 1: a replica has it
}

func (o *op) String() string {
	s := fmt.Sprintf("db%d %s", o.DB, o.Kind)
	for _, word := range []string{o.Arg2, o.Arg} {
		if word != "" {
			s += " " + word
		}
	}
	if o.N != 0 {
		s += fmt.Sprintf(" (%d)", o.N)
	}
	if o.Unknown {
		return s + " -> unknown"
	}
	return strings.Map(printable, s+" -> "+o.Out)
}

// printable replaces what a damaged reply may contain.
func printable(r rune) rune {
	if r < ' ' || r > '~' {
		return '?'
	}
	return r
}

// history collects operations. Clients keep their own, and hand them over when they end.
type history struct {
	mu     sync.Mutex
	ops    []*op
	start  time.Time
	serial atomic.Int64 // of groups
	groups map[string]*group
	events []string
}

func newHistory() *history { return &history{start: time.Now(), groups: map[string]*group{}} }

func (h *history) now() int64 { return int64(time.Since(h.start)) }

func (h *history) add(ops []*op) {
	h.mu.Lock()
	h.ops = append(h.ops, ops...)
	h.mu.Unlock()
}

// note remembers what was done to the servers, for the report.
func (h *history) note(format string, args ...any) {
	h.mu.Lock()
	h.events = append(h.events, fmt.Sprintf("%10.3f s  ", float64(h.now())/1e9)+fmt.Sprintf(format, args...))
	h.mu.Unlock()
}

// partitions returns the operations of each group in the order of their calls, each with those of the whole dataset that happened
// meanwhile.
func (h *history) partitions() map[string][]*op {
	parts := map[string][]*op{}
	var common []*op
	for _, o := range h.ops {
		if o.Group == "" {
			common = append(common, o)
		} else {
			parts[o.Group] = append(parts[o.Group], o)
		}
	}
	for name, ops := range parts {
		first, last := int64(never), int64(0)
		for _, o := range ops {
			first, last = min(first, o.Call), max(last, o.Call)
		}
		for _, o := range common {
			if o.Return >= first && o.Call <= last || o.Unknown && o.Call <= last {
				ops = append(ops, o)
			}
		}
		sort.SliceStable(ops, func(i, j int) bool { return ops[i].Call < ops[j].Call })
		parts[name] = ops
	}
	return parts
}

// group is one object that clients use. After `limit` operations another takes its place, so that histories stay short enough to be
// checked.
type group struct {
	model *model
	key   string
	size  int // an element is written as so many elements of the server, by one command
	mu    sync.Mutex
	used  int
	last  []string // the latest elements
}

// element returns one that was used a moment ago, or the given one.
func (g *group) element(pick func(int) int, otherwise string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.last) == 0 {
		return otherwise
	}
	return g.last[pick(len(g.last))]
}

func (g *group) remember(element string) {
	g.mu.Lock()
	g.last = append(g.last, element)
	if len(g.last) > 6 {
		g.last = g.last[1:]
	}
	g.mu.Unlock()
}

// board is the set of groups in use.
type board struct {
	h       *history
	limit   int
	mu      sync.Mutex
	current []*group
}

func newBoard(h *history, models []*model, each, limit int) *board {
	b := &board{h: h, limit: limit}
	for i := 0; i < each; i++ {
		for _, m := range models {
			b.current = append(b.current, b.fresh(m))
		}
	}
	return b
}

func (b *board) fresh(m *model) *group {
	n := b.h.serial.Add(1)
	g := &group{model: m, key: fmt.Sprintf("{%s:%d}", m.name, n), size: []int{1, 1, 40}[n%3]}
	b.h.mu.Lock()
	b.h.groups[g.key] = g
	b.h.mu.Unlock()
	return g
}

// take returns a group for one operation.
func (b *board) take(pick func(int) int) *group {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := pick(len(b.current))
	g := b.current[i]
	g.used++
	if g.used >= b.limit {
		b.current[i] = b.fresh(g.model)
	}
	return g
}
