package lsp

import (
	"fmt"

	"github.com/strabo-engine/strabo/langshaw"
)

// answer gives the result of a request.
func (s *server) answer(m message) (any, error) {
	switch m.Method {
	case "initialize":
		return s.initialize(m)
	case "shutdown":
		s.shutdown = true
		return nil, nil
	case "textDocument/codeAction":
		p, err := params[rangeParams](m)
		if err != nil {
			return nil, err
		}
		d, err := s.document(p.TextDocument.URI)
		if err != nil {
			return nil, err
		}
		return d.fixes(p.Range), nil
	}
	ask, ok := questions[m.Method]
	if !ok {
		return nil, &failure{methodNotFound, fmt.Sprintf("there is no %.100q here", m.Method)}
	}
	p, err := params[positionParams](m)
	if err != nil {
		return nil, err
	}
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	return ask(s, d, p)
}

// questions are the requests about one document, most of them about one place in it.
var questions = map[string]func(*server, *document, positionParams) (any, error){
	"textDocument/hover": func(s *server, d *document, p positionParams) (any, error) {
		// Without a preference, and with a preference for something else, it is plain text.
		formats := s.client.Capabilities.TextDocument.Hover.ContentFormat
		return d.hover(p.Position, len(formats) > 0 && formats[0] == "markdown"), nil
	},
	"textDocument/definition": func(_ *server, d *document, p positionParams) (any, error) {
		return d.definition(p.Position), nil
	},
	"textDocument/references": func(_ *server, d *document, p positionParams) (any, error) {
		return d.references(p.Position, p.Context.IncludeDeclaration), nil
	},
	"textDocument/documentHighlight": func(_ *server, d *document, p positionParams) (any, error) {
		return d.highlights(p.Position), nil
	},
	"textDocument/completion": func(_ *server, d *document, p positionParams) (any, error) {
		return d.completions(p.Position), nil
	},
	"textDocument/prepareRename": func(_ *server, d *document, p positionParams) (any, error) {
		at, err := d.renamed(p.Position)
		if err != nil {
			return nil, err
		}
		return d.spanOf(at.Span), nil
	},
	"textDocument/rename": func(_ *server, d *document, p positionParams) (any, error) {
		edits, err := d.rename(p.Position, p.NewName)
		if err != nil {
			return nil, err
		}
		return workspaceEdit{map[string][]textEdit{d.uri: edits}}, nil
	},
	"textDocument/documentSymbol": func(s *server, d *document, _ positionParams) (any, error) {
		symbols := d.outline()
		if s.client.Capabilities.TextDocument.DocumentSymbol.Hierarchical {
			return symbols, nil
		}
		return d.flatten(symbols, ""), nil
	},
	"textDocument/formatting": func(_ *server, d *document, _ positionParams) (any, error) {
		return d.format()
	},
}

// format gives the edit that puts a text in its canonical layout: none where it is, an error where it has errors.
func (d *document) format() (any, error) {
	formatted, diagnostics := langshaw.Format(d.bytes)
	if diagnostics.HasErrors() {
		return nil, refuse("a text with errors is not formatted: %v", diagnostics)
	}
	if string(formatted) == string(d.bytes) {
		return []textEdit{}, nil
	}
	return []textEdit{{d.span(0, len(d.bytes)), string(formatted)}}, nil
}

func (s *server) initialize(m message) (any, error) {
	if s.initialized {
		return nil, &failure{invalidRequest, "initialize comes once"}
	}
	p, err := params[initializeParams](m)
	if err != nil {
		return nil, err
	}
	s.initialized, s.client = true, p
	s.encoding = negotiate(p.Capabilities.General.PositionEncodings)
	const incremental = 2
	type object = map[string]any
	capabilities := object{
		"positionEncoding":           s.encoding,
		"textDocumentSync":           object{"openClose": true, "change": incremental},
		"hoverProvider":              true,
		"definitionProvider":         true,
		"referencesProvider":         true,
		"documentHighlightProvider":  true,
		"documentSymbolProvider":     true,
		"completionProvider":         object{"triggerCharacters": []string{"(", ",", ":", ">"}},
		"renameProvider":             object{"prepareProvider": true},
		"documentFormattingProvider": true,
	}
	if p.Capabilities.TextDocument.CodeAction.Literal != nil {
		capabilities["codeActionProvider"] = object{"codeActionKinds": []string{"quickfix"}}
	}
	return object{"capabilities": capabilities, "serverInfo": object{"name": "strabo", "version": s.Version}}, nil
}

func (s *server) document(uri string) (*document, error) {
	d, ok := s.documents[uri]
	if !ok {
		return nil, &failure{invalidParams, "the document is not open, or too large to be looked at"}
	}
	return d, nil
}

// follow does what a notification says. One that is not known, or not as it should be, says nothing.
func (s *server) follow(m message) {
	var err error
	switch m.Method {
	case "textDocument/didOpen":
		err = s.open(m)
	case "textDocument/didChange":
		err = s.change(m)
	case "textDocument/didClose":
		err = s.closeDocument(m)
	}
	if err != nil {
		s.Logger.Warn("a notification cannot be followed", "method", m.Method, "reason", err)
	}
}

func (s *server) open(m message) error {
	p, err := params[documentParams](m)
	if err != nil {
		return err
	}
	if p.TextDocument.URI == "" {
		return &failure{invalidParams, "a document has a URI"}
	}
	_, again := s.documents[p.TextDocument.URI]
	if !again && len(s.documents) >= mostDocuments {
		s.warn(fmt.Sprintf("strabo looks at %d documents at most: close some", mostDocuments))
		return nil
	}
	s.put(p.TextDocument, newText([]byte(p.TextDocument.Text), s.encoding))
	return nil
}

// put makes a text that of a document, or forgets the document if it is too large.
func (s *server) put(d textDocument, t *text) {
	if len(t.bytes) > mostText {
		s.forget(d.URI)
		s.warn(fmt.Sprintf("strabo does not look at texts of more than %d bytes; open it again once it is smaller", mostText))
		return
	}
	s.documents[d.URI] = &document{text: t, uri: d.URI, version: d.Version}
	s.changed(d.URI)
}

func (s *server) change(m message) error {
	p, err := params[changeParams](m)
	if err != nil {
		return err
	}
	d, ok := s.documents[p.TextDocument.URI]
	if !ok {
		return nil
	}
	t := d.text
	for _, c := range p.ContentChanges {
		if c.Range == nil {
			t = newText([]byte(c.Text), s.encoding)
		} else {
			t = t.replace(*c.Range, c.Text)
		}
		if len(t.bytes) > mostText {
			break
		}
	}
	s.put(p.TextDocument, t)
	return nil
}

func (s *server) closeDocument(m message) error {
	p, err := params[documentParams](m)
	if err != nil {
		return err
	}
	s.forget(p.TextDocument.URI)
	return nil
}

// forget takes a document away, and what was published about it.
func (s *server) forget(uri string) {
	d, ok := s.documents[uri]
	if !ok {
		return
	}
	s.changed(uri)
	delete(s.documents, uri)
	s.publish(d, []diagnostic{})
}
