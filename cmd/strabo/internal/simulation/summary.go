package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/strabo-engine/strabo/enactment"
)

// Summary counts what happened in many runs. Its JSON form has the keys protocol, hash, finalize (batch or immediate),
// seed (that of the first run; the others follow), runs, endings, seeds (for each ending but complete, those of the
// first runs that ended so), refused (by reason) and actions.
type Summary struct {
	Protocol string `json:"protocol"`
	Hash     string `json:"hash"`
	Finalize string `json:"finalize"`
	Seed     uint64 `json:"seed"`
	Runs     int    `json:"runs"`
	// Endings counts runs.
	Endings map[Ending]int `json:"endings"`
	// Seeds tells how to see the runs that did not end well.
	Seeds map[Ending][]uint64 `json:"seeds"`
	// Refused counts attempts.
	Refused map[enactment.Code]int `json:"refused"`
	// Actions are all those of the protocol, in its order.
	Actions []Coverage `json:"actions"`
}

// Coverage counts what became of the attempts of one action.
type Coverage struct {
	Action string `json:"action"`
	Role   string `json:"role"`
	// Runs is in how many runs the action happened.
	Runs int `json:"runs"`
	// Happened and Refused count attempts in all runs.
	Happened int `json:"happened"`
	Refused  int `json:"refused"`
}

// mostSeeds is how many seeds of runs with one ending a summary lists.
const mostSeeds = 5

// Summarise makes runs with the seeds that follow that of the options, and counts. The recorder of the options is not
// used. The error is the cause for which the context ended before all runs were made.
func Summarise(ctx context.Context, rules *enactment.Rules, options Options, runs int) (Summary, error) {
	s := Summary{
		Protocol: rules.Protocol().Name(), Hash: rules.Hash(), Finalize: "immediate", Seed: options.Seed, Runs: runs,
		Endings: map[Ending]int{Complete: 0, Stuck: 0, Unfinished: 0},
		Seeds:   map[Ending][]uint64{Stuck: {}, Unfinished: {}},
		Refused: make(map[enactment.Code]int),
	}
	if options.Batch {
		s.Finalize = "batch"
	}
	place := make(map[string]int)
	for action := range rules.Protocol().Actions() {
		place[action.Name()] = len(s.Actions)
		s.Actions = append(s.Actions, Coverage{Action: action.Name(), Role: action.Role()})
	}
	inRun := make([]bool, len(s.Actions))
	options.Recorder = func(r enactment.Record) {
		switch r.Kind {
		case enactment.Happened:
			s.Actions[place[r.Action]].Happened++
			inRun[place[r.Action]] = true
		case enactment.Refused:
			s.Actions[place[r.Action]].Refused++
			s.Refused[r.Reason.Code]++
		}
	}
	for range runs {
		clear(inRun)
		ending, _, err := Enact(ctx, rules, options)
		if err != nil {
			return s, err
		}
		s.Endings[ending]++
		if seeds, kept := s.Seeds[ending]; kept && len(seeds) < mostSeeds {
			s.Seeds[ending] = append(seeds, options.Seed)
		}
		for i, happened := range inRun {
			if happened {
				s.Actions[i].Runs++
			}
		}
		options.Seed++
	}
	return s, nil
}

// WriteJSON writes the summary for a program, as one line. The error is the writer's.
func (s Summary) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(s)
}

// WriteText writes the summary for a person. The error is the writer's.
func (s Summary) WriteText(w io.Writer) error {
	var text strings.Builder
	width := len(enactment.BoundDifferently)
	for _, a := range s.Actions {
		width = max(width, runewidth.StringWidth(a.Role+": "+a.Action))
	}
	line := func(name string, columns ...any) {
		text.WriteString("  " + runewidth.FillRight(name, width))
		for _, column := range columns {
			fmt.Fprintf(&text, "  %8v", column)
		}
		text.WriteByte('\n')
	}
	fmt.Fprintf(&text, "%s: %d runs, %s finalisation, --seed %d and following\n\n", s.Protocol, s.Runs, s.Finalize, s.Seed)
	line("ended", "runs")
	for _, ending := range []Ending{Complete, Stuck, Unfinished} {
		columns := []any{s.Endings[ending]}
		if seeds := s.Seeds[ending]; len(seeds) > 0 {
			columns = append(columns, fmt.Sprintf("such as --seed %d", seeds[0]))
		}
		line(string(ending), columns...)
	}
	text.WriteByte('\n')
	line("refused", "attempts")
	for _, code := range s.reasons() {
		line(string(code), s.Refused[code])
	}
	if len(s.Refused) == 0 {
		line("(none)", 0)
	}
	text.WriteByte('\n')
	line("action", "runs", "happened", "refused")
	var never []string
	for _, a := range s.Actions {
		line(a.Role+": "+a.Action, a.Runs, a.Happened, a.Refused)
		if a.Happened == 0 {
			never = append(never, a.Action)
		}
	}
	fmt.Fprintf(&text, "\n%d of %d actions happened", len(s.Actions)-len(never), len(s.Actions))
	if len(never) > 0 {
		text.WriteString("; never: " + strings.Join(never, ", "))
	}
	text.WriteByte('\n')
	_, err := io.WriteString(w, text.String())
	return err
}

// reasons lists the reasons, the most frequent first.
func (s Summary) reasons() []enactment.Code {
	var codes []enactment.Code
	for code := range s.Refused {
		codes = append(codes, code)
	}
	slices.SortFunc(codes, func(a, b enactment.Code) int {
		if s.Refused[a] != s.Refused[b] {
			return s.Refused[b] - s.Refused[a]
		}
		return strings.Compare(string(a), string(b))
	})
	return codes
}
