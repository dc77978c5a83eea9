package main

import (
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

// unusedConnections are those on which nobody has asked for anything yet. A server that shuts down would wait for them.
type unusedConnections struct {
	mu    sync.Mutex
	known map[net.Conn]bool
}

// note follows the connections of a server.
func (u *unusedConnections) note(connection net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if state != http.StateNew {
		delete(u.known, connection)
		return
	}
	if u.known == nil {
		u.known = make(map[net.Conn]bool)
	}
	u.known[connection] = true
}

// close closes them.
func (u *unusedConnections) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for connection := range u.known {
		_ = connection.Close()
	}
}
