package main

// models.go - what one object does, as a sequential program: for each operation the next state and the reply.
//
// A state is a string, so that states are compared and hashed as they are. "" is the object that does not exist. A model has four parts:
//
//     draw   chooses an operation; with `adds`, only such as add something that nobody ever removes, and reads
//     words  the commands of the operation; several variants of the same meaning are chosen by op.Way
//     read   the replies, in the form that apply uses ("-" is nil). What no model can explain (half of the elements that one
//            command has written, a string that was damaged) is returned as "torn ...".
//     apply  the next state, and the reply in this state
//
// Values are unique: client and number, "7.123". An element of a group of size 40 is written as 40 elements "7.123:00" ...
// "7.123:39" by one command, so that a reader who sees some of them has seen a half of a command, and so that encodings change.

import (
	"fmt"
	"math/rand"
	"sort"
	"strconv"
	"strings"
)

type model struct {
	name  string
	draw  func(d *drawer, g *group) *op
	words func(g *group, o *op) [][]string
	read  func(g *group, o *op, replies []any) string
	apply func(state string, o *op) (next, out string)
}

// drawer chooses operations for one client.
type drawer struct {
	r      *rand.Rand
	adds   bool // only additions and reads
	expire bool // registers may get a time to live
	client int
	serial int
}

func (d *drawer) unique() string {
	d.serial++
	return fmt.Sprintf("%d.%d", d.client, d.serial)
}

func (d *drawer) one(kinds ...string) *op {
	return &op{Kind: kinds[d.r.Intn(len(kinds))], Way: d.r.Intn(12)}
}

var models = []*model{&registerModel, &counterModel, &setModel, &listModel, &hashModel, &zsetModel, &pairModel, &ledgerModel}

func modelOf(group string) *model {
	for _, m := range models {
		if strings.HasPrefix(group, "{"+m.name+":") {
			return m
		}
	}
	return nil
}

// ---- Replies ----

func text(r any) string {
	switch v := r.(type) {
	case nil:
		return "-"
	case replyError:
		return "!" + string(v)
	case []any:
		return strings.Join(flat(v), ",")
	}
	return fmt.Sprint(r)
}

// flat returns the items of an array, also of arrays in it.
func flat(r any) []string {
	items, is := r.([]any)
	if !is {
		return []string{text(r)}
	}
	var out []string
	for _, item := range items {
		out = append(out, flat(item)...)
	}
	return out
}

func last(replies []any) any { return replies[len(replies)-1] }

// isFailure is whether a reply is an error, which the models' readers do not take apart.
func isFailure(r any) bool { _, is := r.(replyError); return is }

// perElement divides a count of elements of the server by the size of the group.
func perElement(g *group, r any) string {
	n, is := r.(int64)
	if !is {
		return text(r)
	}
	if n%int64(g.size) != 0 {
		return fmt.Sprintf("torn: %d elements, not a multiple of %d", n, g.size)
	}
	return strconv.FormatInt(n/int64(g.size), 10)
}

// pieces returns the elements of the server that make up one of ours.
func pieces(g *group, element string) []string {
	out := make([]string, g.size)
	for i := range out {
		out[i] = fmt.Sprintf("%s:%02d", element, i)
	}
	return out
}

func whole(piece string) string {
	name, _, _ := strings.Cut(piece, ":")
	return name
}

// together makes one of ours of `size` pieces in a row; the pieces may be in any order if `any` is set.
func together(g *group, found []string, any bool) ([]string, string) {
	if any {
		sort.Strings(found)
	}
	var out []string
	for i := 0; i < len(found); i += g.size {
		end := min(i+g.size, len(found))
		for j := i; j < end; j++ {
			if whole(found[j]) != whole(found[i]) {
				end = j
				break
			}
		}
		if end-i != g.size {
			return nil, fmt.Sprintf("torn: %d of the %d elements of %s", end-i, g.size, whole(found[i]))
		}
		out = append(out, whole(found[i]))
	}
	return out, ""
}

// ---- States that are lists of words ----

func split(state string) []string {
	if state == "" {
		return nil
	}
	return strings.Split(state, ",")
}

func join(ws []string) string { return strings.Join(ws, ",") }

func without(ws []string, i int) []string {
	out := append([]string{}, ws[:i]...)
	return append(out, ws[i+1:]...)
}

