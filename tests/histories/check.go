package main

// check.go - is a history linearizable? Porcupine answers that for each group; this file says what one step is.
//
// A state is that of the group in two databases, which SWAPDB exchanges. What the server may do by itself makes a step ambiguous:
// a register with a time to live may be gone from its earliest deadline on and must be gone after its latest one, and with eviction
// any object may be gone at any time. So a step leads to a set of states.
//
// A failing group is reported with as few operations as possible: the shortest beginning of its history that fails, without those
// reads that the failure does not need.

import (
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// A server reads its clock at the beginning of a turn, before it has read the request. A machine that is busy makes turns long.
const clockSlack = 50 * int64(time.Millisecond)

// undecidedAfter is the time that the checker may take for one group.
const undecidedAfter = 20 * time.Second

type state [2]string

// ---- Registers with a time to live: "value earliest latest" ----

func registerValue(s string) string {
	value, _, _ := strings.Cut(s, " ")
	return value
}

// registerUntil is a value with the deadlines that the operation gives it.
func registerUntil(value string, o *op) string {
	d := o.N * int64(time.Millisecond)
	return fmt.Sprintf("%s %d %d", value, o.Call+d-clockSlack, min(o.Return+d+clockSlack, never))
}

func registerDeadlines(s string) (earliest, latest int64, has bool) {
	ws := strings.Split(s, " ")
	if len(ws) != 3 {
		return 0, 0, false
	}
	earliest, _ = strconv.ParseInt(ws[1], 10, 64)
	latest, _ = strconv.ParseInt(ws[2], 10, 64)
	return earliest, latest, true
}

// ---- Steps ----

// before returns the states that an object may be in when the operation runs.
func before(s string, o *op, vanishes bool) []string {
	if s == "" {
		return []string{s}
	}
	if earliest, latest, has := registerDeadlines(s); has && modelOf(o.Group) == &registerModel {
		var out []string
		if o.Call <= latest {
			out = append(out, s)
		}
		if o.Return >= earliest || vanishes {
			out = append(out, "")
		}
		return out
	}
	if vanishes {
		return append([]string{s, ""}, halves(s, o)...)
	}
	return []string{s}
}

// halves are the states after eviction of one key of two.
func halves(s string, o *op) []string {
	if modelOf(o.Group) != &pairModel {
		return nil
	}
	a, b := pairOf(s)
	return []string{pairState(a, "-"), pairState("-", b)}
}

func step(s state, o *op, vanishes bool) []any {
	switch o.Kind {
	case "flushall":
		return []any{state{}}
	case "flushdb":
		s[o.DB] = ""
		return []any{s}
	case "swapdb":
		return []any{state{s[1], s[0]}}
	}
	var out []any
	m := modelOf(o.Group)
	for _, b := range before(s[o.DB], o, vanishes) {
		next, reply := m.apply(b, o)
		if o.Unknown || reply == o.Out {
			s[o.DB] = next
			out = append(out, s)
		}
	}
	return out
}

var hashSeed = maphash.MakeSeed()

func porcupineModel(vanishes bool) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init:  func() []any { return []any{state{}} },
		Step:  func(s, input, output any) []any { return step(s.(state), input.(*op), vanishes) },
		Equal: func(a, b any) bool { return a.(state) == b.(state) },
		Hash: func(s any) uint64 {
			return maphash.String(hashSeed, s.(state)[0]) ^ maphash.String(hashSeed, s.(state)[1])<<1
		},
		DescribeOperation: func(input, output any) string { return input.(*op).String() },
		DescribeState:     func(s any) string { return fmt.Sprintf("%q", s.(state)) },
	}
	return m.ToModel()
}

// operations gives each client of the group, and each of its operations that are unknown, a row of its own in the picture.
func operations(ops []*op) []porcupine.Operation {
	rows, out := map[int]int{}, make([]porcupine.Operation, 0, len(ops))
	unknown := 0
	for _, o := range ops {
		if _, has := rows[o.Client]; !has {
			rows[o.Client] = len(rows)
		}
	}
	end := int64(0)
	for _, o := range ops {
		if !o.Unknown {
			end = max(end, o.Return)
		}
	}
	for _, o := range ops {
		row, returns := rows[o.Client], o.Return
		if o.Unknown {
			row, returns = len(rows)+unknown, end+1
			unknown++
		}
		out = append(out, porcupine.Operation{ClientId: row, Input: o, Call: o.Call, Return: returns})
	}
	return out
}

