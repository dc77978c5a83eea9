package langshaw

import (
	"errors"
	"io"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// The productions of the language, one for each kind of entry. A text is cut into entries before they are applied
// (see [cutter]), because a parser of whole texts stops at its first error. A list is captured with its separators;
// namesOf drops them.
type (
	rolesProduction struct {
		Roles []lexer.Token `parser:"@(Word (Comma Word)*)"`
	}
	whatProduction struct {
		Conjuncts []conjunctProduction `parser:"@@ (Comma @@)*"`
	}
	conjunctProduction struct {
		Alternatives []alternativeProduction `parser:"@@ (Or @@)*"`
	}
	alternativeProduction struct {
		Name lexer.Token `parser:"@Word"`
		Key  bool        `parser:"@Key?"`
	}
	actionProduction struct {
		Role       lexer.Token   `parser:"@Word Colon"`
		Name       lexer.Token   `parser:"@Word Opening"`
		Attributes []lexer.Token `parser:"@(Word (Comma Word)*)?"`
		Closing    lexer.Token   `parser:"@Closing"`
	}
	saysoProduction struct {
		Roles      []lexer.Token `parser:"@(Word (Greater Word)*) Colon"`
		Attributes []lexer.Token `parser:"@(Word (Comma Word)*)"`
	}
	nonoProduction struct {
		Actions []lexer.Token `parser:"@(Word+)"`
	}
	nogoProduction struct {
		First lexer.Token `parser:"@Word Arrow"`
		Then  lexer.Token `parser:"@Word"`
	}
	// entryProduction only gathers the others into one grammar.
	entryProduction struct {
		Action *actionProduction `parser:"  @@"`
		Sayso  *saysoProduction  `parser:"| @@"`
		Nogo   *nogoProduction   `parser:"| @@"`
		What   *whatProduction   `parser:"| @@"`
		Roles  *rolesProduction  `parser:"| @@"`
		Nono   *nonoProduction   `parser:"| @@"`
	}
)

// The parsers are built once; they hold no state and serve any number of goroutines.
var (
	grammar      = participle.MustBuild[entryProduction](participle.Lexer(symbols{}))
	rolesParser  = production[rolesProduction]()
	whatParser   = production[whatProduction]()
	actionParser = production[actionProduction]()
	saysoParser  = production[saysoProduction]()
	nonoParser   = production[nonoProduction]()
	nogoParser   = production[nogoProduction]()
)

func production[P any]() *participle.Parser[P] {
	parser, err := participle.ParserForProduction[P](grammar)
	if err != nil {
		panic(err)
	}
	return parser
}

// symbols names the token kinds for the grammar's tags. The grammar never lexes: it is fed tokens.
type symbols struct{}

func (symbols) Symbols() map[string]lexer.TokenType {
	return map[string]lexer.TokenType{
		"EOF": lexer.EOF, "Word": tokenType(word), "Comma": tokenType(comma), "Colon": tokenType(colon),
		"Opening": tokenType(opening), "Closing": tokenType(closing), "Greater": tokenType(greater), "Arrow": tokenType(arrow),
		"Or": tokenType(orMark), "Key": tokenType(keyMark),
	}
}

func (symbols) Lex(string, io.Reader) (lexer.Lexer, error) {
	return nil, errors.New("langshaw: the grammar is fed tokens, not text")
}

func tokenType(k kind) lexer.TokenType {
	if k == endOfText {
		return lexer.EOF
	}
	return lexer.TokenType(k)
}

// feed gives the tokens of one entry to a parser. Offsets are places in the entry, so that captured tokens and errors
// lead back to it.
type feed struct {
	tokens []token
	next   int
}

func (f *feed) Next() (lexer.Token, error) {
	if f.next == len(f.tokens) {
		return lexer.EOFToken(lexer.Position{Offset: f.next}), nil
	}
	t := f.tokens[f.next]
	out := lexer.Token{Type: tokenType(t.kind), Pos: lexer.Position{Offset: f.next}}
	f.next++
	return out, nil
}

// applier applies a production to the tokens of entries. A production sees the kinds of the tokens only, so what it
// makes of one entry, in which tokens are told by their place, holds for every entry with the same kinds; there are few
// such shapes in a text, however long, and a parser is slow. It serves one goroutine at a time.
type applier[P any] struct {
	parser *participle.Parser[P]
	shapes map[string]*P
}

const (
	// longestShape is the most tokens of an entry that is remembered, mostShapes how many are.
	longestShape = 64
	mostShapes   = 1000
)

// parse gives what the production makes of the tokens. When they do not fit, it tells the place of the token that is
// in the way; that is the number of tokens when one is missing at the end.
func (a *applier[P]) parse(tokens []token) (parsed *P, failedAt int, ok bool) {
	var space [longestShape]byte
	shape := space[:0]
	if len(tokens) <= longestShape {
		for _, t := range tokens {
			shape = append(shape, byte(t.kind))
		}
		if parsed, ok = a.shapes[string(shape)]; ok {
			return parsed, 0, true
		}
	}
	peeking, err := lexer.Upgrade(&feed{tokens: tokens})
	if err != nil {
		return nil, 0, false
	}
	parsed, err = a.parser.ParseFromLexer(peeking)
	var failure participle.Error
	switch {
	case err == nil:
		if len(shape) > 0 && len(a.shapes) < mostShapes {
			if a.shapes == nil {
				a.shapes = make(map[string]*P)
			}
			a.shapes[string(shape)] = parsed
		}
		return parsed, 0, true
	case errors.As(err, &failure):
		failedAt = failure.Position().Offset
	}
	return nil, min(max(failedAt, 0), len(tokens)), false
}

// namesOf gives the names among captured tokens, separators left out. The entry is the one to which the production was
// applied, or another of the same shape.
func namesOf(captured []lexer.Token, entry []token) []name {
	names := make([]name, 0, (len(captured)+1)/2)
	for _, c := range captured {
		if c.Type == tokenType(word) {
			names = append(names, nameOf(c, entry))
		}
	}
	return names
}

func nameOf(captured lexer.Token, entry []token) name {
	t := entry[captured.Pos.Offset]
	return name{text: t.text, start: t.start}
}
