package main

// client.go - clients that draw operations, send them, and write down what came back.
//
// What a reply says about an operation: a refusal (MOVED, LOADING, READONLY ...) means that nothing happened, so it is forgotten. No
// reply means that it is unknown. Any other reply is taken as it is, errors included, and the model decides whether it can be.

import (
	"math/rand"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var refusals = []string{"MOVED ", "ASK ", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY", "NOREPLICAS", "MISCONF", "OOM ", "BUSY "}

// Errors after which the operation may have happened.
var doubts = []string{"NOTSYNCED", "UNBLOCKED"}

func begins(s string, with []string) bool {
	for _, w := range with {
		if strings.HasPrefix(s, w) {
			return true
		}
	}
	return false
}

// router knows where a key is. It is shared by all clients.
type router interface {
	address(slot int, pick func(int) int) string
	moved(slot int, addr string)
	failed(slot int, addr string)
}

type fixed string

func (f fixed) address(int, func(int) int) string { return string(f) }
func (f fixed) moved(int, string)                 {}
func (f fixed) failed(int, string)                {}

type workload struct {
	clients  int
	dbs      int  // clients use databases 0 and 1 by turns if it is 2
	pipeline bool // several operations at once now and then
	readers  int  // so many of the clients mostly read
	adds     bool
	expire   bool
	wait     bool // WAIT 1 after each addition
	pause    time.Duration
	timeout  time.Duration
	models   []*model
	limit    int // operations of a group
}

type tallies struct{ done, refused, unknown atomic.Int64 }

type client struct {
	id, db  int
	w       *workload
	d       *drawer
	h       *history
	board   *board
	routes  router
	tallies *tallies
	conns   map[string]*conn
	ops     []*op
}

func newClient(id int, w *workload, h *history, b *board, routes router, t *tallies, seed int64) *client {
	r := rand.New(rand.NewSource(seed*1000 + int64(id)))
	return &client{id: id, db: id % max(w.dbs, 1), w: w, h: h, board: b, routes: routes, tallies: t, conns: map[string]*conn{},
		d: &drawer{r: r, adds: w.adds, expire: w.expire, client: id}}
}

func (c *client) connection(addr string) (*conn, error) {
	if have := c.conns[addr]; have != nil {
		return have, nil
	}
	made, err := dial(addr, 2+c.id%2, c.db, c.w.timeout)
	if err == nil {
		c.conns[addr] = made
	}
	return made, err
}

func (c *client) drop(addr string) {
	if have := c.conns[addr]; have != nil {
		have.close()
		delete(c.conns, addr)
	}
}

func (c *client) run(stop chan struct{}) {
	for {
		select {
		case <-stop:
			for addr := range c.conns {
				c.drop(addr)
			}
			c.h.add(c.ops)
			return
		default:
		}
		n := 1
		if c.w.pipeline && c.d.r.Intn(4) == 0 {
			n = 2 + c.d.r.Intn(7)
		}
		var batch []*op
		for i := 0; i < n; i++ {
			g := c.board.take(c.d.r.Intn)
			o := g.model.draw(c.d, g)
			o.Group = g.key
			for try := 0; c.id < c.w.readers && !isRead(o) && try < 6; try++ {
				o = g.model.draw(c.d, g)
				o.Group = g.key
			}
			if o.Kind == "cas" {
				batch = []*op{o}
				break
			}
			batch = append(batch, o)
		}
		c.perform(batch)
		if c.w.pause > 0 {
			time.Sleep(c.w.pause/2 + time.Duration(c.d.r.Int63n(int64(c.w.pause))))
		}
	}
}

func (c *client) groupOf(o *op) *group {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	return c.h.groups[o.Group]
}

// perform sends operations together; more than one only where one server has all keys. It returns whether each was answered.
func (c *client) perform(batch []*op) bool {
	slot := slotOf(batch[0].Group)
	addr := c.routes.address(slot, c.d.r.Intn)
	link, err := c.connection(addr)
	if err != nil {
		c.routes.failed(slot, addr)
		time.Sleep(time.Duration(2+c.d.r.Intn(10)) * time.Millisecond)
		return false
	}
	begin := c.h.now()
	if batch[0].Kind == "cas" && !c.watch(batch[0], link, addr, slot) {
		return false
	}
	var commands [][]string
	ends := make([]int, len(batch))
	for i, o := range batch {
		o.Client, o.DB, o.Call = c.id, c.db, begin
		commands = append(commands, c.groupOf(o).model.words(c.groupOf(o), o)...)
		if c.w.wait && !isRead(o) {
			commands = append(commands, words("WAIT", 1, 300))
		}
		ends[i] = len(commands)
	}
	if batch[0].Kind != "cas" {
		begin = c.h.now()
		for _, o := range batch {
			o.Call = begin
		}
	}
	replies, err := link.exchange(commands)
	answered := true
	for i, at := 0, 0; i < len(batch); at, i = ends[i], i+1 {
		if len(replies) < ends[i] {
			c.lost(batch[i])
			answered = false
		} else if !c.answer(batch[i], replies[at:ends[i]], slot, addr) {
			answered = false
		}
	}
	if err != nil {
		c.drop(addr)
		c.routes.failed(slot, addr)
	}
	return answered
}

// watch is the first half of a compare-and-set: WATCH, then GET.
func (c *client) watch(o *op, link *conn, addr string, slot int) bool {
	g := c.groupOf(o)
	replies, err := link.exchange([][]string{words("WATCH", g.key+"a"), words("GET", g.key+"a")})
	if err != nil {
		c.drop(addr)
		c.routes.failed(slot, addr)
		return false
	}
	if c.refused(replies, slot, addr) {
		c.drop(addr)
		return false
	}
	o.Arg2 = text(last(replies))
	return true
}

// lost records an operation without a reply.
func (c *client) lost(o *op) {
	if isRead(o) {
		return
	}
	o.Unknown, o.Return = true, never
	c.tallies.unknown.Add(1)
	c.ops = append(c.ops, o)
}

// answer records an operation with its replies, unless it was refused.
func (c *client) answer(o *op, replies []any, slot int, addr string) bool {
	o.Return = c.h.now()
	o.Acked = true
	if c.w.wait && !isRead(o) {
		n, is := last(replies).(int64)
		o.Acked = is && n >= 1
		replies = replies[:len(replies)-1]
	}
	if c.refused(replies, slot, addr) {
		return false
	}
	for _, r := range replies {
		if e, is := r.(replyError); is && begins(string(e), doubts) {
			c.lost(o)
			return false
		}
	}
	g := c.groupOf(o)
	if o.Kind == "cas" && last(replies) == nil {
		o.Kind, o.Out = "cas-aborted", o.Arg2
	} else {
		o.Out = g.model.read(g, o, replies)
	}
	c.tallies.done.Add(1)
	c.ops = append(c.ops, o)
	return true
}

// refused is whether the replies say that nothing was done. It follows MOVED.
func (c *client) refused(replies []any, slot int, addr string) bool {
	for _, r := range replies {
		e, is := r.(replyError)
		if !is || !begins(string(e), refusals) {
			continue
		}
		c.tallies.refused.Add(1)
		ws := strings.Fields(string(e))
		switch {
		case ws[0] == "MOVED" && len(ws) == 3:
			c.routes.moved(slot, ws[2])
		case ws[0] == "READONLY":
			c.drop(addr)
			c.routes.failed(slot, addr)
			time.Sleep(5 * time.Millisecond)
		default:
			time.Sleep(2 * time.Millisecond)
		}
		return true
	}
	return false
}

// ---- All clients ----

type crowd struct {
	w       *workload
	h       *history
	routes  router
	seed    int64
	tallies tallies
	stop    chan struct{}
	all     sync.WaitGroup
}

func startCrowd(w *workload, h *history, routes router, seed int64) *crowd {
	c := &crowd{w: w, h: h, routes: routes, seed: seed, stop: make(chan struct{})}
	b := newBoard(h, w.models, 1+w.clients/5, w.limit)
	for i := 0; i < w.clients; i++ {
		one := newClient(i, w, h, b, routes, &c.tallies, seed)
		c.all.Add(1)
		go func() {
			defer c.all.Done()
			one.run(c.stop)
		}()
	}
	return c
}

func (c *crowd) end() {
	close(c.stop)
	c.all.Wait()
}

// readEverything reads each group that was ever used, in all databases, as one more client. It returns one that it could not read, or "".
func (c *crowd) readEverything(together int) string {
	var keys []string
	c.h.mu.Lock()
	for key := range c.h.groups {
		keys = append(keys, key)
	}
	c.h.mu.Unlock()
	w := *c.w
	w.wait, w.timeout = false, 20*time.Second
	unread := ""
	for db := 0; db < max(w.dbs, 1); db++ {
		reader := newClient(1000+db, &w, c.h, nil, c.routes, &c.tallies, c.seed)
		reader.db = db
		for i := 0; i < len(keys) && unread == ""; i += together {
			if part := keys[i:min(i+together, len(keys))]; !reader.readAll(part) {
				unread = part[0]
			}
		}
		c.h.add(reader.ops)
		for addr := range reader.conns {
			reader.drop(addr)
		}
	}
	return unread
}

func (c *client) readAll(keys []string) bool {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		var batch []*op
		for _, key := range keys {
			kind := "all"
			switch modelOf(key) {
			case &registerModel:
				kind = "get"
			case &pairModel, &ledgerModel, &counterModel:
				kind = "read"
			}
			batch = append(batch, &op{Kind: kind, Group: key})
		}
		kept := len(c.ops)
		if c.perform(batch) {
			return true
		}
		c.ops = c.ops[:kept]
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

// ---- Slots ----

func slotOf(key string) int {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if size := strings.IndexByte(key[open+1:], '}'); size > 0 {
			key = key[open+1 : open+1+size]
		}
	}
	crc := uint16(0)
	for _, b := range []byte(key) {
		crc ^= uint16(b) << 8
		for i := 0; i < 8; i++ {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % 16384
}

// clusterRoutes remembers what MOVED has said, and asks any node for what it does not know.
type clusterRoutes struct {
	mu    sync.Mutex
	nodes []string
	where map[int]string
}

func newClusterRoutes(nodes []string) *clusterRoutes {
	return &clusterRoutes{nodes: nodes, where: map[int]string{}}
}

func (r *clusterRoutes) address(slot int, pick func(int) int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if addr := r.where[slot]; addr != "" {
		return addr
	}
	return r.nodes[pick(len(r.nodes))]
}

func (r *clusterRoutes) moved(slot int, addr string) {
	r.mu.Lock()
	r.where[slot] = addr
	r.mu.Unlock()
}

func (r *clusterRoutes) failed(slot int, addr string) {
	r.mu.Lock()
	if r.where[slot] == addr {
		delete(r.where, slot)
	}
	r.mu.Unlock()
}

func number(r any) int64 {
	n, _ := strconv.ParseInt(text(r), 10, 64)
	return n
}
