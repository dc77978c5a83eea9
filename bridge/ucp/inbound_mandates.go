package ucp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/bridge/ucp/mandate"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
)

// Mandates are what a business needs for the extension dev.ucp.shopping.ap2_mandate: with a platform that has it too,
// every checkout is signed, and none is completed without a mandate for it.
type Mandates struct {
	// Signer signs checkouts. Its key is in the business's profile. It is needed.
	Signer *signature.Signer
	// Platforms fetches the profiles of platforms, which say whether they have the extension, and have the keys of their
	// mandates. It is needed.
	Platforms *profiles.Fetcher
	// Keys are other keys of the business: those that it has signed checkouts with before it changed the key.
	Keys []negotiation.Key
	// Issuer finds the keys of those who issue credentials to users, such as banks, if the business trusts any: see
	// [mandate.Verifier].
	Issuer func(ctx context.Context, issuer, id string) (negotiation.Key, bool, error)
}

func (m *Mandates) check() error {
	if m != nil && (m.Signer == nil || m.Platforms == nil) {
		return errors.New("ucp: inbound: mandates need a signer and a fetcher of profiles")
	}
	return nil
}

// published are the keys that a profile has for them.
func (m *Mandates) published() ([]negotiation.Key, error) {
	if m == nil {
		return nil, nil
	}
	key, err := m.Signer.Public()
	return append([]negotiation.Key{key}, m.Keys...), err
}

// own finds a key of the business.
func (m *Mandates) own(_ context.Context, id string) (negotiation.Key, error) {
	keys, err := m.published()
	if err != nil {
		return negotiation.Key{}, err
	}
	for _, key := range keys {
		if key.ID == id {
			return key, nil
		}
	}
	return negotiation.Key{}, &negotiation.Error{Code: negotiation.KeyNotFound, Content: "The business has no such key."}
}

// of finds the keys in the profile of a platform.
func (m *Mandates) of(profile string) signature.Keys {
	return func(ctx context.Context, id string) (negotiation.Key, error) {
		none := &negotiation.Error{Code: negotiation.KeyNotFound, Content: "The platform has no such key."}
		switch {
		case profile == "":
			return negotiation.Key{}, none
		case id != "":
			return m.Platforms.Key(ctx, profile, id)
		}
		p, err := m.Platforms.Get(ctx, profile)
		switch {
		case err != nil:
			return negotiation.Key{}, err
		case len(p.Keys) != 1:
			return negotiation.Key{}, none
		}
		return p.Keys[0], nil
	}
}

// dialect is how a request speaks that was translated on its way: see [Releases].
type dialect struct {
	// mandates tells that the extension was negotiated.
	mandates bool
	// outcomes tells that a no about a checkout is told by the checkout: see [Inbound.outcome].
	outcomes bool
	// write gives a checkout as it is going to be on the wire.
	write func(checkout []byte) ([]byte, error)
}

// dialectKey is the key of a dialect in the context of a request, where no platform can put one.
type dialectKey struct{}

func dialectIn(ctx context.Context) *dialect {
	d, _ := ctx.Value(dialectKey{}).(*dialect)
	return d
}

// written gives a checkout as the platform is going to see it.
func (d *dialect) written(checkout []byte) ([]byte, error) {
	if d == nil {
		return checkout, nil
	}
	return d.write(checkout)
}

// platform is what a Create binds as the profile of the platform: its URL or, where an extension was negotiated that the
// checkout is locked to from then on, the URL with the extension. That stands in the log with the checkout, so that it
// holds for as long as the checkout does, for every process, and whatever the profile says later.
type platform struct {
	URL        string   `json:"url"`
	Extensions []string `json:"extensions"`
}

// platformOf reads what a Create has bound.
func platformOf(standing *model.Standing) platform {
	var p platform
	value, ok := standing.Create.Value("profile")
	if !ok || value.Decode(&p.URL) == nil {
		return p
	}
	if value.Decode(&p) != nil {
		return platform{}
	}
	return p
}

// locked tells that a checkout is not completed without a mandate.
func (p platform) locked() bool {
	return len(p.Extensions) == 1 && p.Extensions[0] == mandate.Extension
}

