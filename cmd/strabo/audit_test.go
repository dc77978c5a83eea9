package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/approval"
	"github.com/strabo-engine/strabo/bridge/approval/natsapproval"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/audit/natsaudit"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

// TestBuyIsAudited buys twice, and looks at what is written and printed: no payment token, no idempotency key.
func TestBuyIsAudited(t *testing.T) {
	url, shop := lampShop(t)
	dir := t.TempDir()
	file, journal := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "journal")
	const token = "tok_9f81-of-nobody" // not one of those that the shop tells everybody
	for order, pay := range []string{"mock_payment_handler:success_token", "mock_payment_handler:" + token} {
		code, out, errs := runStrabo("", append([]string{
			"buy", "--business", url, "--item", "oil-lamp", "--currency", "EUR", "--pay", pay, "--audit", file,
			"--journal", journal, "--order-id", fmt.Sprint("order-", order),
		}, pharos...)...)
		require.Equal(t, []int{exitFine, exitNo}[order], code, out+errs)
	}
	require.Equal(t, 1, shop.Orders())
	var printed strings.Builder
	for _, arguments := range [][]string{{}, {"--long"}, {"--json"}} {
		code, out, errs := runStrabo("", append([]string{"audit", "--file", file}, arguments...)...)
		require.Zero(t, code, errs)
		printed.WriteString(out)
	}
	require.Contains(t, printed.String(), " intent ")
	require.Contains(t, printed.String(), " checkout_complete POST "+url)
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	kept, err := os.ReadFile(journal)
	require.NoError(t, err)
	keys := regexp.MustCompile(`"key":"([^"]+)"`).FindAllStringSubmatch(string(kept), -1)
	require.NotEmpty(t, keys)
	for _, text := range []string{printed.String(), string(written)} {
		require.NotContains(t, text, token)
		require.NotContains(t, text, base64.RawStdEncoding.EncodeToString([]byte(token))[:9])
		for _, key := range keys {
			require.NotContains(t, text, key[1])
		}
	}
	// Where the audit cannot be written, nothing is bought.
	code, _, errs := runStrabo("", append([]string{
		"buy", "--business", url, "--item", "oil-lamp", "--currency", "EUR", "--audit", filepath.Join(dir, "no", "audit.jsonl"),
	}, pharos...)...)
	require.Equal(t, exitWrongUse, code)
	require.Contains(t, errs, "--audit")
	require.Equal(t, 1, shop.Orders())
}

// TestAuditAndApprovalsOverNATS runs the commands beside a bridge that keeps both in a NATS.
func TestAuditAndApprovalsOverNATS(t *testing.T) {
	server, err := embedded.Start(embedded.Options{StoreDir: t.TempDir(), Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	defer server.Shutdown()
	conn, err := server.Connect()
	require.NoError(t, err)
	defer conn.Close()
	url := server.URL()

	for _, command := range [][]string{{"audit"}, {"approvals", "ls"}} {
		code, out, errs := runStrabo("", append(command, "--nats", url)...)
		require.Equal(t, exitWrongUse, code, "the commands make nothing that is not there")
		require.Empty(t, out)
		require.Contains(t, errs, "not found")
	}

	stream, err := natsaudit.Open(t.Context(), conn, natsaudit.Options{})
	require.NoError(t, err)
	for _, kind := range []audit.Kind{audit.FirstCall, audit.Denied} {
		require.NoError(t, stream.Record(t.Context(), audit.Record{At: time.Now(), Kind: kind, Enactment: `{"cid":"c1"}`}))
	}
	code, out, errs := runStrabo("", "audit", "--nats", url, "--kind", "denied")
	require.Zero(t, code, errs)
	require.Equal(t, 1, strings.Count(out, "\n"))
	require.Contains(t, out, ` denied             {"cid":"c1"}`)

	store, err := natsapproval.Open(t.Context(), conn, natsapproval.Options{})
	require.NoError(t, err)
	request := approval.Request{ID: "pay-1", Digest: strings.Repeat("1", 64), At: time.Now()}
	_, err = store.Ask(t.Context(), request)
	require.NoError(t, err)
	waited := make(chan approval.Decision)
	go func() {
		decision, err := store.Wait(t.Context(), "pay-1")
		if err != nil {
			decision.Reason = err.Error()
		}
		waited <- decision
	}()
	code, out, errs = runStrabo("", "approvals", "ls", "--nats", url, "--json")
	require.Zero(t, code, errs)
	var shown struct{ Reference string }
	require.NoError(t, json.Unmarshal([]byte(out), &shown))
	code, _, errs = runStrabo("", "approvals", "grant", "--nats", url, shown.Reference, "--by", "ada", "--reason", "fine")
	require.Zero(t, code, errs)
	decision := <-waited
	require.Equal(t, approval.Granted, decision.State)
	require.Equal(t, "ada", decision.By)
	code, _, errs = runStrabo("", "approvals", "deny", "--nats", url, shown.Reference)
	require.Equal(t, exitNo, code)
	require.Contains(t, errs, "granted pay-1@1111111111111111 by ada")
}