func find(ws []string, w string) int {
	for i := range ws {
		if ws[i] == w {
			return i
		}
	}
	return -1
}

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// shown is a state as the reply of a read of all of it.
func shown(state string) string {
	if state == "" {
		return "-"
	}
	return state
}

func listed(ws []string) string { return shown(join(ws)) }

// ---- Registers: one string ----

// Some values are long, so that they are stored and sent in other ways. Their length depends on the value alone.
func padded(value string) string {
	sum := 0
	for _, b := range []byte(value) {
		sum = sum*31 + int(b)
	}
	return value + strings.Repeat("~", []int{0, 0, 0, 0, 30, 300, 20000, 70000}[(sum&0xffff)%8])
}

func unpadded(s string) string {
	value := strings.TrimRight(s, "~")
	if padded(value) != s {
		return fmt.Sprintf("torn: %d bytes of the value %.20s", len(s), value)
	}
	return value
}

var registerModel = model{
	name: "register",
	draw: func(d *drawer, g *group) *op {
		o := d.one("get", "get", "get", "get", "exists", "set", "set", "getset", "setnx", "getdel", "del")
		if d.expire && d.r.Intn(4) == 0 {
			o = d.one("setpx", "setpx", "pexpire")
			o.N = int64(1 + d.r.Intn(40))
		}
		switch o.Kind {
		case "set", "setpx", "getset", "setnx":
			o.Arg = d.unique()
		}
		return o
	},
	words: func(g *group, o *op) [][]string {
		k, v := g.key, padded(o.Arg)
		switch o.Kind {
		case "get":
			return [][][]string{{words("GET", k)}, {words("MGET", k)}, {words("GETRANGE", k, 0, -1)}}[o.Way%3:][0]
		case "set":
			return [][][]string{{words("SET", k, v)}, {words("MSET", k, v)}}[o.Way%2:][0]
		case "getset":
			return [][][]string{{words("GETSET", k, v)}, {words("SET", k, v, "GET")}}[o.Way%2:][0]
		case "setnx":
			return [][]string{words("SETNX", k, v)}
		case "setpx":
			return [][]string{words("SET", k, v, "PX", o.N)}
		case "pexpire":
			return [][]string{words("PEXPIRE", k, o.N)}
		case "del":
			return [][]string{words([]string{"DEL", "UNLINK"}[o.Way%2], k)}
		}
		return [][]string{words(strings.ToUpper(o.Kind), k)}
	},
	read: func(g *group, o *op, replies []any) string {
		r := last(replies)
		switch o.Kind {
		case "get", "getset", "getdel":
			if items, is := r.([]any); is {
				r = items[0]
			}
			if s, is := r.(string); is {
				if s == "" {
					return "-" // GETRANGE of nothing
				}
				return unpadded(s)
			}
		}
		return text(r)
	},
	// The state is the value, with the earliest and latest time of its end if it has one: expiry.go.
	apply: func(state string, o *op) (string, string) {
		value := shown(registerValue(state))
		switch o.Kind {
		case "get":
			return state, value
		case "exists":
			return state, bit(state != "")
		case "set":
			return o.Arg, "OK"
		case "getset":
			return o.Arg, value
		case "setnx":
			if state != "" {
				return state, "0"
			}
			return o.Arg, "1"
		case "setpx":
			return registerUntil(o.Arg, o), "OK"
		case "pexpire":
			if state == "" {
				return state, "0"
			}
			return registerUntil(registerValue(state), o), "1"
		case "getdel":
			return "", value
		case "del":
			return "", bit(state != "")
		}
		return state, "?"
	},
}

// ---- Counters ----

var counterModel = model{
	name: "counter",
	draw: func(d *drawer, g *group) *op {
		o := d.one("read", "incr", "incrby")
		if !d.adds && d.r.Intn(12) == 0 {
			o = d.one("del")
		}
		if o.Kind == "incrby" {
			o.N = int64(1 + d.r.Intn(1000))
		}
		return o
	},
	words: func(g *group, o *op) [][]string {
		switch o.Kind {
		case "read":
			return [][]string{words("GET", g.key)}
		case "incr":
			return [][]string{words("INCR", g.key)}
		case "incrby":
			if o.Way%4 == 0 {
				return [][]string{words("EVAL", "return redis.call('incrby', KEYS[1], ARGV[1])", 1, g.key, o.N)}
			}
			return [][]string{words("INCRBY", g.key, o.N)}
		}
		return [][]string{words("DEL", g.key)}
	},
	read: func(g *group, o *op, replies []any) string { return text(last(replies)) },
	apply: func(state string, o *op) (string, string) {
		n, _ := strconv.ParseInt(state, 10, 64)
		switch o.Kind {
		case "incr":
			state = strconv.FormatInt(n+1, 10)
			return state, state
		case "incrby":
			state = strconv.FormatInt(n+o.N, 10)
			return state, state
		case "del":
			return "", bit(state != "")
		}
		return state, shown(state)
	},
}

