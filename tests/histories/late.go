package main

// late.go - whether the machine was late while a scenario ran.
//
// What a scenario expects of servers within some time (another primary takes over, all agree, replicas catch up) says nothing about them
// when other work kept their processes from running: Sentinels stop deciding for 30 s (TILT) when they were late, and nodes that are late
// are taken for dead. So when such an expectation is not met, and the machine was late, the scenario could not be established: it is
// neither passed nor failed, and is tried again. What must hold whatever the machine does (nothing acknowledged is lost, the history is
// linearizable, no server complains) is a failure all the same.

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	lateTick  = 20 * time.Millisecond
	lateAfter = 250 * time.Millisecond // a quarter of the time after which Sentinels and nodes suspect each other
)

// punctuality measures how late this process is woken, which has the priority of the servers.
type punctuality struct {
	mu    sync.Mutex
	worst time.Duration
	times int // that it was later than lateAfter
}

func watchPunctuality() *punctuality {
	p := &punctuality{}
	go func() {
		for {
			began := time.Now()
			time.Sleep(lateTick)
			p.note(time.Since(began) - lateTick)
		}
	}()
	return p
}

func (p *punctuality) note(late time.Duration) {
	p.mu.Lock()
	p.worst = max(p.worst, late)
	if late > lateAfter {
		p.times++
	}
	p.mu.Unlock()
}

func (p *punctuality) reset() {
	p.mu.Lock()
	p.worst, p.times = 0, 0
	p.mu.Unlock()
}

// lateness says how the machine was late since the last reset; "" if it was not. tilts: how often Sentinels have noticed it.
func (p *punctuality) lateness(tilts int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times == 0 && tilts == 0 {
		return ""
	}
	return fmt.Sprintf("%d times by more than %s, at most by %s; Sentinels entered TILT %d times", p.times, lateAfter, p.worst.Round(time.Millisecond), tilts)
}

func countTilts(nodes []*node) int {
	count := 0
	for _, n := range nodes {
		log, _ := os.ReadFile(n.logPath())
		count += strings.Count(string(log), "+tilt")
	}
	return count
}

// outcome is how a scenario has ended.
type outcome int

const (
	isPassed outcome = iota
	isFailed
	isLate // it could not be established
)

// problem is what is wrong; timely: it is only about what servers did not do in time, so a machine that was late excuses it.
type problem struct {
	text   string
	timely bool
}

func (p problem) outcome(lateness string) outcome {
	switch {
	case p.text == "":
		return isPassed
	case p.timely && lateness != "":
		return isLate
	}
	return isFailed
}
