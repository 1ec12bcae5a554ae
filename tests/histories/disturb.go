package main

// disturb.go - what happens to servers while clients work. Each function returns when the scenario has lasted long enough; its error is
// a failure of the scenario, since clients do not care for its end.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func (e *environment) sleep(from, to float64) {
	time.Sleep(time.Duration((from + e.r.Float64()*(to-from)) * float64(time.Second)))
}

// ---- An operator of one server ----

type operator struct {
	e    *environment
	n    *node
	link *conn
}

// do sends a command; errors in replies do not matter (Valkey has not all of these).
func (p *operator) do(ws ...any) any {
	if p.link == nil {
		link, err := dial(p.n.address(), 2, 0, p.e.o.timeout)
		if err != nil {
			return nil
		}
		p.link = link
	}
	replies, err := p.link.exchange([][]string{words(ws...)})
	if err != nil {
		p.link.close()
		p.link = nil
		return nil
	}
	return replies[0]
}

// recorded is an operation on the whole dataset, which the histories of all groups contain.
func (p *operator) recorded(kind string, ws ...any) {
	o := &op{Client: 999, Kind: kind, Call: p.e.h.now()}
	o.Out = text(p.do(ws...))
	o.Return = p.e.h.now()
	if o.Out == "-" {
		o.Unknown, o.Return = true, never
	}
	p.e.h.add([]*op{o})
	p.e.h.note("%v", ws)
}

const fillers = 3000

// fill makes the table of keys grow, and empty makes it shrink.
func (p *operator) fill(size int) {
	p.do("EVAL", "for i = 1, ARGV[1] do redis.call('set', 'filler:' .. i, string.rep('x', ARGV[2])) end", 0, fillers, size)
}

func (p *operator) empty() {
	p.do("EVAL", "for i = 1, ARGV[1] do redis.call('unlink', 'filler:' .. i) end", 0, fillers)
}

func (e *environment) until(step func()) {
	for end := time.Now().Add(time.Duration(e.o.seconds * float64(time.Second))); time.Now().Before(end); {
		step()
		e.sleep(0, 0.04)
	}
}

func operate(e *environment) error {
	p := &operator{e: e, n: e.set.nodes()[0]}
	replica := &operator{e: e, n: e.set.nodes()[1]}
	for _, d := range []string{"active-defrag-ignore-bytes 1", "active-defrag-threshold-lower 0"} {
		name, value, _ := strings.Cut(d, " ")
		p.do("CONFIG", "SET", name, value)
	}
	actions := []func(){
		func() { p.recorded("flushall", "FLUSHALL", []string{"SYNC", "ASYNC"}[e.r.Intn(2)]) },
		func() { p.recorded("flushdb", "FLUSHDB") },
		func() { p.recorded("swapdb", "SWAPDB", 0, 1) },
		func() { p.recorded("swapdb", "SWAPDB", 0, 1) },
		func() { p.do("DEBUG", "RELOAD") },
		func() { p.do("BGSAVE") },
		func() {
			p.do("CONFIG", "SET", "bgsave-default-method", []string{"fork", "forkless"}[e.r.Intn(2)])
		},
		func() { p.do("CONFIG", "SET", "activedefrag", []string{"yes", "no"}[e.r.Intn(2)]) },
		func() { p.do("CONFIG", "SET", "zset-index", []string{"skiplist", "btree"}[e.r.Intn(2)]) },
		func() { p.do("CONFIG", "SET", "io-threads", 2+e.r.Intn(3)) },
		func() { p.do("CLIENT", "PAUSE", 1+e.r.Intn(10), []string{"ALL", "WRITE"}[e.r.Intn(2)]) },
		func() { p.fill(10) }, func() { p.empty() },
		func() { // a full synchronization: the replica has a history of its own
			replica.do("SET", "own", "history")
			replica.do("REPLICAOF", p.n.host, p.n.port)
			e.sleep(0.05, 0.4)
			replica.do("REPLICAOF", "NO", "ONE")
		},
	}
	e.until(func() { actions[e.r.Intn(len(actions))]() })
	return e.needThreads(p)
}

// needThreads fails when hardly any read ran in a thread, as the scenario would show nothing then.
func (e *environment) needThreads(p *operator) error {
	if p.n.kind != "ours" || !strings.Contains(e.s.ours, "parallel-reads") {
		return nil
	}
	count := number(p.n.info("stats", "parallel_reads_processed"))
	e.stories = append(e.stories, fmt.Sprintf("%d reads ran in threads", count))
	if count*20 < e.crowd.tallies.done.Load() {
		return fmt.Errorf("only %d reads ran in threads, of %d operations", count, e.crowd.tallies.done.Load())
	}
	return nil
}

