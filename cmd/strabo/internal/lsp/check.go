package lsp

import (
	"context"

	"github.com/strabo-engine/strabo/langshaw/verify"
)

// changed notes that a document is to be checked once it rests. What is being found out about an older version of it is
// no longer wanted.
func (s *server) changed(uri string) {
	s.stale[uri] = true
	delete(s.unverified, uri)
	if s.verifying != nil && s.verifying.uri == uri {
		s.giveUp()
	}
	s.timer.Reset(s.Debounce)
}

// check publishes what the static rules find in the documents that have changed, and has those verified that can be.
func (s *server) check(ctx context.Context) {
	for uri := range s.stale {
		delete(s.stale, uri)
		d, ok := s.documents[uri]
		if !ok {
			continue
		}
		s.publish(d, d.checked())
		if d.isVerifiable() {
			s.unverified[uri] = true
		}
	}
	s.verify(ctx)
}

// verify starts the next verification unless one runs. One at a time leaves the machine to the editor.
func (s *server) verify(ctx context.Context) {
	if s.verifying != nil {
		return
	}
	for uri := range s.unverified {
		delete(s.unverified, uri)
		d := s.documents[uri]
		p, _ := d.parse()
		bounded, giveUp := context.WithTimeout(ctx, longestVerification)
		s.verifying, s.giveUp = d, giveUp
		s.working.Go(func() {
			defer giveUp()
			// There is room for one verdict, and one verification at a time.
			s.verdicts <- verdict{d, verify.Verify(bounded, p, verify.Options{MaxStates: mostStates})}
		})
		return
	}
}

// conclude publishes a verdict, if the document is still the same.
func (s *server) conclude(ctx context.Context, v verdict) {
	s.verifying = nil
	if s.documents[v.document.uri] == v.document {
		s.publish(v.document, v.document.verified(v.report))
	}
	s.verify(ctx)
}

func (s *server) publish(d *document, found []diagnostic) {
	s.send(notification{"2.0", "textDocument/publishDiagnostics", publishDiagnosticsParams{d.uri, d.version, found}})
}
