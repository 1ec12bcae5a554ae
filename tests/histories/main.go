// histories - records what clients do to servers that are disturbed, and checks that it can be explained.
//
//	tests/histories/run [--scenarios parallel,kill,...] [--short] [--seconds S] [--rounds N] [--seed N] [--server PATH] [--kinds ours,valkey,...]
//	                    [--keep DIR] [--list] [--tries N]
//
// A scenario is a line of the table in scenarios.go: servers, directives, clients, what disturbs them, and what is promised. All
// operations of clients are recorded with their times and replies (history.go). Then either the history must be linearizable
// (check.go), or, where servers promise less, nothing that was acknowledged may be lost (lost.go), as the scenario says. The last
// line is `N passed, M failed, K skipped`. --seed repeats what clients and disturbances draw; the order of events differs from
// run to run. What a failure has left (report, picture, history, logs, files) is in the folder that the report names.
package main

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

type options struct {
	server, top, keep string
	valkey            string // the oracle's program, or ""
	kinds             []string
	seconds           float64
	rounds            int
	seed              int64
	tries             int
	timeout           time.Duration
}

func main() {
	var o options
	var names, kinds string
	var short, list bool
	var timeout float64
	flag.StringVar(&names, "scenarios", "", "names or beginnings of names, with commas between them (all)")
	flag.BoolVar(&short, "short", false, "the sample of `make test`")
	flag.BoolVar(&list, "list", false, "list the scenarios")
	flag.Float64Var(&o.seconds, "seconds", 8, "how long clients work beside an operator")
	flag.IntVar(&o.rounds, "rounds", 4, "how often servers are disturbed in a scenario")
	flag.IntVar(&o.tries, "tries", 3, "how often a scenario begins for which the machine is too late")
	flag.Int64Var(&o.seed, "seed", time.Now().UnixNano()%1e6, "of the random choices")
	flag.StringVar(&o.server, "server", "", "the program to test (src/valkey-server)")
	flag.StringVar(&kinds, "kinds", "ours", "of the servers by turns: ours, valkey")
	flag.StringVar(&o.keep, "keep", "", "the folder for what failures leave (build/histories)")
	flag.StringVar(&o.top, "top", "../..", "the source tree")
	flag.Float64Var(&timeout, "timeout", 60, "seconds that a client waits for a reply where nothing hangs")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "histories: unknown argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	o.timeout = time.Duration(timeout * float64(time.Second))
	o.kinds = strings.Split(kinds, ",")
	o.prepare()
	chosen, err := choose(names, short)
	if err != nil {
		fmt.Fprintln(os.Stderr, "histories:", err)
		os.Exit(2)
	}
	if list {
		for _, s := range chosen {
			fmt.Printf("%-28s %s\n", s.name, s.about)
		}
		return
	}
	os.Exit(runAll(&o, chosen))
}

func (o *options) prepare() {
	o.top, _ = filepath.Abs(o.top)
	if o.server == "" {
		o.server = filepath.Join(o.top, "src", "valkey-server")
	}
	o.server, _ = filepath.Abs(o.server)
	if o.keep == "" {
		o.keep = filepath.Join(o.top, "build", "histories", "kept")
	}
	o.keep, _ = filepath.Abs(o.keep)
	if found, err := exec.Command(filepath.Join(o.top, "utils", "oracle"), "--find").Output(); err == nil {
		o.valkey = strings.TrimSpace(string(found))
	}
}

// program returns the path of a kind's program, or why there is none.
func (o *options) program(kind string) (path, missing string) {
	switch kind {
	case "ours":
		if _, err := os.Stat(o.server); err != nil {
			return "", "there is no " + o.server + ": build it first"
		}
		return o.server, ""
	case "valkey":
		if o.valkey == "" {
			return "", "no Valkey: utils/oracle fetches it"
		}
		return o.valkey, ""
	}
	return "", "there is no kind of server called " + kind
}

func choose(names string, short bool) ([]*scenario, error) {
	var out []*scenario
	wanted := strings.Split(names, ",")
	matched := map[string]bool{}
	for i := range scenarios {
		s := &scenarios[i]
		take := names == "" && (s.short || !short)
		for _, w := range wanted {
			if w != "" && (s.name == w || strings.HasPrefix(s.name, w+"-")) {
				take = true
				matched[w] = true
			}
		}
		if take {
			out = append(out, s)
		}
	}
	for _, w := range wanted {
		if w != "" && !matched[w] {
			return nil, fmt.Errorf("there is no scenario %q; --list names them", w)
		}
	}
	return out, nil
}

func runAll(o *options, chosen []*scenario) int {
	removeStaleSpaces()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		removeOwnSpaces()
		os.Exit(130)
	}()
	passed, failed, skips := 0, 0, []string{}
	if cases, wrong := selfTest(); len(wrong) > 0 {
		fmt.Printf("FAILED the checker itself:\n%s\n", strings.Join(wrong, "\n"))
		failed++
	} else {
		fmt.Printf("ok     the checker itself: %d histories written by hand\n", cases)
		passed++
	}
	clock := watchPunctuality()
	for _, s := range chosen {
		how, skip := isLate, ""
		for try := 1; how == isLate && skip == ""; try++ {
			how, skip = runOne(o, s, clock, try == o.tries)
		}
		switch {
		case skip != "":
			skips = append(skips, fmt.Sprintf("skipped: tests/histories: %s: %s", s.name, skip))
		case how == isPassed:
			passed++
		default:
			failed++
		}
	}
	for _, line := range skips {
		fmt.Println(line)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", passed, failed, len(skips))
	if failed > 0 {
		return 1
	}
	return 0
}

// runOne returns why the scenario could not run, if it could not. last: it is not tried again.
func runOne(o *options, s *scenario, clock *punctuality, last bool) (how outcome, skip string) {
	e, skip := newEnvironment(o, s)
	if skip != "" {
		return isLate, skip
	}
	defer os.RemoveAll(e.folder)
	clock.reset()
	began := time.Now()
	p := e.run()
	tilts := 0
	if e.set != nil {
		tilts = countTilts(e.set.nodes())
	}
	lateness := clock.lateness(tilts)
	e.close()
	how = p.outcome(lateness)
	switch how {
	case isPassed:
		fmt.Printf("ok     %s, seed %d: %s; %.0f s\n", s.name, o.seed, e.summary(), time.Since(began).Seconds())
	case isFailed:
		fmt.Printf("FAILED %s, seed %d: %s\n%s", s.name, o.seed, p.text, e.preserve(p.text))
	case isLate:
		first, _, _ := strings.Cut(p.text, "\n")
		why := fmt.Sprintf("the machine was too late (%s): %s", lateness, first)
		if last {
			return how, why
		}
		fmt.Printf("again  %s, seed %d: %s\n", s.name, o.seed, why)
	}
	return how, ""
}

func newRandom(seed int64, name string) *rand.Rand {
	for _, b := range []byte(name) {
		seed = seed*31 + int64(b)
	}
	return rand.New(rand.NewSource(seed))
}
