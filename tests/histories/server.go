package main

// server.go - servers as processes: start, kill -9, hang, stop, and what their logs complain about.
//
// No server outlives the test: each is killed by the kernel when the thread that has started it ends (PR_SET_PDEATHSIG), and that
// thread lives as long as the process.

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

type request struct {
	cmd  *exec.Cmd
	done chan error
}

var starter = make(chan request)

func init() {
	go func() {
		runtime.LockOSThread()
		for r := range starter {
			r.done <- r.cmd.Start()
		}
	}()
}

func startProcess(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	r := request{cmd, make(chan error)}
	starter <- r
	return <-r.done
}

const startLimit = 60 * time.Second

var complaints = regexp.MustCompile(`BUG REPORT START|ASSERTION FAILED|ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:`)

type node struct {
	name      string
	kind      string // ours, valkey: which program it is
	program   string
	host      string
	port      int
	folder    string
	space     string // a network namespace, or ""
	args      []string
	env       []string
	mayEnd    bool // by itself: a failing disk ends a server with appendfsync always
	cmd       *exec.Cmd
	ended     chan struct{}
	hanging   bool
	wantedEnd bool
}

func (n *node) address() string { return net.JoinHostPort(n.host, fmt.Sprint(n.port)) }
func (n *node) logPath() string { return filepath.Join(n.folder, "log") }

func (n *node) start() error {
	if err := os.MkdirAll(n.folder, 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile(n.logPath(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	all := append([]string{n.program}, n.args...)
	if n.space != "" {
		all = append([]string{"ip", "netns", "exec", n.space}, all...)
	}
	n.cmd = exec.Command(all[0], all[1:]...)
	n.cmd.Dir, n.cmd.Stdout, n.cmd.Stderr, n.cmd.Env = n.folder, log, log, append(os.Environ(), n.env...)
	n.hanging, n.wantedEnd = false, false
	if err := startProcess(n.cmd); err != nil {
		return err
	}
	n.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		cmd.Wait()
		close(ended)
	}(n.cmd, n.ended)
	return nil
}

func (n *node) alive() bool {
	select {
	case <-n.ended:
		return false
	default:
		return n.cmd != nil
	}
}

func (n *node) waitUp() error {
	deadline := time.Now().Add(startLimit)
	for time.Now().Before(deadline) {
		if c, err := dial(n.address(), 2, 0, 2*time.Second); err == nil {
			_, err = c.call("PING")
			c.close()
			if err == nil {
				return nil
			}
		}
		if !n.alive() {
			return fmt.Errorf("%s does not start:\n%s", n.name, n.logTail(15))
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("%s does not answer within %s:\n%s", n.name, startLimit, n.logTail(15))
}

func (n *node) up() error {
	if err := n.start(); err != nil {
		return err
	}
	return n.waitUp()
}

func (n *node) kill() {
	if n.alive() {
		n.wantedEnd = true
		n.cmd.Process.Signal(syscall.SIGKILL)
		<-n.ended
	}
}

func (n *node) hang() {
	n.hanging = true
	n.cmd.Process.Signal(syscall.SIGSTOP)
}

func (n *node) resume() {
	n.hanging = false
	n.cmd.Process.Signal(syscall.SIGCONT)
}

// stop ends it as an operator does, and returns what is wrong with its end.
func (n *node) stop() string {
	if n.cmd == nil {
		return ""
	}
	if !n.alive() {
		if n.wantedEnd || n.mayEnd {
			return n.complaint()
		}
		why := n.complaint()
		if why == "" {
			why = n.logTail(25)
		}
		return fmt.Sprintf("%s has ended by itself: %s\n%s", n.name, n.cmd.ProcessState, why)
	}
	if n.hanging {
		n.resume()
	}
	n.wantedEnd = true
	n.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.ended:
	case <-time.After(30 * time.Second):
		n.kill()
		return n.name + " does not stop\n" + n.logTail(15)
	}
	return n.complaint()
}

func (n *node) complaint() string {
	f, err := os.Open(n.logPath())
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		if complaints.MatchString(lines.Text()) {
			out := n.name + " says: " + lines.Text()
			for i := 0; i < 40 && lines.Scan(); i++ {
				out += "\n    " + lines.Text()
			}
			return out
		}
	}
	return ""
}

func (n *node) logTail(count int) string {
	bytes, _ := os.ReadFile(n.logPath())
	lines := strings.Split(strings.TrimRight(string(bytes), "\n"), "\n")
	return "    " + strings.Join(lines[max(0, len(lines)-count):], "\n    ")
}

// ask sends one command on a connection of its own.
func (n *node) ask(ws ...any) (any, error) {
	c, err := dial(n.address(), 2, 0, 20*time.Second)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.call(ws...)
}

// info returns a field of INFO, or "".
func (n *node) info(section, field string) string {
	r, err := n.ask("INFO", section)
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(text(r), "\r\n") {
		if value, is := strings.CutPrefix(line, field+":"); is {
			return value
		}
	}
	return ""
}

// waitFor waits until the condition holds.
func waitFor(what string, limit time.Duration, holds func() bool) error {
	deadline := time.Now().Add(limit)
	for !holds() {
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %s: %s", limit, what)
		}
		time.Sleep(25 * time.Millisecond)
	}
	return nil
}

// ---- Ports: below those that connections are given ----

var nextPort = 21000 + os.Getpid()*17%8000

func freePort() int {
	for {
		nextPort++
		if nextPort > 31000 {
			nextPort = 21000
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", nextPort))
		if err != nil {
			continue
		}
		l.Close()
		return nextPort
	}
}

// knowsDirective is whether the program starts with it.
func knowsDirective(program, name string) bool {
	n := &node{name: "probe", program: program, host: "127.0.0.1", port: freePort()}
	n.folder, _ = os.MkdirTemp("", "histories-")
	defer os.RemoveAll(n.folder)
	n.args = []string{"--port", fmt.Sprint(n.port), "--save", ""}
	if n.up() != nil {
		return false
	}
	defer n.kill()
	r, err := n.ask("CONFIG", "GET", name)
	items, _ := r.([]any)
	return err == nil && len(items) == 2
}
