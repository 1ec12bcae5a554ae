package main

// scenarios.go - the table of scenarios, and the course of each: start the servers, let clients work while something disturbs them, bring
// all back, read everything, judge.

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What a scenario promises.
const (
	isLinearizable = "linearizable"       // the whole history, across all disturbances
	nothingLost    = "nothing lost"       // of what was acknowledged, or seen by a reader
	boundedLoss    = "bounded loss"       // what was acknowledged more than lossBound before a kill is there
	lossesReported = "losses are allowed" // they are counted; duplicates and torn transactions are not allowed
)

const lossBound = 2 * time.Second

type scenario struct {
	name     string
	about    string
	short    bool // in `make test`
	servers  layout
	settings string // directives of all servers: "name value, name value"
	ours     string // directives that only this server has
	load     workload
	vanishes bool // eviction may take any object
	disturb  func(e *environment) error
	promise  string
	faults   bool // runs with tests/support/faults.c
	spaces   bool // needs network namespaces
}

const threads = "io-threads 4, io-threads-always-active yes"
const reads = "parallel-reads yes, parallel-reads-always yes"

var (
	all        = models
	noLedger   = []*model{&registerModel, &counterModel, &setModel, &listModel, &hashModel, &zsetModel, &pairModel}
	additive   = []*model{&counterModel, &setModel, &listModel, &hashModel, &zsetModel, &pairModel, &ledgerModel}
	busy       = workload{clients: 8, readers: 4, dbs: 2, pipeline: true, expire: true, models: all, limit: 100}
	busyOneDB  = workload{clients: 8, readers: 4, dbs: 1, expire: true, models: all, limit: 100}
	evicted    = workload{clients: 8, readers: 4, dbs: 1, pipeline: true, models: noLedger, limit: 60}
	killed     = workload{clients: 6, dbs: 1, pipeline: true, models: all, limit: 50, timeout: 5 * time.Second}
	adding     = workload{clients: 6, dbs: 1, adds: true, models: additive, limit: 80, timeout: 2 * time.Second, pause: time.Millisecond}
	addingWait = workload{clients: 6, dbs: 1, adds: true, wait: true, models: additive, limit: 80, timeout: 2 * time.Second}
	addingSync = workload{clients: 6, dbs: 1, adds: true, models: additive, limit: 80, timeout: 8 * time.Second, pause: time.Millisecond}
)

const aof = "appendonly yes, appendfsync "

// With two replicas, one acknowledgement is enough as long as both replicas can take part in the election: no scenario of these takes
// away more than the primary.
const synced = "min-replicas-sync 1, min-replicas-sync-timeout 2000"

