package main

// network.go - partitions by network namespaces. Each place of a field has a namespace with an address, all on one bridge, on which the
// test has an address, too. A place is cut off by blackhole routes: in the others towards it, in it towards the others, or only one of
// these, which is a partition in one direction. Clients, on the bridge itself, still reach every place.
//
// Without root or `ip netns`, scenarios that need it are skipped, and all others run on 127.0.0.1.

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

type field struct {
	bridge string
	subnet string // the first three bytes of the addresses, or "" without namespaces
	spaces []string
}

const spacePrefix = "histories-"

var fieldCount int // the kernel removes interfaces some time after their namespace, so each field has names of its own

func ip(args ...string) error {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %s", strings.Join(args, " "), strings.TrimSpace(string(out)))
	}
	return nil
}

// spacesMissing is why there can be no namespaces, or "".
func spacesMissing() string {
	if os.Getuid() != 0 {
		return "partitions need root, for network namespaces"
	}
	probe := fmt.Sprintf("%s%d-probe", spacePrefix, os.Getpid())
	if err := ip("netns", "add", probe); err != nil {
		return err.Error()
	}
	defer ip("netns", "del", probe)
	bridge := bridgeName(os.Getpid())
	if err := ip("link", "add", bridge, "type", "bridge"); err != nil {
		return err.Error()
	}
	ip("link", "del", bridge)
	return ""
}

func bridgeName(pid int) string { return fmt.Sprintf("hist%d", pid) }

// newField makes so many places; on 127.0.0.1 unless the scenario needs namespaces.
func (e *environment) newField(places int) (*field, error) {
	f := &field{}
	if !e.s.spaces {
		return f, nil
	}
	pid := os.Getpid()
	f.bridge, f.subnet = bridgeName(pid), fmt.Sprintf("10.213.%d", pid%250)
	if err := ip("link", "add", f.bridge, "type", "bridge"); err != nil {
		return f, err
	}
	for _, args := range [][]string{{"addr", "add", f.subnet + ".254/24", "dev", f.bridge}, {"link", "set", f.bridge, "up"}} {
		if err := ip(args...); err != nil {
			return f, err
		}
	}
	fieldCount++
	for i := 0; i < places; i++ {
		space, outer := fmt.Sprintf("%s%d-%d-%d", spacePrefix, pid, fieldCount, i), fmt.Sprintf("h%d-%d-%d", pid, fieldCount, i)
		f.spaces = append(f.spaces, space)
		for _, args := range [][]string{
			{"netns", "add", space}, {"link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", space},
			{"link", "set", outer, "master", f.bridge, "up"}, {"-n", space, "link", "set", "lo", "up"},
			{"-n", space, "addr", "add", fmt.Sprintf("%s.%d/24", f.subnet, i+1), "dev", "eth0"}, {"-n", space, "link", "set", "eth0", "up"},
		} {
			if err := ip(args...); err != nil {
				return f, err
			}
		}
	}
	return f, nil
}

// place returns the address and the namespace of a place.
func (f *field) place(i int) (host, space string) {
	if f.subnet == "" {
		return "127.0.0.1", ""
	}
	return fmt.Sprintf("%s.%d", f.subnet, i+1), f.spaces[i]
}

func (f *field) close() {
	if f == nil {
		return
	}
	for _, space := range f.spaces {
		ip("netns", "del", space)
	}
	if f.bridge != "" {
		ip("link", "del", f.bridge)
	}
	f.spaces, f.bridge = nil, ""
}

func fieldOf(e *environment) *field {
	switch s := e.set.(type) {
	case *clusterSet:
		return s.field
	case *sentinelSetOf:
		return s.field
	}
	return &field{}
}

// cut loses what the place of a node sends to other places, or what it is sent by them, or both.
func (e *environment) cut(n *node, outgoing, incoming bool) error {
	f := fieldOf(e)
	for i, space := range f.spaces {
		host, _ := f.place(i)
		if space == n.space {
			continue
		}
		if outgoing {
			if err := ip("-n", n.space, "route", "add", "blackhole", host+"/32"); err != nil {
				return err
			}
		}
		if incoming {
			if err := ip("-n", space, "route", "add", "blackhole", n.host+"/32"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *environment) heal() error {
	f := fieldOf(e)
	for _, space := range f.spaces {
		if err := ip("-n", space, "route", "flush", "type", "blackhole"); err != nil {
			return err
		}
	}
	return nil
}

// ---- What is left of a run that was killed ----

func spacesOf(wanted func(pid int) bool) {
	entries, _ := os.ReadDir("/run/netns")
	for _, entry := range entries {
		rest, is := strings.CutPrefix(entry.Name(), spacePrefix)
		if !is {
			continue
		}
		number, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(number)
		if err == nil && wanted(pid) {
			ip("netns", "del", entry.Name())
			ip("link", "del", bridgeName(pid))
		}
	}
}

func removeStaleSpaces() {
	spacesOf(func(pid int) bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
		return err != nil
	})
}

func removeOwnSpaces() { spacesOf(func(pid int) bool { return pid == os.Getpid() }) }
