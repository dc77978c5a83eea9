package negotiation

import (
	"net/url"
	"strings"

	"github.com/dunglas/httpsfv"
)

// Agent is what the header UCP-Agent says of who sends a request.
type Agent struct {
	// Profile is the URL of its profile.
	Profile string
	// Version is the release that it says it speaks, as platforms of 2026-01-11 do; empty where it does not say.
	Version string
}

// ParseAgent reads the header UCP-Agent, a dictionary of structured fields (RFC 8941), given by all its lines. The error
// is an [*Error] with [InvalidProfileURL] if there is none, if it cannot be read, or if its profile is no absolute http or
// https URL. Whether http is good enough is for the caller to say: UCP demands https.
func ParseAgent(lines []string) (Agent, error) {
	invalid := func(content string, err error) (Agent, error) {
		return Agent{}, &Error{Code: InvalidProfileURL, Content: content, Err: err}
	}
	if len(lines) == 0 {
		return invalid("The header UCP-Agent is missing.", nil)
	}
	dictionary, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		return invalid(`The header UCP-Agent is no dictionary such as profile="https://platform.example/profile".`, err)
	}
	var a Agent
	member, _ := dictionary.Get("profile")
	item, ok := member.(httpsfv.Item)
	if a.Profile, _ = item.Value.(string); !ok || a.Profile == "" {
		return invalid("The header UCP-Agent has no profile, a quoted URL.", nil)
	}
	// Platforms of 2026-01-11 write the version behind the profile, as a parameter or as a member of its own.
	if version, ok := item.Params.Get("version"); ok {
		a.Version, _ = version.(string)
	} else if member, ok := dictionary.Get("version"); ok {
		if item, ok := member.(httpsfv.Item); ok {
			a.Version, _ = item.Value.(string)
		}
	}
	u, err := url.Parse(a.Profile)
	// A URL has none of the characters below (RFC 3986); what else reads the header would take them for its end.
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil ||
		strings.ContainsAny(a.Profile, "\"\\ <>") {
		return invalid("The profile in the header UCP-Agent is no URL.", err)
	}
	return a, nil
}

// String gives the header.
func (a Agent) String() string {
	header := `profile="` + escape(a.Profile) + `"`
	if a.Version != "" {
		header += `;version="` + escape(a.Version) + `"`
	}
	return header
}

// escape makes a structured field's string of a text; what such a string cannot have, no URL has.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e {
			return -1
		}
		return r
	}, text))
}