func operateEviction(e *environment) error {
	p := &operator{e: e, n: e.set.nodes()[0]}
	policies := []string{"allkeys-lru", "allkeys-lfu", "allkeys-random"}
	p.do("CONFIG", "SET", "maxmemory-policy", policies[0])
	p.do("CONFIG", "SET", "maxmemory", number(p.n.info("memory", "used_memory"))+3<<20)
	e.until(func() {
		if e.r.Intn(4) == 0 {
			p.do("CONFIG", "SET", "maxmemory-policy", policies[e.r.Intn(3)])
		}
		p.fill(100 + e.r.Intn(900))
	})
	count := number(p.n.info("stats", "evicted_keys"))
	e.stories = append(e.stories, fmt.Sprintf("%d keys were evicted", count))
	if count < 1000 {
		return fmt.Errorf("only %d keys were evicted", count)
	}
	return e.needThreads(p)
}

func moveSlots(e *environment) error {
	nodes := e.set.nodes()
	ids := []string{}
	for _, n := range nodes {
		id, err := n.ask("CLUSTER", "MYID")
		if err != nil {
			return err
		}
		ids = append(ids, text(id))
	}
	moved, asked := 0, 0
	for end := time.Now().Add(time.Duration(e.o.seconds * float64(time.Second))); time.Now().Before(end); asked++ {
		giver := e.r.Intn(2)
		first := ownedSlot(nodes[giver], e.r.Intn)
		_, err := nodes[giver].ask("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", first.from, first.to, "NODE", ids[1-giver])
		e.h.note("slots %d to %d leave node %d: %v", first.from, first.to, giver, err)
		if err != nil {
			e.sleep(0.02, 0.1)
			continue
		}
		// While the migration runs, the slots belong to the giver.
		if waitFor("the slots move", 10*time.Second, func() bool { return ownsSlot(nodes[1-giver], first.from) }) == nil {
			moved++
		}
	}
	e.stories = append(e.stories, fmt.Sprintf("slots moved %d times", moved))
	if moved < 3 {
		return fmt.Errorf("slots moved only %d times of %d", moved, asked)
	}
	return e.needThreads(&operator{e: e, n: nodes[0]})
}

// ---- Kills and disks ----

func killAndRestart(e *environment) error {
	n := e.set.nodes()[0]
	for i := 0; i < e.o.rounds; i++ {
		e.sleep(0.2, 0.9)
		if e.r.Intn(3) == 0 {
			n.ask("BGREWRITEAOF")
			e.sleep(0, 0.1)
		}
		if err := e.killOne(n); err != nil {
			return err
		}
	}
	e.sleep(0.1, 0.3)
	return nil
}

func (e *environment) killOne(n *node) error {
	e.kills = append(e.kills, e.h.now())
	n.kill()
	e.h.note("%s was killed", n.name)
	e.sleep(0, 0.1)
	if err := n.up(); err != nil {
		return err
	}
	e.h.note("%s is up again", n.name)
	return nil
}

// plan makes calls of the server fail from now on; see tests/support/faults.c.
func (e *environment) plan(line string) {
	path := filepath.Join(e.folder, "plan")
	os.Remove(path + ".seen")
	os.WriteFile(path+".new", []byte(line+"\n"), 0o644)
	os.Rename(path+".new", path)
	e.h.note("faults: %q", line)
}

// planned is how many calls the plan was about so far.
func (e *environment) planned() int64 {
	st, err := os.Stat(filepath.Join(e.folder, "plan.seen"))
	if err != nil {
		return 0
	}
	return st.Size()
}

func buildFaults(e *environment) (library, why string) {
	library = filepath.Join(e.folder, "faults.so")
	source := filepath.Join(e.o.top, "tests", "support", "faults.c")
	if linked, _ := exec.Command("ldd", e.o.server).Output(); strings.Contains(string(linked), "asan") || strings.Contains(string(linked), "tsan") {
		return "", "sanitizers have to be loaded first"
	}
	for _, cc := range []string{"cc", "gcc", "clang"} {
		if exec.Command(cc, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl").Run() == nil {
			return library, ""
		}
	}
	return "", "no C compiler for tests/support/faults.c"
}

