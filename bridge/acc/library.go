package acc

import (
	"errors"
	"io"
	"io/fs"
	"net/url"
	"path"

	"github.com/strabo-engine/strabo/langshaw"
)

// CodeUnsupportedDocument: a document that parameters or body refer to cannot be used.
const CodeUnsupportedDocument langshaw.Code = "unsupported-document"

// MaximumDocuments is how many documents one may refer to, with those that they refer to.
const MaximumDocuments = 100

// source is one document.
type source struct {
	// name is its path in the folder; empty where that is not known.
	name   string
	root   *node
	places *places
}

// library finds the documents that others refer to, and reads each once.
type library struct {
	folder fs.FS // nil where there are no others
	found  map[string]*source
	broken map[string]string
	left   int // bytes that may still be read
}

func newLibrary(folder fs.FS, first *source, size int) *library {
	l := &library{folder: folder, found: make(map[string]*source), broken: make(map[string]string), left: MaximumText - size}
	if first.name != "" {
		l.found[first.name] = first
	}
	return l
}

// find gives the document that a reference names.
func (l *library) find(reference *node, file string) (*source, error) {
	refuse := func(code langshaw.Code, why string) (*source, error) {
		return nil, &inputError{code, reference, "the reference " + shorten(reference.text) + " " + why}
	}
	if l.folder == nil || reference.in.name == "" {
		return refuse(CodeUnresolvedReference, "leads to another document, and there is none")
	}
	u, err := url.Parse(file)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || u.RawQuery != "" || u.ForceQuery {
		return refuse(CodeUnresolvedReference, "is not a path: nothing is fetched")
	}
	name := path.Join(path.Dir(reference.in.name), u.Path)
	if path.IsAbs(u.Path) || !fs.ValidPath(name) || name == "." {
		return refuse(CodeUnresolvedReference, "leads out of the folder")
	}
	if in, ok := l.found[name]; ok {
		return in, nil
	}
	why, ok := l.broken[name]
	if !ok {
		var in *source
		if in, why = l.read(name); in != nil {
			l.found[name] = in
			return in, nil
		}
		if len(l.broken) < MaximumDocuments {
			l.broken[name] = why
		}
	}
	return refuse(CodeUnsupportedDocument, why)
}

// read reads a document, or says why not.
func (l *library) read(name string) (*source, string) {
	if len(l.found)+len(l.broken) > MaximumDocuments {
		return nil, "leads to one document more than may be read"
	}
	about, err := fs.Stat(l.folder, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "leads to a file that does not exist"
	case err != nil:
		return nil, "leads to a file that cannot be read"
	case !about.Mode().IsRegular():
		return nil, "leads to something that is no file"
	}
	file, err := l.folder.Open(name)
	if err != nil {
		return nil, "leads to a file that cannot be read"
	}
	text, err := io.ReadAll(io.LimitReader(file, int64(l.left)+1))
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, "leads to a file that cannot be read"
	}
	if l.left -= len(text); l.left < 0 {
		l.left = 0
		return nil, "leads to more text than is read altogether"
	}
	r := &report{}
	root := readText(text, r)
	if root == nil {
		return nil, "leads to a document that cannot be used: " + name + ":" + r.list[0].Start.String() + ": " + r.list[0].Message
	}
	root.in.name = name
	return root.in, ""
}