// ---- Sets ----

var setModel = model{
	name: "set",
	draw: func(d *drawer, g *group) *op {
		o := d.one("all", "count", "has", "add", "add")
		if !d.adds && d.r.Intn(3) == 0 {
			o = d.one("add", "remove", "remove")
		}
		switch o.Kind {
		case "add":
			o.Arg = d.unique()
			if !d.adds && d.r.Intn(3) == 0 {
				o.Arg = g.element(d.r.Intn, o.Arg) // perhaps it is there
			}
			g.remember(o.Arg)
		case "remove", "has":
			o.Arg = g.element(d.r.Intn, "none")
		}
		return o
	},
	words: func(g *group, o *op) [][]string {
		switch o.Kind {
		case "all":
			return [][]string{words("SMEMBERS", g.key)}
		case "count":
			return [][]string{words("SCARD", g.key)}
		case "has":
			return [][]string{words("SISMEMBER", g.key, o.Arg+":00")}
		case "add":
			return [][]string{append(words("SADD", g.key), pieces(g, o.Arg)...)}
		}
		return [][]string{append(words("SREM", g.key), pieces(g, o.Arg)...)}
	},
	read: func(g *group, o *op, replies []any) string {
		r := last(replies)
		if isFailure(r) || o.Kind == "has" {
			return text(r)
		}
		if o.Kind != "all" {
			return perElement(g, r)
		}
		found, torn := together(g, flat(r), true)
		if torn != "" {
			return torn
		}
		sort.Strings(found)
		return listed(found)
	},
	apply: func(state string, o *op) (string, string) {
		members := split(state)
		at := find(members, o.Arg)
		switch o.Kind {
		case "all":
			return state, shown(state)
		case "count":
			return state, strconv.Itoa(len(members))
		case "has":
			return state, bit(at >= 0)
		case "add":
			if at >= 0 {
				return state, "0"
			}
			members = append(append([]string{}, members...), o.Arg)
			sort.Strings(members)
			return join(members), "1"
		}
		if at < 0 {
			return state, "0"
		}
		return join(without(members, at)), "1"
	},
}

// ---- Lists ----

var listModel = model{
	name: "list",
	draw: func(d *drawer, g *group) *op {
		o := d.one("all", "all", "count", "first", "push", "push")
		if !d.adds && d.r.Intn(3) == 0 {
			o = d.one("front", "pop", "end")
		}
		if o.Kind == "push" || o.Kind == "front" {
			o.Arg = d.unique()
		}
		return o
	},
	words: func(g *group, o *op) [][]string {
		switch o.Kind {
		case "all":
			return [][]string{words("LRANGE", g.key, 0, -1)}
		case "count":
			return [][]string{words("LLEN", g.key)}
		case "first":
			return [][]string{words("LINDEX", g.key, 0)}
		case "push":
			return [][]string{append(words("RPUSH", g.key), pieces(g, o.Arg)...)}
		case "front":
			ps := pieces(g, o.Arg)
			for i, j := 0, len(ps)-1; i < j; i, j = i+1, j-1 {
				ps[i], ps[j] = ps[j], ps[i]
			}
			return [][]string{append(words("LPUSH", g.key), ps...)}
		case "pop":
			return [][]string{words("LPOP", g.key, g.size)}
		}
		return [][]string{words("RPOP", g.key, g.size)}
	},
	read: func(g *group, o *op, replies []any) string {
		r := last(replies)
		if isFailure(r) || r == nil {
			return text(r)
		}
		switch o.Kind {
		case "first":
			return whole(text(r))
		case "all", "pop", "end":
			found, torn := together(g, flat(r), false)
			if torn != "" {
				return torn
			}
			return listed(found)
		}
		return perElement(g, r)
	},
	apply: func(state string, o *op) (string, string) {
		items := split(state)
		n := len(items)
		switch o.Kind {
		case "all":
			return state, shown(state)
		case "count":
			return state, strconv.Itoa(n)
		case "push":
			return join(append(append([]string{}, items...), o.Arg)), strconv.Itoa(n + 1)
		case "front":
			return join(append([]string{o.Arg}, items...)), strconv.Itoa(n + 1)
		}
		if n == 0 {
			return state, "-"
		}
		switch o.Kind {
		case "pop":
			return join(items[1:]), items[0]
		case "end":
			return join(items[:n-1]), items[n-1]
		}
		return state, items[0]
	},
}