var scenarios = []scenario{
	{name: "parallel-all", about: "reads in threads beside FLUSHALL, SWAPDB, RELOAD, saves, defragmentation, full synchronizations", short: true,
		servers: withReplica, settings: threads, ours: reads, load: busy, disturb: operate, promise: isLinearizable},
	{name: "parallel-evict", about: "reads in threads beside eviction", short: true,
		servers: single, settings: threads, ours: reads, load: evicted, vanishes: true, disturb: operateEviction, promise: isLinearizable},
	{name: "parallel-slots", about: "reads in threads of two nodes of a cluster, between which slots move", short: true,
		servers: twoNodes, settings: threads, ours: reads, load: busyOneDB, disturb: moveSlots, promise: isLinearizable},
	{name: "kill-always", about: "kill -9 and restart with appendfsync always", short: true,
		servers: single, settings: aof + "always", load: killed, disturb: killAndRestart, promise: isLinearizable},
	{name: "kill-always-threads", about: "the same with reads in threads",
		servers: single, settings: aof + "always, " + threads, ours: reads, load: killed, disturb: killAndRestart, promise: isLinearizable},
	{name: "kill-everysec", about: "kill -9 and restart with appendfsync everysec: what is lost is counted",
		servers: single, settings: aof + "everysec", load: adding, disturb: killAndRestart, promise: boundedLoss},
	{name: "fsync-slow-always", about: "each fsync takes 100 ms more, and kill -9 comes meanwhile", faults: true,
		servers: single, settings: aof + "always", load: killed, disturb: slowFsyncAndKill, promise: isLinearizable},
	{name: "fsync-slow-everysec", about: "each fsync takes 700 ms more, and kill -9 comes meanwhile", faults: true,
		servers: single, settings: aof + "everysec", load: adding, disturb: slowFsyncAndKill, promise: boundedLoss},
	{name: "fsync-fails-always", about: "an fsync fails: the server ends, and is started again", faults: true,
		servers: single, settings: aof + "always", load: killed, disturb: failFsync, promise: isLinearizable},
	{name: "disk-full-always", about: "the file cannot be written: the server ends, and is started again", faults: true,
		servers: single, settings: aof + "always", load: killed, disturb: fillDisk, promise: isLinearizable},
	{name: "disk-full-everysec", about: "the file cannot be written for a while: writes are refused; then kill -9", faults: true,
		servers: single, settings: aof + "everysec", load: killed, disturb: fillDiskForAWhile, promise: isLinearizable},

	{name: "sentinel-kill", about: "the primary is killed", servers: sentinelSet, load: adding, disturb: killPrimary, promise: lossesReported},
	{name: "sentinel-kill-wait", about: "the same with WAIT 1, which two replicas make a race", servers: sentinelSet, load: addingWait, disturb: killPrimary, promise: lossesReported},
	{name: "sentinel-kill-sync", about: "the same with min-replicas-sync 1", servers: sentinelSet, ours: synced, load: addingSync, disturb: killPrimary, promise: nothingLost},
	{name: "sentinel-hang", about: "the primary hangs", servers: sentinelSet, load: adding, disturb: hangPrimary, promise: lossesReported},
	{name: "sentinel-hang-wait", about: "the same with WAIT 1", servers: sentinelSet, load: addingWait, disturb: hangPrimary, promise: lossesReported},
	{name: "sentinel-hang-sync", about: "the same with min-replicas-sync 1", servers: sentinelSet, ours: synced, load: addingSync, disturb: hangPrimary, promise: nothingLost},
	{name: "sentinel-part", about: "the primary is cut off from all but clients", spaces: true, servers: sentinelSet, load: adding, disturb: partPrimary, promise: lossesReported},
	{name: "sentinel-part-wait", about: "the same with WAIT 1", spaces: true, servers: sentinelSet, load: addingWait, disturb: partPrimary, promise: lossesReported},
	{name: "sentinel-part-sync", about: "the same with min-replicas-sync 1", spaces: true, servers: sentinelSet, ours: synced, load: addingSync, disturb: partPrimary, promise: nothingLost},
	{name: "sentinel-oneway", about: "what the primary sends to others is lost, what they send arrives", spaces: true, servers: sentinelSet, load: adding, disturb: partOneWay, promise: lossesReported},
	{name: "sentinel-oneway-sync", about: "the same with min-replicas-sync 1", spaces: true, servers: sentinelSet, ours: synced, load: addingSync, disturb: partOneWay, promise: nothingLost},
	{name: "sentinel-hand", about: "SENTINEL FAILOVER", servers: sentinelSet, load: adding, disturb: failOverByHand, promise: lossesReported},
	{name: "sentinel-hand-sync", about: "the same with min-replicas-sync 1", servers: sentinelSet, ours: synced, load: addingSync, disturb: failOverByHand, promise: nothingLost},

	{name: "cluster-kill", about: "a primary is killed", servers: sixNodes, load: adding, disturb: killPrimary, promise: lossesReported},
	{name: "cluster-kill-sync", about: "the same with min-replicas-sync 1", servers: sixNodes, ours: synced, load: addingSync, disturb: killPrimary, promise: nothingLost},
	{name: "cluster-hang", about: "a primary hangs", servers: sixNodes, load: adding, disturb: hangPrimary, promise: lossesReported},
	{name: "cluster-hang-sync", about: "the same with min-replicas-sync 1", servers: sixNodes, ours: synced, load: addingSync, disturb: hangPrimary, promise: nothingLost},
	{name: "cluster-part", about: "a primary is cut off from all but clients", spaces: true, servers: sixNodes, load: adding, disturb: partPrimary, promise: lossesReported},
	{name: "cluster-part-sync", about: "the same with min-replicas-sync 1", spaces: true, servers: sixNodes, ours: synced, load: addingSync, disturb: partPrimary, promise: nothingLost},
	{name: "cluster-hand", about: "CLUSTER FAILOVER, which loses nothing", servers: sixNodes, load: adding, disturb: failOverByHand, promise: nothingLost},
}