func slowFsyncAndKill(e *environment) error {
	n := e.set.nodes()[0]
	ms := 100
	if e.s.promise == boundedLoss {
		ms = 700
	}
	for i := 0; i < e.o.rounds; i++ {
		e.plan(fmt.Sprintf("fdatasync %d 0 1000000 aof", -ms))
		e.sleep(1, 2)
		if e.planned() == 0 {
			e.plan(fmt.Sprintf("fsync %d 0 1000000 aof", -ms))
			e.sleep(1, 2)
		}
		slow := e.planned()
		if err := e.killOne(n); err != nil {
			return err
		}
		if slow == 0 {
			return fmt.Errorf("no fsync was slow")
		}
	}
	e.plan("")
	e.sleep(0.2, 0.3)
	return nil
}

// failOnce lets one call fail and expects the server to end by itself.
func failOnce(e *environment, plans ...string) error {
	n := e.set.nodes()[0]
	n.mayEnd = true
	for i := 0; i < e.o.rounds; i++ {
		e.sleep(0.2, 0.6)
		for _, line := range plans {
			e.plan(line)
			if waitFor("the server ends", 2*time.Second, func() bool { return !n.alive() }) == nil {
				break
			}
		}
		if n.alive() {
			return fmt.Errorf("the server has not ended although a call of it has failed (%d)", e.planned())
		}
		e.h.note("%s has ended", n.name)
		e.plan("")
		if err := n.up(); err != nil {
			return err
		}
	}
	e.sleep(0.2, 0.3)
	return nil
}

func failFsync(e *environment) error {
	return failOnce(e, "fdatasync 5 3 1000000 aof", "fsync 5 3 1000000 aof")
}

func fillDisk(e *environment) error { return failOnce(e, "write 28 5 1000000 .aof") }

func fillDiskForAWhile(e *environment) error {
	n := e.set.nodes()[0]
	for i := 0; i < e.o.rounds; i++ {
		e.sleep(0.2, 0.5)
		before := e.crowd.tallies.refused.Load()
		e.plan("write 28 5 1000000 .aof")
		if err := waitFor("writes are refused", 5*time.Second, func() bool { return e.crowd.tallies.refused.Load() > before }); err != nil {
			return err
		}
		e.sleep(0.1, 0.4)
		e.plan("")
		if err := waitFor("the disk is used again", 10*time.Second, func() bool { return strings.HasPrefix(n.info("persistence", "aof_last_write_status"), "ok") }); err != nil {
			return err
		}
		e.sleep(0.1, 0.4)
		if err := e.killOne(n); err != nil {
			return err
		}
	}
	return nil
}

// ---- Primaries that are replaced ----

// eachPrimary disturbs a primary, waits until another has taken its place, and brings it back, as often as rounds say.
func (e *environment) eachPrimary(what string, begin, end func(n *node) error) error {
	for i := 0; i < e.o.rounds; i++ {
		e.sleep(0.5, 1.2)
		n, err := e.set.primary(e.r.Intn)
		if err != nil {
			return err
		}
		e.kills = append(e.kills, e.h.now())
		e.h.note("%s: %s", n.name, what)
		if err = begin(n); err != nil {
			return err
		}
		err = waitFor("another primary replaces "+n.name, 30*time.Second, func() bool { return e.set.replaced(n) })
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, e.set.beliefs())
			end(n)
			return err
		}
		e.h.note("%s is replaced", n.name)
		e.sleep(0.3, 0.8)
		if err = end(n); err != nil {
			return err
		}
		e.h.note("%s is back", n.name)
		if err = e.set.settle(); err != nil {
			return err
		}
	}
	return nil
}

func killPrimary(e *environment) error {
	return e.eachPrimary("killed", func(n *node) error { n.kill(); return nil }, func(n *node) error { return n.up() })
}

func hangPrimary(e *environment) error {
	return e.eachPrimary("hangs", func(n *node) error { n.hang(); return nil }, func(n *node) error { n.resume(); return nil })
}

func partPrimary(e *environment) error {
	return e.eachPrimary("cut off", func(n *node) error { return e.cut(n, true, true) }, func(n *node) error { return e.heal() })
}

// partOneWay loses what the primary sends to the others.
func partOneWay(e *environment) error {
	return e.eachPrimary("cannot send to the others", func(n *node) error { return e.cut(n, true, false) }, func(n *node) error { return e.heal() })
}

func failOverByHand(e *environment) error {
	return e.eachPrimary("replaced by hand", func(n *node) error { return e.set.failOver(n) }, func(n *node) error { return nil })
}
