package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

type profileCommand struct {
	Release      string `default:"2026-04-08" enum:"2026-01-11,2026-01-23,2026-04-08" help:"The release to print it of: ${enum}."`
	Webhook      string `placeholder:"URL" help:"Where shops tell of orders."`
	SigningKey   string `type:"path" placeholder:"FILE" help:"Private key (PEM, P-256) that requests are signed with; the profile has the public one. Made if missing."`
	SigningKeyID string `name:"signing-key-id" default:"platform-1" placeholder:"ID" help:"The id of the key in the profile: ${default}."`
	MandateKey   string `type:"path" placeholder:"FILE" help:"Private key (PEM, P-256) that mandates are signed with (AP2): the profile has the extension, and the public key. Made if missing."`
	MandateKeyID string `name:"mandate-key-id" default:"mandate-1" placeholder:"ID" help:"The id of that key in the profile: ${default}."`
	Listen       string `placeholder:"ADDR" help:"Serve the profile of each release at /RELEASE instead of printing one."`
}

// Help is shown by strabo profile --help.
func (profileCommand) Help() string {
	return `Prints the profile of a platform that does what strabo buy can do, in a release of UCP. Shops of 2026-01-23 and later ` +
		`fetch it from where strabo buy --profile says; put what is printed there, or have it served by --listen.

With --listen it serves all releases until it is told to stop, as UCP asks for: for everybody, to be kept for an hour. ` +
		`On standard output it prints one line of JSON when it is ready, whose profile goes into strabo buy --profile. ` +
		`Shops want https and a public address, so there has to be a proxy in front; strabo shop --local-webhooks takes ` +
		`this one as it is.

Exit status: 0 when it was printed, or stopped; 2 on wrong use, or when it could not be served.`
}

func (profileCommand) examples() string {
	return `  strabo profile --release 2026-01-23
  strabo profile --signing-key platform.pem --webhook https://platform.example/orders > profile.json
  strabo profile --signing-key platform.pem --listen 127.0.0.1:8285
  strabo buy --business http://127.0.0.1:8182 --item oil-lamp --profile 'http://127.0.0.1:8285/{release}' \
      --signing-key platform.pem
`
}

// Run prints the profile, or serves the profiles until the context ends.
func (c *profileCommand) Run(ctx context.Context, s *streams) error {
	if c.Webhook != "" {
		if u, err := url.Parse(c.Webhook); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return fmt.Errorf("--webhook %s: a URL of https is needed", c.Webhook)
		}
	}
	keys, err := c.keys()
	if err != nil {
		return err
	}
	if c.Listen != "" {
		return c.serve(ctx, s, keys)
	}
	p, err := c.profile(wire.Release(c.Release), keys)
	if err != nil {
		return err
	}
	text, err := p.Encode()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, out.String())
	return err
}

// keys are the public keys of the profile.
func (c *profileCommand) keys() ([]negotiation.Key, error) {
	var keys []negotiation.Key
	for _, of := range []struct{ flag, file, id string }{
		{"--signing-key", c.SigningKey, c.SigningKeyID}, {"--mandate-key", c.MandateKey, c.MandateKeyID},
	} {
		if of.file == "" {
			continue
		}
		signer, err := signerIn(of.flag, of.file, of.id)
		if err != nil {
			return nil, err
		}
		key, err := signer.Public()
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// profile is the profile of a release.
func (c *profileCommand) profile(release wire.Release, keys []negotiation.Key) (*negotiation.Profile, error) {
	p, err := ucp.PlatformProfile(release, c.Webhook, keys...)
	if err == nil && c.MandateKey != "" {
		ucp.OfferMandates(p, release)
	}
	return p, err
}

// serve serves the profile of each release.
func (c *profileCommand) serve(ctx context.Context, s *streams, keys []negotiation.Key) error {
	mux := http.NewServeMux()
	for _, release := range wire.Releases() {
		p, err := c.profile(release, keys)
		if err != nil {
			return err
		}
		handler, err := ucp.ProfileHandler(p)
		if err != nil {
			return err
		}
		mux.Handle("/"+string(release), handler)
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: headerTimeout, IdleTimeout: idleTimeout,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	failed := printLine(s, struct {
		Profile string `json:"profile"`
	}{"http://" + listener.Addr().String() + "/{release}"})
	if failed == nil {
		select {
		case <-ctx.Done():
		case err := <-ended:
			return err
		}
	}
	closing, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	err = errors.Join(failed, server.Shutdown(closing))
	if stopped := <-ended; !errors.Is(stopped, http.ErrServerClosed) {
		err = errors.Join(err, stopped)
	}
	return err
}
