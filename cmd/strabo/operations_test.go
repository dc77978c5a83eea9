package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

func operations(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	require.NoError(t, err)
	return string(text)
}

// Every command that stands on lines of its own is one that there is, with flags that it has.
func TestCommandsOfOperations(t *testing.T) {
	found := regexp.MustCompile("(?m)^    strabo (.*)$|`strabo ((?:enactments show|bench|nats-config|demo) [^`|]*)`").FindAllStringSubmatch(operations(t), -1)
	require.Greater(t, len(found), 10)
	for _, command := range found {
		arguments := words(command[1] + command[2])
		_, err := newParser(arguments).Parse(arguments)
		require.NoError(t, err, command[0])
	}
}

// The configuration of NATS is read by NATS, with accounts beside it.
func TestConfigurationOfOperations(t *testing.T) {
	configurations := fenced(operations(t), "nats")
	require.NotEmpty(t, configurations)
	for _, text := range configurations {
		dir := t.TempDir()
		strabo(t, exitFine, "nats-config", "purchase", "--out", dir)
		file := filepath.Join(dir, "nats.conf")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		options, err := server.ProcessConfigFile(file)
		require.NoError(t, err)
		require.Len(t, options.Routes, 3)
		require.Len(t, options.Accounts, 4)
	}
}

// What only reads makes nothing: neither a directory that was misspelt nor keys that open nothing.
func TestReadingMakesNothing(t *testing.T) {
	dir := t.TempDir()
	missing, data := filepath.Join(dir, "missing"), filepath.Join(dir, "data")
	strabo(t, exitWrongUse, "enactments", "ls", "purchase", "--store", missing)
	require.NoFileExists(t, missing)
	startServing(t, "purchase", "--store", data).stop(t)
	keys := filepath.Join(data, "keys")
	require.NoError(t, os.Rename(keys, filepath.Join(dir, "kept")))
	var out, said bytes.Buffer
	require.Equal(t, exitWrongUse, run([]string{"backup", "purchase", "--store", data, "--out", filepath.Join(dir, "backup")}, nil, &out, &said))
	require.Contains(t, said.String(), "give --keys")
	strabo(t, exitWrongUse, "enactments", "ls", "purchase", "--store", data, "--keys", missing)
	require.NoFileExists(t, missing)
	require.NoFileExists(t, keys)
	require.Empty(t, strabo(t, exitFine, "enactments", "ls", "purchase", "--store", data, "--keys", filepath.Join(dir, "kept")))
}
