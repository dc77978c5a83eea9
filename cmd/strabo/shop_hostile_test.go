package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShopWithFewFiles has a shop that may open few files meet many connections on which nobody asks for anything, or says
// only half of it, or has asked before. Whoever comes with a request is served, and the files of the store are not harmed.
func TestShopWithFewFiles(t *testing.T) {
	t.Parallel()
	most := often(t, "STRABO_TEST_SHOP_CONNECTIONS", 300)
	s := startShopBy(t, exec.Command("sh", "-c", fmt.Sprintf(
		"ulimit -n %d; exec strabo shop --listen 127.0.0.1:0 --store %s", most/2, t.TempDir())))
	address := strings.TrimPrefix(s.URL, "http://")
	for n := range most {
		connection, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer connection.Close()
		switch n % 3 {
		case 0:
			_, _ = fmt.Fprint(connection, "GET /.well-known/ucp HTTP/1.1\r\nHost: x\r\n\r\n")
			response, err := http.ReadResponse(bufio.NewReader(connection), nil)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, response.StatusCode)
			require.NoError(t, response.Body.Close())
		case 1:
			_, _ = fmt.Fprint(connection, "POST /checkout-sessions HTTP/1.1\r\nHost: x\r\nX-Slow: ")
		}
	}
	for n := range 3 {
		a, err := askShop("POST", s.URL+"/checkout-sessions", wantsAWick, fmt.Sprint("c", n))
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, a.status, a.raw)
		paid, err := askShop("POST", s.URL+"/checkout-sessions/"+a.ID+"/complete", pays, fmt.Sprint("p", n))
		require.NoError(t, err)
		require.Equal(t, "completed", paid.Status, paid.raw)
	}
	if memory, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid)); err == nil {
		for line := range strings.Lines(string(memory)) {
			if strings.HasPrefix(line, "VmHWM") {
				t.Logf("%d connections: %s", most, line)
			}
		}
	}
	s.kill()
	require.NotContains(t, s.log.String(), `"level":"ERROR"`)
	require.NotContains(t, s.log.String(), "too many open files")
}