// profileTime is how long a request of 2026-01-11 waits for the profile of its platform. That release's public servers
// pass over a profile that cannot be had.
const profileTime = 2 * time.Second

// platform gives what a Create binds of the platform that it is from.
func (in *Inbound) platform(ctx context.Context, c *call) any {
	profile, named := profileIn(c.agent).(string)
	if !named {
		return nil
	}
	if !in.negotiates(ctx, c, profile) {
		return profile
	}
	return platform{profile, []string{mandate.Extension}}
}

// negotiates tells whether the extension is in the intersection of the platform and the business.
func (in *Inbound) negotiates(ctx context.Context, c *call, profile string) bool {
	switch {
	case in.options.Mandates == nil:
		return false
	case c.dialect != nil:
		return c.dialect.mandates
	}
	ctx, cancel := context.WithTimeout(ctx, profileTime)
	defer cancel()
	theirs, err := in.options.Mandates.Platforms.Get(ctx, profile)
	if err != nil || len(theirs.Capabilities[mandate.Extension]) == 0 {
		return false
	}
	ours := &negotiation.Profile{Capabilities: map[string][]negotiation.Capability{
		checkoutCapability: {{Entity: negotiation.Entity{Version: Release}}},
		mandate.Extension:  {{Entity: negotiation.Entity{Version: Release}, Extends: []string{checkoutCapability}}},
	}}
	agreement, err := negotiation.Negotiate(wire.January11, theirs, ours, nil)
	return err == nil && agreement.Has(mandate.Extension)
}

// mandated tells whether the extension is active for a request about a checkout: it was when the checkout was created, or
// it is now.
func (in *Inbound) mandated(c *call, standing *model.Standing) bool {
	return in.options.Mandates != nil && (platformOf(standing).locked() || c.dialect != nil && c.dialect.mandates)
}

// authorized gives a checkout with the business's signature of what the platform is going to see of it.
func (in *Inbound) authorized(c *call, checkout json.RawMessage) (json.RawMessage, error) {
	text, err := c.dialect.written(checkout)
	if err != nil {
		return nil, fmt.Errorf("ucp: inbound: a checkout to be signed: %w", err)
	}
	signed, err := mandate.Authorize(in.options.Mandates.Signer, text)
	if err != nil {
		return nil, err
	}
	out := append(bytes.TrimSuffix(checkout, []byte("}")), `,"ap2":{"merchant_authorization":"`...)
	return append(append(out, signed...), `"}}`...), nil
}

