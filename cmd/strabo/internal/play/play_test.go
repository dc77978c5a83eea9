package play_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/play"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/protocols"
)

func load(t testing.TB, name string) *enactment.Rules {
	t.Helper()
	rules, err := protocols.Load(name)
	require.NoError(t, err)
	return rules
}

// played gives what is written in answer to some lines.
func played(t testing.TB, rules *enactment.Rules, roles []string, lines ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := play.Play(t.Context(), rules, play.Options{Roles: roles, Seed: 1, In: strings.NewReader(strings.Join(lines, "\n")), Out: &out})
	return out.String(), err
}

func TestBindings(t *testing.T) {
	for line, expected := range map[string]string{
		`Request ID=1 question=why`:                     `[1]  Request  question="why"`,
		`Request ID=x question="why so"`:                `[x]  Request  question="why so"`,
		`Request question={"a": [1, 2]}   ID="a b"`:     `[a b]  Request  question={"a":[1,2]}`,
		`Request {"ID": 1.50, "question": null}`:        `[1.5]  Request`,
		`1 ID=1 question=true`:                          `[1]  Request  question=true`,
		"Request\n7\nplain text, with = and \"quotes\"": `[7]  Request  question="plain text, with = and \"quotes\""`,
		"Request ID=7\n{\"in\": \"JSON\"}":              `[7]  Request  question={"in":"JSON"}`,
		`Request ID=1 answer=2 question=3`:              "refused, malformed: Request does not carry answer",
		`Request ID=[1] question=3`:                     "refused, malformed: ",
		`Request ID=1 ID=2`:                             "ID is bound twice",
		`Request ID`:                                    `"ID" is not of the form attribute=value`,
		`Request question="open`:                        "question: the value is no JSON",
		`Request {"ID"`:                                 "these values are no JSON object",
		`Request ID=1 question={"a":1,"a":2}`:           "question: malformed",
		`Reply answer=3`:                                "Reply is not enabled: Reply needs Request, which has not happened; Client may do it (not_enabled)",
		`2`:                                             "There is no number 2.",
		`Requst`:                                        `There is no action "Requst", did you mean Request?`,
		`why`:                                           `There is no action ""`,
		`why Request`:                                   "Request is enabled\n",
		"undo":                                          "There is nothing to undo.",
		"pass":                                          "You play all roles.",
		"history":                                       "",
		"Request ID=1 question=2\nReply {\"answer\":\"3\"}": "It is complete, and nobody has anything left to do.",
	} {
		out, err := played(t, load(t, "request-reply"), nil, line)
		require.NoError(t, err, line)
		require.Contains(t, out, expected, line)
	}
}

// A person sees what the person's roles see, and no secrets.
func TestSight(t *testing.T) {
	purchase := load(t, "purchase")
	script := []string{`RFQ ID=1 item=fig`, `Quote price=20`, `Accept address=here payment=gold`, `Instruct fee=3`, `history`}
	all, err := played(t, purchase, nil, script...)
	require.NoError(t, err)
	require.Contains(t, all, "payment=(secret)")
	require.NotContains(t, all, "gold")
	require.Contains(t, all, "fee=3")

	out, err := played(t, purchase, []string{"Shipper"}, "history", "Accept", "Deliver")
	require.NoError(t, err)
	require.Contains(t, out, `Buyer   [ID-1]  Accept  address="address-1"`+"\n", "of what is accepted the shipper learns where to")
	require.NotContains(t, out, "price", "the shipper is not told of it")
	require.NotContains(t, out, "payment")
	require.Contains(t, out, "Accept is an action of Buyer, whom you do not play.")
}

func TestSameSeedSameGame(t *testing.T) {
	script := []string{"Begin", "", "", "", "1", "", "", "", "1", "", "", "", "history"}
	update := load(t, "simple-ucp-update")
	first, err := played(t, update, []string{"Business"}, script...)
	require.NoError(t, err)
	again, err := played(t, update, []string{"Business"}, script...)
	require.NoError(t, err)
	require.Equal(t, first, again)
}

func TestStuck(t *testing.T) {
	protocol, diagnostics := langshaw.Parse([]byte("P\nwho A, B\nwhat ID key, Second\ndo\n A: First(ID)\n B: Second(ID, First, x)\n"))
	require.False(t, diagnostics.HasErrors())
	rules, err := enactment.Compile(protocol)
	require.NoError(t, err)
	out, err := played(t, rules, nil, "First ID=1")
	require.ErrorIs(t, err, play.ErrStuck)
	require.Contains(t, out, "Second is not enabled: Second needs x, which is not known yet;")
}

func TestFailures(t *testing.T) {
	rules := load(t, "request-reply")
	_, err := played(t, rules, []string{"Judge"})
	require.EqualError(t, err, `RequestReply has no role "Judge": its roles are Client, Server`)

	_, err = played(t, rules, nil, strings.Repeat("x", 2<<20))
	require.ErrorContains(t, err, "too long")

	dead := errors.New("the line is dead")
	require.ErrorIs(t, play.Play(t.Context(), rules, play.Options{In: iotest.ErrReader(dead), Out: io.Discard}), dead)
	reader, writer := io.Pipe()
	require.NoError(t, reader.CloseWithError(dead))
	require.ErrorIs(t, play.Play(t.Context(), rules, play.Options{In: strings.NewReader("help"), Out: writer}), dead)
}

// Nobody has to type a line for an interrupt to be heeded.
func TestInterrupt(t *testing.T) {
	interrupted := errors.New("interrupted")
	ctx, interrupt := context.WithCancelCause(t.Context())
	reader, writer := io.Pipe()
	defer writer.Close()
	asked := writerFunc(func(p []byte) (int, error) {
		if string(p) == "> " {
			interrupt(interrupted)
		}
		return len(p), nil
	})
	err := play.Play(ctx, load(t, "request-reply"), play.Options{In: reader, Out: asked, Terminal: true})
	require.ErrorIs(t, err, interrupted)
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

// FuzzPlay holds the table against arbitrary lines: it answers them all, and writes nothing that a terminal obeys.
func FuzzPlay(f *testing.F) {
	f.Add("RFQ ID=1 item=fig\nQuote QID=q1 price=1\nAward\nwhy Quote\nundo\nhistory\nFulfil\n", false)
	f.Add("1\n\n\n\n1\npass\nwhy Award QID=\"x\"\n", true)
	f.Add("RFQ a\x1b[31m=1 a\x1b[31m=2\nRFQ {\"a\x1b\":1}\n\x1b[2J\nwhy \x1b\n", false)
	f.Add("why Award QID={}\nRFQ {\"ID\":\"\\u001b[31m\"}\n\n", true)
	rules := load(f, "rfq-quotes")
	f.Fuzz(func(t *testing.T, script string, alone bool) {
		var roles []string
		if alone {
			roles = []string{"Buyer"}
		}
		out, err := played(t, rules, roles, script)
		if err != nil {
			require.ErrorContains(t, err, "too long")
		}
		require.NotContains(t, strings.ReplaceAll(out, "\n", ""), "\x1b")
	})
}