// ---- Hashes: some fields of a unique value each; with `adds` each field is written once ----

var hashModel = model{
	name: "hash",
	draw: func(d *drawer, g *group) *op {
		o := d.one("all", "count", "get", "set", "set")
		if !d.adds && d.r.Intn(4) == 0 {
			o = d.one("remove")
		}
		if o.Kind == "set" {
			o.Arg = d.unique()
		}
		switch {
		case o.Kind == "all" || o.Kind == "count":
		case d.adds && o.Kind == "set":
			o.Arg2 = o.Arg
			g.remember(o.Arg)
		case d.adds:
			o.Arg2 = g.element(d.r.Intn, "none")
		default:
			o.Arg2 = fmt.Sprintf("f%d", d.r.Intn(5))
		}
		return o
	},
	words: func(g *group, o *op) [][]string {
		switch o.Kind {
		case "all":
			return [][]string{words("HGETALL", g.key)}
		case "count":
			return [][]string{words("HLEN", g.key)}
		case "get":
			return [][]string{append(words("HMGET", g.key), pieces(g, o.Arg2)...)}
		case "remove":
			return [][]string{append(words("HDEL", g.key), pieces(g, o.Arg2)...)}
		}
		w := words("HSET", g.key)
		for _, p := range pieces(g, o.Arg2) {
			w = append(w, p, o.Arg)
		}
		return [][]string{w}
	},
	read: func(g *group, o *op, replies []any) string {
		r := last(replies)
		if isFailure(r) {
			return text(r)
		}
		switch o.Kind {
		case "get":
			values := flat(r)
			for _, v := range values {
				if v != values[0] {
					return fmt.Sprintf("torn: field %s has the values %s and %s", o.Arg2, values[0], v)
				}
			}
			return values[0]
		case "all":
			return hashShown(g, flat(r))
		}
		return perElement(g, r)
	},
	apply: func(state string, o *op) (string, string) {
		fields := split(state)
		at := -1
		for i, f := range fields {
			if strings.HasPrefix(f, o.Arg2+"=") {
				at = i
			}
		}
		switch o.Kind {
		case "all":
			return state, shown(state)
		case "count":
			return state, strconv.Itoa(len(fields))
		case "get":
			if at < 0 {
				return state, "-"
			}
			return state, strings.TrimPrefix(fields[at], o.Arg2+"=")
		case "remove":
			if at < 0 {
				return state, "0"
			}
			return join(without(fields, at)), "1"
		}
		next := append([]string{}, fields...)
		if at >= 0 {
			next[at] = o.Arg2 + "=" + o.Arg
			return join(next), "0"
		}
		next = append(next, o.Arg2+"="+o.Arg)
		sort.Strings(next)
		return join(next), "1"
	},
}

func hashShown(g *group, flatPairs []string) string {
	var pairs []string
	for i := 0; i+1 < len(flatPairs); i += 2 {
		pairs = append(pairs, whole(flatPairs[i])+"="+flatPairs[i+1]+":"+flatPairs[i])
	}
	found, torn := together(g, pairs, true)
	if torn != "" {
		return torn
	}
	sort.Strings(found)
	return listed(found)
}

// ---- Sorted sets ----

