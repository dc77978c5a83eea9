package syncserver_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// scraped gives the samples that servers tell, and demands that each metric is described once, before all of its samples.
func scraped(t *testing.T, servers ...*syncserver.Server) map[string]string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, syncserver.WriteMetrics(&text, servers...))
	samples, described, now := make(map[string]string), make(map[string]bool), ""
	for line := range strings.Lines(text.String()) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			now, _, _ = strings.Cut(name, " ")
			require.False(t, described[now], "%s is described twice", now)
			described[now] = true
			continue
		}
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		found := regexp.MustCompile(`^([a-z_]+)(\{[^{}]*\}) (\S+)$`).FindStringSubmatch(line)
		require.Len(t, found, 4, line)
		require.Regexp(t, "^"+now+"(_bucket|_sum|_count)?$", found[1])
		samples[found[1]+found[2]] = found[3]
	}
	return samples
}

// requireOpen demands that a server tells so many open enactments of a system, once it has read the log.
func requireOpen(t *testing.T, want string, server *syncserver.Server, system string) {
	t.Helper()
	sample := fmt.Sprintf(`strabo_open_enactments{system=%q}`, system)
	for deadline := time.Now().Add(time.Minute); ; {
		open := scraped(t, server)[sample]
		if open == want || time.Now().After(deadline) {
			require.Equal(t, want, open, sample)
			return
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	one := serve(t, s, rules, syncserver.ServerConfig{})
	c := client(t, connect(t, s), rules)
	for n := range 3 {
		Accepted(t, c, Attempt(Buyer, "RFQ", fmt.Sprint(n), "item", "fig"))
	}
	Accepted(t, c, Attempt(Buyer, "Reject", "1"))
	Refused(t, c, Attempt(Seller, "Stop", "none"))
	requireOpen(t, "2", one, "purchase")
	got := scraped(t, one)
	for sample, want := range map[string]string{
		`strabo_attempts_total{system="purchase",outcome="accepted"}`:    "4",
		`strabo_attempts_total{system="purchase",outcome="not_enabled"}`: "1",
		`strabo_attempt_seconds_count{system="purchase"}`:                "5",
		`strabo_attempt_seconds_bucket{system="purchase",le="+Inf"}`:     "5",
		`strabo_conflicts_total{system="purchase"}`:                      "0",
		`strabo_cached_enactments{system="purchase"}`:                    "4",
	} {
		require.Equal(t, want, got[sample], sample)
	}

	// What is open is open in the system, whatever server is asked, and also after others have gone on.
	other, second := serve(t, s, rules, syncserver.ServerConfig{}), serve(t, s, rules, syncserver.ServerConfig{System: "a.b c"})
	Accepted(t, one.Client(syncserver.ClientConfig{}), Attempt(Buyer, "RFQ", "4", "item", "fig"))
	Accepted(t, c, Attempt(Buyer, "Reject", "2"))
	Accepted(t, c, Attempt(Buyer, "Reject", "0"))
	requireOpen(t, "1", other, "purchase")
	requireOpen(t, "0", second, "a.b c")
	got = scraped(t, other, second)
	require.Contains(t, got, `strabo_open_enactments{system="purchase"}`)
	require.Contains(t, got, `strabo_open_enactments{system="a.b c"}`)
	requireOpen(t, "1", one, "purchase")
}
