package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// blocks gives the blocks of a language in docs/ci.md.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/ci.md")
	require.NoError(t, err)
	var found []string
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		found = append(found, block[1])
	}
	require.NotEmpty(t, found)
	return found
}

// shell gives a command that finds strabo, which is this test again.
func shell(t *testing.T, folder, name string, arguments ...string) *exec.Cmd {
	t.Helper()
	bin := t.TempDir()
	test, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(test, filepath.Join(bin, "strabo")))
	command := exec.Command(name, arguments...)
	command.Dir = folder
	command.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com")
	return command
}

const (
	goodProtocol  = "Good\n\nwho A, B\n\nwhat ID key, Two\n\ndo\n  A: One(ID)\n  B: Two(ID, One)\n"
	stuckProtocol = "Stuck\n\nwho A, B\n\nwhat ID key, Two\n\ndo\n  A: One(ID)\n  A: Three(ID)\n  B: Two(ID, One)\n\nnono\n  One Three\n"
)

// TestHook commits with the hook of the documentation.
func TestHook(t *testing.T) {
	for _, tool := range []string{"git", "sh", "find"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s here", tool)
		}
	}
	folder := t.TempDir()
	run := func(name string, arguments ...string) (string, error) {
		out, err := shell(t, folder, name, arguments...).CombinedOutput()
		return string(out), err
	}
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	commit := func(text string) (string, error) {
		write("protocols/a protocol.lsh", text)
		_, err := run("git", "add", "-A")
		require.NoError(t, err)
		return run("git", "commit", "-m", "change")
	}
	_, err := run("git", "init")
	require.NoError(t, err)
	hook := filepath.Join(folder, ".git", "hooks", "pre-commit")
	require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	require.NoError(t, os.WriteFile(hook, []byte(blocks(t, "sh")[0]), 0o755))

	write("README", "no protocols yet")
	_, err = run("git", "add", "-A")
	require.NoError(t, err)
	out, err := run("git", "commit", "-m", "first")
	require.NoError(t, err, out)
	out, err = commit(goodProtocol)
	require.NoError(t, err, out)
	out, err = commit(strings.Replace(goodProtocol, "A, B", "A,B", 1))
	require.Error(t, err)
	require.Contains(t, out, "a protocol.lsh")
	out, err = commit(stuckProtocol)
	require.Error(t, err)
	require.Contains(t, out, "not live")
	// What counts is what is staged, not what lies in the folder.
	write("protocols/a protocol.lsh", goodProtocol)
	_, err = run("git", "commit", "-m", "still stuck")
	require.Error(t, err)
	_, err = run("git", "rm", "-q", "-f", "protocols/a protocol.lsh")
	require.NoError(t, err)
	out, err = run("git", "commit", "-m", "gone")
	require.NoError(t, err, out)
}

// TestWorkflow runs the commands of the workflow and of the hooks of the documentation.
func TestWorkflow(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh here")
	}
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "protocols"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "protocols", "good.lsh"), []byte(goodProtocol), 0o644))
	stuck := filepath.Join(folder, "protocols", "stuck.lsh")

	var hooks struct {
		Repos []struct {
			Hooks []struct{ ID, Name, Entry, Language, Files string }
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(blocks(t, "yaml")[0]), &hooks))
	for _, hook := range hooks.Repos[0].Hooks {
		require.Regexp(t, hook.Files, "protocols/good.lsh")
		out, err := shell(t, folder, "sh", "-c", hook.Entry+" protocols/good.lsh").CombinedOutput()
		require.NoError(t, err, string(out))
	}

	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Run string }
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(blocks(t, "yaml")[1]), &workflow))
	commands := 0
	for _, step := range workflow.Jobs["protocols"].Steps {
		if !strings.HasPrefix(step.Run, "strabo ") {
			continue
		}
		commands++
		out, err := shell(t, folder, "sh", "-c", step.Run).CombinedOutput()
		require.NoError(t, err, string(out))
		require.NoError(t, os.WriteFile(stuck, []byte(strings.Replace(stuckProtocol, "A, B", "A,B", 1)), 0o644))
		require.Error(t, shell(t, folder, "sh", "-c", step.Run).Run(), step.Run)
		require.NoError(t, os.Remove(stuck))
	}
	require.Equal(t, 2, commands)
	log, err := os.ReadFile(filepath.Join(folder, "strabo.sarif"))
	require.NoError(t, err)
	require.Contains(t, string(log), `"ruleId": "not-live"`)
}
