package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// documents gives all documents, by their paths from the root of the repository.
func documents(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..")
	all := make(map[string]string)
	for _, pattern := range []string{"*.md", "docs/*.md", "bridge/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, names, pattern)
		for _, name := range names {
			path, err := filepath.Rel(root, name)
			require.NoError(t, err)
			all[filepath.ToSlash(path)] = document(t, path)
		}
	}
	return all
}

// link matches a link of Markdown: the path, which is empty within a document, and the heading behind a hash.
var link = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]*))?\)`)

// Whatever a document points to in the repository is there, headings included.
func TestLinksOfTheDocuments(t *testing.T) {
	all := documents(t)
	for name, text := range all {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			target := name
			if found[1] != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(name), filepath.FromSlash(found[1])))
				_, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(target)))
				require.NoError(t, err, "%s in %s", found[0], name)
			}
			if found[2] != "" {
				require.Contains(t, anchors(all[target]), found[2], "%s in %s", found[0], name)
			}
		}
	}
}

var heading = regexp.MustCompile(`(?m)^#+ (.*)$`)

// anchors gives the names that code hosts give to the headings of a document.
func anchors(text string) []string {
	var all []string
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, found[1]))
	}
	return all
}

// shellLine matches a command of a block, up to a comment, a pipe or a redirection. It may go on over several lines.
var shellLine = regexp.MustCompile(`(?m)^(?:    |\$ )(?:go run \./cmd/)?strabo ((?:\\\n|[^#|>\n])+)`)

// mention matches a command in the text.
var mention = regexp.MustCompile("`strabo ([a-z][^`]*)`")

// Every command of a block is read as it is when it runs, and every flag that the text names beside a command is one of
// that command.
func TestCommandsOfTheDocuments(t *testing.T) {
	commands := newParser(nil).Model.Node
	lines, mentions := 0, 0
	for name, text := range documents(t) {
		for _, found := range shellLine.FindAllStringSubmatch(text, -1) {
			lines++
			line := strings.ReplaceAll(found[1], "\\\n", " ")
			if !strings.Contains(line, "'") {
				line = strings.ReplaceAll(line, `"`, "'")
			}
			if strings.HasSuffix(strings.TrimSpace(line), " --help") {
				continue
			}
			arguments := words(line)
			_, err := newParser(arguments).Parse(arguments) // A parser remembers what it was given.
			require.NoError(t, err, "%s in %s", found[0], name)
		}
		for _, found := range mention.FindAllStringSubmatch(text, -1) {
			mentions++
			requireFlags(t, commands, strings.Fields(found[1]), found[0]+" in "+name)
		}
	}
	require.Positive(t, lines)
	require.Positive(t, mentions)
}

// requireFlags checks that a command and the flags that are named with it exist.
func requireFlags(t *testing.T, node *kong.Node, arguments []string, where string) {
	t.Helper()
	for i, argument := range arguments {
		if flag, ok := strings.CutPrefix(argument, "--"); ok {
			flag, _, _ = strings.Cut(strings.TrimRight(flag, ",.…"), "=")
			require.True(t, flag == "help" || slices.ContainsFunc(node.AllFlags(true), func(group []*kong.Flag) bool {
				return slices.ContainsFunc(group, func(f *kong.Flag) bool {
					return f.Name == flag || f.Tag.Negatable != "" && "no-"+f.Name == flag
				})
			}), "--%s of %s", flag, where)
			continue
		}
		at := slices.IndexFunc(node.Children, func(child *kong.Node) bool { return child.Name == argument })
		if at >= 0 {
			node = node.Children[at]
		}
		require.True(t, i > 0 || at >= 0, "no command %s: %s", argument, where)
	}
}
