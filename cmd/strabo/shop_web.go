package main

import (
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"syscall"
	"time"
)

// webhookClient calls platforms, at the addresses that they name. Unless local says otherwise it calls none on this
// machine or in a private network, whatever name they hide behind.
func webhookClient(local bool) *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	if !local {
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return publicAddress(address) }
	}
	return &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{
		DialContext: dialer.DialContext, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 5 * time.Second,
		ResponseHeaderTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}}
}

var errNotPublic = errors.New("the address is not a public one; see --local-webhooks")

// publicAddress refuses addresses that only mean something here.
func publicAddress(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || carrierNAT.Contains(ip) || benchmarks.Contains(ip) {
		return fmt.Errorf("%w: %s", errNotPublic, ip)
	}
	return nil
}

// Special-use addresses that netip does not know by itself (RFC 6890).
var (
	carrierNAT = netip.MustParsePrefix("100.64.0.0/10")
	benchmarks = netip.MustParsePrefix("198.18.0.0/15")
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
