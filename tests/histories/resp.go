package main

// resp.go - a connection that speaks RESP2 or RESP3, as small as these tests need it.
//
// A reply is one of: nil, int64, string (a status, a bulk string, a double, a boolean), replyError, []any. Maps and sets of RESP3
// are flat arrays, so that a caller sees the same as in RESP2.

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

type replyError string

type conn struct {
	addr    string
	socket  net.Conn
	in      *bufio.Reader
	timeout time.Duration
}

// dial connects, and chooses the protocol and the database. The time-out is that of each later exchange, too.
func dial(addr string, protocol, db int, timeout time.Duration) (*conn, error) {
	socket, err := net.DialTimeout("tcp", addr, timeout)
	if err != nil {
		return nil, err
	}
	c := &conn{addr: addr, socket: socket, in: bufio.NewReaderSize(socket, 1<<16), timeout: timeout}
	var first [][]string
	if protocol == 3 {
		first = append(first, words("HELLO", 3))
	}
	if db != 0 {
		first = append(first, words("SELECT", db))
	}
	if len(first) > 0 {
		replies, err := c.exchange(first)
		for _, r := range replies {
			if e, is := r.(replyError); is && err == nil {
				err = fmt.Errorf("%s", string(e))
			}
		}
		if err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

func (c *conn) close() { c.socket.Close() }

func words(ws ...any) []string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = fmt.Sprint(w)
	}
	return out
}

// exchange sends all commands at once and returns their replies, in order. After an error the connection is of no use.
func (c *conn) exchange(commands [][]string) ([]any, error) {
	var b strings.Builder
	for _, command := range commands {
		fmt.Fprintf(&b, "*%d\r\n", len(command))
		for _, w := range command {
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(len(w)))
			b.WriteString("\r\n")
			b.WriteString(w)
			b.WriteString("\r\n")
		}
	}
	c.socket.SetDeadline(time.Now().Add(c.timeout))
	if _, err := io.WriteString(c.socket, b.String()); err != nil {
		return nil, err
	}
	replies := make([]any, 0, len(commands))
	for range commands {
		r, err := c.read()
		if err != nil {
			return replies, err
		}
		replies = append(replies, r)
	}
	return replies, nil
}

// call sends one command; an error reply becomes an error.
func (c *conn) call(ws ...any) (any, error) {
	replies, err := c.exchange([][]string{words(ws...)})
	if err != nil {
		return nil, err
	}
	if e, is := replies[0].(replyError); is {
		return nil, fmt.Errorf("%v: %s", ws, string(e))
	}
	return replies[0], nil
}

func (c *conn) read() (any, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 {
		return nil, fmt.Errorf("not a reply: %q", line)
	}
	rest := line[1 : len(line)-2]
	switch line[0] {
	case '+', ',', '#', '(':
		return rest, nil
	case '-':
		return replyError(rest), nil
	case '_':
		return nil, nil
	case ':':
		return strconv.ParseInt(rest, 10, 64)
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return nil, fmt.Errorf("not a reply: %q", line)
	}
	switch line[0] {
	case '$', '=':
		return c.readBulk(n)
	case '%':
		return c.readArray(2 * n)
	case '*', '~':
		return c.readArray(n)
	}
	return nil, fmt.Errorf("not a reply: %q", line)
}

func (c *conn) readBulk(n int) (any, error) {
	if n < 0 {
		return nil, nil
	}
	bytes := make([]byte, n+2)
	if _, err := io.ReadFull(c.in, bytes); err != nil {
		return nil, err
	}
	return string(bytes[:n]), nil
}

func (c *conn) readArray(n int) (any, error) {
	if n < 0 {
		return nil, nil
	}
	items := make([]any, n)
	for i := range items {
		item, err := c.read()
		if err != nil {
			return nil, err
		}
		items[i] = item
	}
	return items, nil
}
