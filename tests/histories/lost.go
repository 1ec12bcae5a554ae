package main

// lost.go - what asynchronous replication leaves to check: acknowledged additions that are not there in the end.
//
// It needs a workload that only adds (workload.adds) and a last read of every group. From these follow, for each group:
//
//     lost       an addition was acknowledged, or a read has shown it, and in the end it is missing
//     twice      an addition is there twice, though its client has sent it once
//     invented   an element is there that nobody has added
//     reordered  of two additions one of which had ended before the other began, the later one comes first
//     torn       half of a transaction, a script or a command has been seen, at any time
//
// Losses are what a set-up may or may not allow; the others nothing allows.

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

const lastReader = 1000 // clients from here on read everything in the end

type losses struct {
	groups int
	added  int
	lost   []*op    // acknowledged, and missing
	seen   []*op    // not acknowledged, but read by somebody, and missing
	wrong  []string // all else
}

func (l *losses) count() int { return len(l.lost) + len(l.seen) }

func findLosses(h *history) *losses {
	l := &losses{}
	parts := h.partitions()
	var names []string
	for name := range parts {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		l.addGroup(name, parts[name])
	}
	return l
}

func (l *losses) wrongIn(group, format string, args ...any) {
	l.wrong = append(l.wrong, group+": "+fmt.Sprintf(format, args...))
}

func (l *losses) addGroup(name string, ops []*op) {
	l.groups++
	var end *op
	for _, o := range ops {
		if strings.HasPrefix(o.Out, "torn") {
			l.wrongIn(name, "client %d, at %.3f s, %s", o.Client, float64(o.Call)/1e9, o)
		}
		if strings.HasPrefix(o.Out, "!") {
			l.wrongIn(name, "an error that cannot be: client %d, at %.3f s, %s", o.Client, float64(o.Call)/1e9, o)
		}
		if o.Client >= lastReader {
			end = o
		}
		if !isRead(o) {
			l.added++
		}
	}
	if end == nil {
		l.wrongIn(name, "nobody has read it in the end")
		return
	}
	switch modelOf(name) {
	case &counterModel:
		l.addCounter(name, ops, end)
	case &pairModel:
		l.addPair(name, ops, end)
	default:
		l.addElements(name, ops, end)
	}
}

func elements(out string) []string {
	if out == "-" || strings.HasPrefix(out, "torn") || strings.HasPrefix(out, "!") {
		return nil
	}
	list := strings.Split(out, ",")
	for i := range list {
		list[i], _, _ = strings.Cut(list[i], "=")
	}
	return list
}

func (l *losses) addElements(name string, ops []*op, end *op) {
	added, seen := map[string]*op{}, map[string]bool{}
	ordered := modelOf(name) == &listModel || modelOf(name) == &ledgerModel
	for _, o := range ops {
		if !isRead(o) {
			added[o.Arg] = o
		} else if o.Client < lastReader && (o.Kind == "all" || o.Kind == "read") {
			for _, e := range elements(o.Out) {
				seen[e] = true
			}
		}
	}
	there, latest := map[string]bool{}, (*op)(nil)
	for _, e := range elements(end.Out) {
		o := added[e]
		switch {
		case o == nil:
			l.wrongIn(name, "%s was never added", e)
			continue
		case there[e]:
			l.wrongIn(name, "%s is there twice", e)
		case ordered && latest != nil && latest.Call > o.Return:
			l.wrongIn(name, "%s stands before %s, and was added after it", latest.Arg, e)
		}
		there[e] = true
		if latest == nil || o.Call > latest.Call {
			latest = o
		}
	}
	for e, o := range added {
		if there[e] {
			continue
		}
		if o.Acked && !o.Unknown {
			l.lost = append(l.lost, o)
		} else if seen[e] {
			l.seen = append(l.seen, o)
		}
	}
}

// addCounter compares sums: which increment was lost cannot be told, so the latest one stands for all.
func (l *losses) addCounter(name string, ops []*op, end *op) {
	var acknowledged, sent int64
	var latest *op
	for _, o := range ops {
		if isRead(o) {
			continue
		}
		n := max(o.N, 1)
		sent += n
		if o.Acked && !o.Unknown {
			acknowledged += n
			if latest == nil || o.Return > latest.Return {
				latest = o
			}
		}
	}
	n, _ := strconv.ParseInt(end.Out, 10, 64)
	if n > sent {
		l.wrongIn(name, "it is %d, and all increments together are %d", n, sent)
	}
	if n < acknowledged {
		l.lost = append(l.lost, latest)
	}
}

// addPair: the value in the end is one that no acknowledged operation has come after.
func (l *losses) addPair(name string, ops []*op, end *op) {
	a, b, _ := strings.Cut(end.Out, " ")
	if a != b {
		l.wrongIn(name, "half of a transaction: %s", end)
	}
	var writer *op
	for _, o := range ops {
		if !isRead(o) && o.Arg == a {
			writer = o
		}
		if o.Kind == "read" {
			if x, y, _ := strings.Cut(o.Out, " "); x != y {
				l.wrongIn(name, "half of a transaction: client %d, at %.3f s, %s", o.Client, float64(o.Call)/1e9, o)
			}
		}
	}
	if writer == nil && a != "-" {
		l.wrongIn(name, "%s was never written", a)
	}
	for _, o := range ops {
		if !isRead(o) && o.Acked && !o.Unknown && (writer == nil || o.Call > writer.Return) {
			l.lost = append(l.lost, o)
		}
	}
}
