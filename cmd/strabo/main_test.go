package main

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// runStrabo runs the program in this process.
func runStrabo(in string, arguments ...string) (code int, out, err string) {
	var stdout, stderr bytes.Buffer
	code = run(arguments, strings.NewReader(in), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// TestEveryCommandHasExamples also checks that help ends with them and is no failure.
func TestEveryCommandHasExamples(t *testing.T) {
	for name, field := range commandFields() {
		t.Run(name, func(t *testing.T) {
			command, ok := reflect.New(field.Type).Interface().(interface{ examples() string })
			require.True(t, ok, "no examples")
			code, out, err := runStrabo("", name, "--help")
			require.Zero(t, code)
			require.Empty(t, err)
			require.True(t, strings.HasSuffix(out, "\nExamples:\n"+command.examples()), out)
			require.Contains(t, command.examples(), "  strabo "+name)
		})
	}
}

func TestInputFails(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run([]string{"check", "-"}, iotest.ErrReader(errors.New("the line is dead")), &stdout, &stderr)
	require.Equal(t, exitWrongUse, code)
	require.Empty(t, stdout.String())
	require.Equal(t, "strabo: cannot read standard input: the line is dead\n", stderr.String())
}

func TestOutputFails(t *testing.T) {
	for _, arguments := range [][]string{{"check", "-"}, {"check", "--json", "-"}} {
		var stderr bytes.Buffer
		out := writerFunc(func([]byte) (int, error) { return 0, errors.New("the disk is full") })
		require.Equal(t, exitWrongUse, run(arguments, strings.NewReader("x"), out, &stderr))
		require.Equal(t, "strabo: cannot print the answer: the disk is full\n", stderr.String())
	}
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

func TestCommandPanicsAreNotHidden(t *testing.T) {
	require.PanicsWithValue(t, "broken", func() {
		out := writerFunc(func([]byte) (int, error) { panic("broken") })
		run([]string{"check", "-"}, strings.NewReader("x"), out, out)
	})
}

// endless is input that never ends.
type endless struct{}

func (endless) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}

func TestInputWithoutEndIsRefused(t *testing.T) {
	var out, failures bytes.Buffer
	require.Equal(t, exitWrongUse, run([]string{"check", "-"}, endless{}, &out, &failures))
	require.Equal(t, "strabo: cannot read standard input: no protocol is that large: there are more than 64 MiB\n", failures.String())
	require.Empty(t, out.String())
}