// ---- The course of a scenario ----

type environment struct {
	o        *options
	s        *scenario
	r        *rand.Rand
	h        *history
	folder   string
	set      serverSet
	crowd    *crowd
	library  string  // of faults
	kills    []int64 // when
	vanished []finding
	stories  []string // for the summary
}

// newEnvironment returns why the scenario cannot run, if it cannot.
func newEnvironment(o *options, s *scenario) (*environment, string) {
	e := &environment{o: o, s: s, r: newRandom(o.seed, s.name), h: newHistory()}
	for _, kind := range o.kinds {
		if _, missing := o.program(kind); missing != "" {
			return nil, missing
		}
		if kind != "ours" && s.ours != "" && s.promise == nothingLost {
			return nil, "Valkey has no " + strings.Fields(s.ours)[0]
		}
	}
	if strings.Contains(s.ours, "min-replicas-sync") && !knowsDirective(o.server, "min-replicas-sync") {
		return nil, "this server has no min-replicas-sync"
	}
	if s.spaces {
		if why := spacesMissing(); why != "" {
			return nil, why
		}
	}
	e.folder, _ = os.MkdirTemp("", "histories-")
	if s.faults {
		var why string
		if e.library, why = buildFaults(e); why != "" {
			return nil, why
		}
	}
	return e, ""
}

// directives are the arguments for a server of this kind.
func (e *environment) directives(kind string) []string {
	list := e.s.settings
	if kind == "ours" && e.s.ours != "" {
		list += ", " + e.s.ours
	}
	var out []string
	for _, d := range strings.Split(list, ", ") {
		if name, value, is := strings.Cut(d, " "); is {
			out = append(out, "--"+name, value)
		}
	}
	return out
}

// run returns what is wrong, if something is. What servers complain about comes first, as it explains the rest.
func (e *environment) run() problem {
	p := e.course()
	if e.set == nil {
		return p
	}
	for _, n := range e.set.nodes() {
		if complaint := n.stop(); complaint != "" {
			p = problem{text: strings.TrimSpace(complaint + "\n" + p.text)}
		}
	}
	return p
}

// course also judges what clients were told when the disturbance did not go as it should, if all can be read.
func (e *environment) course() problem {
	var err error
	if e.set, err = e.s.servers(e); err != nil {
		return problem{"the servers do not start: " + err.Error(), true}
	}
	w := e.s.load
	if w.timeout == 0 {
		w.timeout = e.o.timeout
	}
	e.crowd = startCrowd(&w, e.h, e.set.routes(), e.o.seed)
	disturbed := e.s.disturb(e)
	e.crowd.end()
	p := e.end()
	if disturbed != nil && (p.text == "" || p.timely) {
		return problem{disturbed.Error(), true}
	}
	return p
}

func (e *environment) end() problem {
	if err := e.set.settle(); err != nil {
		return problem{"the servers do not recover: " + err.Error(), true}
	}
	together := 1
	if len(e.set.nodes()) <= 2 && e.s.load.pipeline {
		together = 50
	}
	if unread := e.crowd.readEverything(together); unread != "" {
		return problem{"not all groups can be read in the end: " + unread, true}
	}
	if wrong := e.judge(); wrong != "" {
		return problem{text: wrong}
	}
	if done := e.crowd.tallies.done.Load(); done < 100 {
		return problem{fmt.Sprintf("only %d operations were done", done), true}
	}
	return e.set.compare()
}