var zsetModel = model{
	name: "zset",
	draw: func(d *drawer, g *group) *op {
		o := d.one("all", "count", "score", "rank", "add", "add")
		if !d.adds && d.r.Intn(3) == 0 {
			o = d.one("move", "move", "remove", "first")
		}
		switch o.Kind {
		case "add":
			o.Arg = d.unique()
			g.remember(o.Arg)
		case "score", "rank", "remove", "move":
			o.Arg = g.element(d.r.Intn, "none")
		}
		if o.Kind == "add" || o.Kind == "move" {
			o.N = int64(1 + d.r.Intn(20))
		}
		return o
	},
	words: func(g *group, o *op) [][]string {
		switch o.Kind {
		case "all":
			return [][][]string{{words("ZRANGE", g.key, 0, -1, "WITHSCORES")}, {words("ZRANGEBYSCORE", g.key, "-inf", "+inf", "WITHSCORES")}}[o.Way%2:][0]
		case "count":
			return [][]string{words("ZCARD", g.key)}
		case "score":
			return [][]string{append(words("ZMSCORE", g.key), pieces(g, o.Arg)...)}
		case "rank":
			return [][]string{words("ZRANK", g.key, o.Arg+":00")}
		case "first":
			return [][]string{words("ZPOPMIN", g.key, g.size)}
		case "remove":
			return [][]string{append(words("ZREM", g.key), pieces(g, o.Arg)...)}
		}
		w := words("ZADD", g.key)
		for _, p := range pieces(g, o.Arg) {
			w = append(w, strconv.FormatInt(o.N, 10), p)
		}
		return [][]string{w}
	},
	read: func(g *group, o *op, replies []any) string {
		r := last(replies)
		if isFailure(r) || r == nil {
			return text(r)
		}
		switch o.Kind {
		case "all", "first":
			found := flat(r)
			var pairs []string
			for i := 0; i+1 < len(found); i += 2 {
				pairs = append(pairs, whole(found[i])+"="+found[i+1]+":"+found[i])
			}
			members, torn := together(g, pairs, false)
			if torn != "" {
				return torn
			}
			return listed(members)
		case "score":
			scores := flat(r)
			for _, s := range scores {
				if s != scores[0] {
					return fmt.Sprintf("torn: %s has the scores %s and %s", o.Arg, scores[0], s)
				}
			}
			return scores[0]
		}
		return perElement(g, r)
	},
	apply: func(state string, o *op) (string, string) {
		members := split(state)
		at := -1
		for i, m := range members {
			if strings.HasPrefix(m, o.Arg+"=") && o.Arg != "" {
				at = i
			}
		}
		switch o.Kind {
		case "all":
			return state, shown(state)
		case "count":
			return state, strconv.Itoa(len(members))
		case "first":
			if len(members) == 0 {
				return state, "-"
			}
			return join(members[1:]), members[0]
		case "score", "rank":
			if at < 0 {
				return state, "-"
			}
			if o.Kind == "rank" {
				return state, strconv.Itoa(at)
			}
			return state, strings.TrimPrefix(members[at], o.Arg+"=")
		case "remove":
			if at < 0 {
				return state, "0"
			}
			return join(without(members, at)), "1"
		}
		next, out := append([]string{}, members...), "1"
		if at >= 0 {
			next, out = without(next, at), "0"
		}
		next = append(next, fmt.Sprintf("%s=%d", o.Arg, o.N))
		sort.Slice(next, func(i, j int) bool { return zsetLess(next[i], next[j]) })
		return join(next), out
	},
}

// zsetLess orders "member=score" as the server orders the pieces of the members.
func zsetLess(a, b string) bool {
	am, as, _ := strings.Cut(a, "=")
	bm, bs, _ := strings.Cut(b, "=")
	an, _ := strconv.Atoi(as)
	bn, _ := strconv.Atoi(bs)
	if an != bn {
		return an < bn
	}
	return am+":" < bm+":"
}

// ---- Pairs: two strings, which most operations write together; the state is "a b" ----

const bothScript = "redis.call('set', KEYS[1], ARGV[1]) redis.call('set', KEYS[2], ARGV[1]) return redis.status_reply('OK')"

func pairOf(state string) (string, string) {
	if state == "" {
		return "-", "-"
	}
	a, b, _ := strings.Cut(state, " ")
	return a, b
}

func pairState(a, b string) string {
	if a == "-" && b == "-" {
		return ""
	}
	return a + " " + b
}