func verdict(ops []*op, vanishes bool) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(porcupineModel(vanishes), operations(ops), undecidedAfter)
}

// ---- Reports ----

var readKinds = map[string]bool{"get": true, "exists": true, "read": true, "all": true, "count": true, "has": true, "score": true, "rank": true}

// isRead is whether the operation can be left out without making an impossible history of a possible one.
func isRead(o *op) bool {
	return readKinds[o.Kind] || o.Kind == "cas-aborted" || o.Kind == "first" && modelOf(o.Group) == &listModel
}

// until returns the history up to a moment: what has not returned by then is unknown.
func until(ops []*op, moment int64) []*op {
	var out []*op
	for _, o := range ops {
		if o.Call > moment {
			continue
		}
		if o.Return > moment {
			cut := *o
			cut.Return, cut.Unknown = never, true
			if isRead(o) {
				continue
			}
			o = &cut
		}
		out = append(out, o)
	}
	return out
}

// shrink returns a part of the history that still fails.
func shrink(ops []*op, vanishes bool) []*op {
	fails := func(part []*op) bool { return verdict(part, vanishes) == porcupine.Illegal }
	var ends []int64
	for _, o := range ops {
		if !o.Unknown {
			ends = append(ends, o.Return)
		}
	}
	sort.Slice(ends, func(i, j int) bool { return ends[i] < ends[j] })
	n := sort.Search(len(ends), func(i int) bool { return fails(until(ops, ends[i])) })
	if n < len(ends) {
		ops = until(ops, ends[n])
	}
	for i := len(ops) - 1; i >= 0; i-- {
		if !isRead(ops[i]) {
			continue
		}
		rest := append(append([]*op{}, ops[:i]...), ops[i+1:]...)
		if fails(rest) {
			ops = rest
		}
	}
	return ops
}

func table(ops []*op) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %6s %12s %12s  %s\n", "client", "call ms", "return ms", "operation -> reply")
	for _, o := range ops {
		returned := "?"
		if !o.Unknown {
			returned = fmt.Sprintf("%.3f", float64(o.Return)/1e6)
		}
		line := o.String()
		if len(line) > 400 {
			line = line[:180] + " ... " + line[len(line)-180:]
		}
		fmt.Fprintf(&b, "  %6d %12.3f %12s  %s\n", o.Client, float64(o.Call)/1e6, returned, line)
	}
	return b.String()
}

// ---- A whole history ----

type finding struct {
	group string
	ops   []*op // a part that fails
}

// linearizable checks all groups. It returns those that fail, the number of groups, and the number of those undecided.
func linearizable(h *history, vanishes bool) (bad []finding, groups, undecided int) {
	parts := h.partitions()
	names := make(chan string)
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := 0; i < runtime.NumCPU(); i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for name := range names {
				v := verdict(parts[name], vanishes)
				mu.Lock()
				switch v {
				case porcupine.Illegal:
					bad = append(bad, finding{name, parts[name]})
				case porcupine.Unknown:
					undecided++
				}
				mu.Unlock()
			}
		}()
	}
	for name := range parts {
		names <- name
	}
	close(names)
	all.Wait()
	sort.Slice(bad, func(i, j int) bool { return bad[i].ops[0].Call < bad[j].ops[0].Call })
	for i := range bad {
		if i < 3 {
			bad[i].ops = shrink(bad[i].ops, vanishes)
		}
	}
	return bad, len(parts), undecided
}

// visualize writes Porcupine's picture of a part of a history.
func visualize(f finding, vanishes bool, folder string) string {
	m := porcupineModel(vanishes)
	_, info := porcupine.CheckOperationsVerbose(m, operations(f.ops), undecidedAfter)
	path := filepath.Join(folder, strings.Trim(strings.ReplaceAll(f.group, ":", "-"), "{}")+".html")
	file, err := os.Create(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if err := porcupine.Visualize(m, info, file); err != nil {
		return err.Error()
	}
	return path
}
