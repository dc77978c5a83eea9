package langshaw

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// MostShown is how many diagnostics of one text [WriteText] shows.
const MostShown = 100

// WriteText writes diagnostics for a person, as
//
//	file:line:column: severity[code]: message
//	    the line of the text
//	        ^^^^
//	did you mean name?
//
// in the order given; a line with nothing on it is not shown. The text is the one that was parsed. After [MostShown] diagnostics it only says how many more
// there are. Without diagnostics it writes nothing. The error is the writer's.
func WriteText(w io.Writer, file string, text []byte, diagnostics Diagnostics) error {
	out := bufio.NewWriter(w)
	for i, d := range diagnostics {
		if i == MostShown {
			fmt.Fprintf(out, "%s: %s\n", file, countMore(diagnostics[i:]))
			break
		}
		fmt.Fprintf(out, "%s:%s\n", file, d)
		if line, marks := snippet(text, d.Span); line != "" {
			fmt.Fprintf(out, "%s%s\n%s%s\n", indent, line, indent, marks)
		}
		if d.Suggestion != "" {
			fmt.Fprintf(out, "did you mean %s?\n", d.Suggestion)
		}
	}
	return out.Flush()
}

const indent = "    "

func countMore(rest Diagnostics) string {
	atLeast := ""
	if last := len(rest) - 1; rest[last].Code == CodeTooMany {
		atLeast, rest = "at least ", rest[:last]
	}
	failures := 0
	for _, d := range rest {
		if d.Severity == Error {
			failures++
		}
	}
	return fmt.Sprintf("%s%d more (%s, %s)", atLeast, len(rest), count(failures, "error"), count(len(rest)-failures, "warning"))
}

func count(number int, noun string) string {
	if number != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", number, noun)
}

// WriteJSON writes one line for a program: a JSON object with the keys file, protocol (its name) and diagnostics,
// which has all of them in the order given and is empty if there is none. The error is the writer's.
func WriteJSON(w io.Writer, file string, protocol *Protocol, diagnostics Diagnostics) error {
	if diagnostics == nil {
		diagnostics = Diagnostics{}
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return out.Encode(struct {
		File        string      `json:"file"`
		Protocol    string      `json:"protocol"`
		Diagnostics Diagnostics `json:"diagnostics"`
	}{file, protocol.Name(), diagnostics})
}
