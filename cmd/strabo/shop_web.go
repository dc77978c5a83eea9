package main

import (
	"container/list"
	"fmt"
	"html"
	"io/fs"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
)

// documentsIn serves the documents of a release: schemas as they lie in a directory, and a page for everything else that
// discovery names, which says where the real one is.
func documentsIn(dir fs.FS) http.Handler {
	files := http.FileServerFS(dir)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
		if info, err := fs.Stat(dir, name); err == nil && info.Mode().IsRegular() {
			files.ServeHTTP(w, r)
			return
		}
		switch {
		case strings.HasPrefix(name, "handlers/") && strings.HasSuffix(name, "/config.json"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintln(w, `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}`)
		case strings.HasPrefix(name, "handlers/"), strings.HasPrefix(name, "specification/"):
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, "<!doctype html>\n<html><title>%[1]s</title><p>%[1]s: see https://ucp.dev/ for the specification.</html>\n", html.EscapeString(name))
		default:
			http.NotFound(w, r)
		}
	})
}

// connections are those of a server, of which there are no more than files may be open. Where one more comes, the one on
// which nobody has asked for anything for longest makes room for it.
type connections struct {
	most int

	mu    sync.Mutex
	open  int
	quiet map[net.Conn]*list.Element // on which nothing is being asked for
	order list.List                  // of those, the one that has been quiet for longest in front
	shut  map[net.Conn]bool          // that have made room, and do not count any more
}

// newConnections makes connections, at most so many.
func newConnections(most int) *connections {
	return &connections{most: most, quiet: make(map[net.Conn]*list.Element), shut: make(map[net.Conn]bool)}
}

// note follows the connections of a server.
func (c *connections) note(connection net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if place, ok := c.quiet[connection]; ok {
		delete(c.quiet, connection)
		c.order.Remove(place)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.quiet[connection] = c.order.PushBack(connection)
	case http.StateClosed, http.StateHijacked:
		if !c.shut[connection] {
			c.open--
		}
		delete(c.shut, connection)
	}
	if state != http.StateNew {
		return
	}
	if c.open++; c.open > c.most {
		oldest := c.order.Remove(c.order.Front()).(net.Conn)
		delete(c.quiet, oldest)
		c.shut[oldest] = true
		c.open--
		_ = oldest.Close()
	}
}

// close closes those on which nothing is being asked for. A server that shuts down would wait for some of them.
func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for connection := range c.quiet {
		_ = connection.Close()
	}
}

// mostConnections is how many connections the shop has at most: some files are left for other things.
func mostConnections() int { return min(8192, openFiles()/4*3) }