// mandateForm is what a checkout mandate looks like (UCP 2026-01-11, ap2_mandate.json), or would if the pattern there had
// room for a key binding.
var mandateForm = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+(~[A-Za-z0-9_-]+)*(~|~[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)?$`)

// checkMandate checks the mandate of a complete request for a checkout as it stands. Where the extension is not active it
// is not read, but for its form, which 2026-01-11 asks for all the same. It tells whether the mandate is verified.
//
// A request without the mandate that it needs is no payment of the platform, as one with a wrong signature is none: so it
// is refused here, and no Complete is attempted. What ends a revision is only what the platform has really said; and what
// is Declined was judged by the business, on its merits.
func (in *Inbound) checkMandate(ctx context.Context, c *call, standing *model.Standing, given *string) (bool, error) {
	if in.options.Mandates == nil && platformOf(standing).locked() {
		return false, errors.New("ucp: inbound: a checkout is completed with a mandate only, and this process takes none")
	}
	if !in.mandated(c, standing) {
		if c.dialect == nil && given != nil && !mandateForm.MatchString(*given) {
			return false, invalid(mandatePath, "The checkout mandate is not an SD-JWT with key binding.")
		}
		return false, nil
	}
	if given == nil || *given == "" {
		return false, mandateProblem(&mandate.Error{
			Code: mandate.Required, Content: "This checkout is completed with a checkout mandate only.",
		})
	}
	from := platformOf(standing).URL
	if from == "" {
		from, _ = profileIn(c.agent).(string)
	}
	m := in.options.Mandates
	verifier := &mandate.Verifier{Platform: m.of(from), Business: m.own, Issuer: m.Issuer, Audience: in.names(c)}
	got, err := verifier.Verify(ctx, *given)
	if err != nil {
		return false, in.mandateRefused(ctx, err)
	}
	now, err := in.view(*standing, true)
	if err != nil {
		return false, err
	}
	if now, err = c.dialect.written(now); err != nil {
		return false, fmt.Errorf("ucp: inbound: a checkout to be compared: %w", err)
	}
	same, err := sameTerms(now, got.Checkout)
	if err == nil && !same {
		err = mandateProblem(&mandate.Error{
			Code: mandate.ScopeMismatch, Content: "The mandate is for another checkout, or for this one as it was before it was changed.",
		})
	}
	return err == nil, err
}

const mandatePath = "$.ap2.checkout_mandate"

// mandateRefused makes a problem of what is wrong with a mandate. A key that cannot be had now may be had later.
func (in *Inbound) mandateRefused(ctx context.Context, err error) error {
	var (
		wrong  *mandate.Error
		nobody *negotiation.Error
	)
	switch {
	case errors.As(err, &wrong):
	case errors.As(err, &nobody):
		wrong = &mandate.Error{Code: mandate.MissingKey, Content: "The profile of the platform, which has its keys, cannot be had.", Err: err}
	case errors.Is(err, profiles.ErrBusy):
		return &problem{status: http.StatusServiceUnavailable, code: "BUSY", detail: "There are too many requests at once.", transient: true}
	default:
		return err
	}
	in.log.InfoContext(ctx, "ucp: a mandate was refused", "code", wrong.Code, "error", wrong)
	return mandateProblem(wrong)
}

func mandateProblem(wrong *mandate.Error) *problem {
	return &problem{
		status: http.StatusBadRequest, code: strings.ToUpper(string(wrong.Code)), detail: wrong.Content, path: mandatePath, outcome: true,
		transient: wrong.Code == mandate.MissingKey,
	}
}

// terms are the members of a checkout that somebody agrees to by a mandate. The specification names the id, the totals and
// the line items; where the goods go, and what was taken off, belongs to it.
var terms = []string{"id", "currency", "line_items", "totals", "buyer", "fulfillment", "discounts"}

// sameTerms tells whether two checkouts are the same in what matters. The first is as it is written, the second canonical.
func sameTerms(now, agreed []byte) (bool, error) {
	canonical, err := mandate.Canonical(now)
	if err != nil {
		return false, err
	}
	var members [2]enactment.Values
	for i, text := range [][]byte{canonical, agreed} {
		if members[i], err = enactment.ParseValues(text); err != nil {
			return false, err
		}
	}
	for _, name := range terms {
		a, b := members[0][name], members[1][name]
		if a.IsZero() != b.IsZero() || !a.IsZero() && !a.Equal(b) {
			return false, nil
		}
	}
	return true, nil
}

// names are the URLs that a mandate may call the business by: where it is, its host, and where its profiles and endpoints
// are.
func (in *Inbound) names(c *call) []string {
	base := strings.TrimRight(c.base, "/")
	names := []string{base, base + discoveryPath}
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		names = append(names, u.Scheme+"://"+u.Host)
	}
	if in.options.ProfileURL != "" {
		names = append(names, strings.TrimRight(in.options.ProfileURL, "/"))
	}
	for _, release := range wire.Releases() {
		below := base + releasesPath + string(release)
		names = append(names, below, below+discoveryPath, below+"/mcp")
	}
	return names
}

// OfferMandates adds the extension to a profile, of the platform or the business, in a release. The profile needs a key for
// signatures.
func OfferMandates(p *negotiation.Profile, release wire.Release) {
	site := "https://ucp.dev/" + string(release) + "/"
	if release == wire.January11 {
		site = "https://ucp.dev/" // The documents of the first release were not below its date.
	}
	p.Capabilities[mandate.Extension] = []negotiation.Capability{{
		Entity: negotiation.Entity{
			Version: string(release), Spec: site + "specification/ap2-mandates", Schema: site + "schemas/shopping/ap2_mandate.json",
			Config: json.RawMessage(mandateFormats),
		},
		Extends: []string{checkoutCapability},
	}}
}

// mandateFormats is the configuration of the extension: the form of mandates.
const mandateFormats = `{"vp_formats_supported":{"dc+sd-jwt":{}}}`
