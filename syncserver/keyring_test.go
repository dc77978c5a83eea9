package syncserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/syncserver"
)

func TestKeyring(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	first, err := syncserver.LoadKeyring(path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	sealed := first.Seal([]byte("4242"), []byte("here"))
	require.NotContains(t, string(sealed), "4242")
	plain, err := first.Open(sealed, []byte("here"))
	require.NoError(t, err)
	require.Equal(t, "4242", string(plain))
	_, err = first.Open(sealed, []byte("there"))
	require.Error(t, err, "it is bound to where it belongs")
	sealed[len(sealed)-1] ^= 1
	_, err = first.Open(sealed, []byte("here"))
	require.Error(t, err)
	sealed[len(sealed)-1] ^= 1

	// A new key in front: what was sealed before opens still, and what is sealed now does not open with the old one.
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	other := filepath.Join(t.TempDir(), "keys")
	_, err = syncserver.LoadKeyring(other)
	require.NoError(t, err)
	fresh, err := os.ReadFile(other)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte("# new\n"+string(fresh)+string(text)), 0o600))
	both, err := syncserver.LoadKeyring(path)
	require.NoError(t, err)
	plain, err = both.Open(sealed, []byte("here"))
	require.NoError(t, err)
	require.Equal(t, "4242", string(plain))
	_, err = first.Open(both.Seal([]byte("x"), nil), nil)
	require.Error(t, err)

	for _, bad := range []string{"", "short\n", "!\n", strings.Repeat("A", 40) + "\n"} {
		require.NoError(t, os.WriteFile(path, []byte(bad), 0o600))
		_, err = syncserver.LoadKeyring(path)
		require.Error(t, err, "%q", bad)
	}
	_, err = syncserver.NewKeyring()
	require.Error(t, err)
}