var pairModel = model{
	name: "pair",
	draw: func(d *drawer, g *group) *op {
		o := d.one("read", "read", "both")
		if !d.adds && d.r.Intn(2) == 0 {
			o = d.one("cas", "rename", "swap", "first")
		}
		if o.Kind == "both" || o.Kind == "cas" || o.Kind == "first" {
			o.Arg = d.unique()
		}
		return o
	},
	words: func(g *group, o *op) [][]string {
		a, b := g.key+"a", g.key+"b"
		switch o.Kind {
		case "read":
			return [][][]string{{words("MGET", a, b)}, {words("MULTI"), words("GET", a), words("GET", b), words("EXEC")},
				{words("EVAL", "return redis.call('mget', KEYS[1], KEYS[2])", 2, a, b)}}[o.Way%3:][0]
		case "both":
			return [][][]string{{words("MULTI"), words("SET", a, o.Arg), words("SET", b, o.Arg), words("EXEC")}, {words("MSET", a, o.Arg, b, o.Arg)},
				{words("EVAL", bothScript, 2, a, b, o.Arg)}}[o.Way%3:][0]
		case "first":
			return [][]string{words("SET", a, o.Arg)}
		case "rename":
			return [][]string{words("RENAME", a, b)}
		case "swap":
			return [][]string{words("EVAL", "local a, b = redis.call('get', KEYS[1]), redis.call('get', KEYS[2]) "+
				"if a then redis.call('set', KEYS[2], a) else redis.call('del', KEYS[2]) end "+
				"if b then redis.call('set', KEYS[1], b) else redis.call('del', KEYS[1]) end return redis.status_reply('OK')", 2, a, b)}
		}
		return [][]string{words("MULTI"), words("SET", a, o.Arg), words("SET", b, o.Arg), words("EXEC")} // the second half of cas
	},
	read: func(g *group, o *op, replies []any) string {
		r := last(replies)
		if isFailure(r) {
			return text(r)
		}
		if o.Kind == "both" || o.Kind == "cas" {
			return flat(r)[0] // of EXEC: one OK for each command
		}
		return strings.ReplaceAll(text(r), ",", " ")
	},
	apply: func(state string, o *op) (string, string) {
		a, b := pairOf(state)
		switch o.Kind {
		case "read":
			return state, a + " " + b
		case "both":
			return pairState(o.Arg, o.Arg), "OK"
		case "first":
			return pairState(o.Arg, b), "OK"
		case "swap":
			return pairState(b, a), "OK"
		case "rename":
			if a == "-" {
				return state, "!ERR no such key"
			}
			return pairState("-", a), "OK"
		case "cas-aborted": // WATCH and GET have seen Arg2, and EXEC did nothing
			return state, a
		}
		// cas: EXEC happens only if the first string is the one that GET has seen.
		if a != o.Arg2 {
			return state, "nothing"
		}
		return pairState(o.Arg, o.Arg), "OK"
	},
}

// ---- Ledgers: a counter and a list of the same length, by transactions and scripts ----

var ledgerModel = model{
	name: "ledger",
	draw: func(d *drawer, g *group) *op {
		o := d.one("read", "add", "add")
		if o.Kind == "add" {
			o.Arg = d.unique()
		}
		return o
	},
	words: func(g *group, o *op) [][]string {
		n, l := g.key+"n", g.key+"l"
		if o.Kind == "add" {
			return [][][]string{{words("MULTI"), words("INCR", n), words("RPUSH", l, o.Arg), words("EXEC")},
				{words("EVAL", "return {redis.call('incr', KEYS[1]), redis.call('rpush', KEYS[2], ARGV[1])}", 2, n, l, o.Arg)}}[o.Way%2:][0]
		}
		return [][][]string{{words("MULTI"), words("GET", n), words("LRANGE", l, 0, -1), words("EXEC")},
			{words("EVAL", "return {redis.call('get', KEYS[1]), redis.call('lrange', KEYS[2], 0, -1)}", 2, n, l)}}[o.Way%2:][0]
	},
	read: func(g *group, o *op, replies []any) string {
		items, is := last(replies).([]any)
		if !is || len(items) != 2 {
			return text(last(replies))
		}
		n := text(items[0])
		if o.Kind == "add" {
			if m := text(items[1]); m != n {
				return fmt.Sprintf("torn: the counter is %s, the length %s", n, m)
			}
			return n
		}
		entries := flat(items[1])
		if length := strconv.Itoa(len(entries)); length != n && !(n == "-" && length == "0") {
			return fmt.Sprintf("torn: the counter is %s, the list has %s entries", n, length)
		}
		return listed(entries)
	},
	apply: func(state string, o *op) (string, string) {
		entries := split(state)
		if o.Kind == "read" {
			return state, shown(state)
		}
		return join(append(append([]string{}, entries...), o.Arg)), strconv.Itoa(len(entries) + 1)
	},
}