func (e *environment) judge() string {
	if e.s.promise == isLinearizable {
		bad, groups, undecided := linearizable(e.h, e.s.vanishes)
		e.stories = append(e.stories, fmt.Sprintf("%d groups are linearizable", groups-len(bad)-undecided))
		e.vanished = bad
		if undecided > 0 {
			e.stories = append(e.stories, fmt.Sprintf("%d undecided", undecided))
			if len(bad) == 0 {
				return fmt.Sprintf("%d of %d groups could not be decided within %s each", undecided, groups, undecidedAfter)
			}
		}
		if len(bad) == 0 {
			return ""
		}
		return fmt.Sprintf("%d of %d groups are not linearizable; the first is %s:\n%s", len(bad), groups, bad[0].group, table(bad[0].ops))
	}
	return e.judgeLosses(findLosses(e.h))
}

func (e *environment) judgeLosses(l *losses) string {
	e.stories = append(e.stories, fmt.Sprintf("%d additions in %d groups", l.added, l.groups))
	all := append(append([]*op{}, l.lost...), l.seen...)
	late, oldest := []*op{}, time.Duration(0)
	for _, o := range all {
		age := e.ageAtKill(o)
		oldest = max(oldest, age)
		if age > lossBound {
			late = append(late, o)
		}
	}
	text := fmt.Sprintf("%d acknowledged additions are lost, %d more had been read", len(l.lost), len(l.seen))
	if oldest > 0 {
		text += fmt.Sprintf(", the oldest %s before a kill", oldest.Round(time.Millisecond))
	}
	e.stories = append(e.stories, text)
	switch {
	case len(l.wrong) > 0:
		return fmt.Sprintf("%d things that nothing allows:\n  %s", len(l.wrong), strings.Join(l.wrong[:min(len(l.wrong), 8)], "\n  "))
	case e.s.promise == nothingLost && len(all) > 0:
		return text + ":\n" + table(all[:min(len(all), 12)])
	case e.s.promise == boundedLoss && len(late) > 0:
		return fmt.Sprintf("%d acknowledged additions are lost that are older than %s:\n%s", len(late), lossBound, table(late[:min(len(late), 12)]))
	}
	return ""
}

// ageAtKill is how long before the next kill the operation had ended.
func (e *environment) ageAtKill(o *op) time.Duration {
	for _, k := range e.kills {
		if k >= o.Return {
			return time.Duration(k - o.Return)
		}
	}
	return 0
}

func (e *environment) summary() string {
	t := &e.crowd.tallies
	return strings.Join(append([]string{fmt.Sprintf("%d operations, %d unknown, %d refused", t.done.Load(), t.unknown.Load(), t.refused.Load())}, e.stories...), ", ")
}

func (e *environment) close() {
	if e.set != nil {
		for _, n := range e.set.nodes() {
			n.kill()
		}
		e.set.close()
	}
}

// preserve keeps what is needed to understand a failure, and returns lines that name it.
func (e *environment) preserve(wrong string) string {
	folder := filepath.Join(e.o.keep, fmt.Sprintf("%s-seed-%d-%s", e.s.name, e.o.seed, time.Now().Format("150405")))
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return "    nothing is kept: " + err.Error() + "\n"
	}
	if err := os.CopyFS(folder, os.DirFS(e.folder)); err != nil {
		os.MkdirAll(folder, 0o755)
	}
	report := wrong + "\n\nWhat was done to the servers:\n" + strings.Join(e.h.events, "\n") + "\n"
	for i, f := range e.vanished {
		if i < 3 {
			report += fmt.Sprintf("\n%s\n%s  picture: %s\n", f.group, table(f.ops), visualize(f, e.s.vanishes, folder))
		}
	}
	os.WriteFile(filepath.Join(folder, "report.txt"), []byte(report), 0o644)
	if f, err := os.Create(filepath.Join(folder, "history.jsonl")); err == nil {
		lines := json.NewEncoder(f)
		for _, o := range e.h.ops {
			lines.Encode(o)
		}
		f.Close()
	}
	return "    kept in " + folder + "\n"
}
