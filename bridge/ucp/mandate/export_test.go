package mandate

import "context"

// Claims are those of an SD-JWT whose signatures are good, with what was disclosed in its place.
func (v *Verifier) Claims(ctx context.Context, text string) (map[string]any, error) {
	p, err := split(text)
	if err != nil {
		return nil, err
	}
	issued, err := parseJWS(p.issued)
	if err != nil {
		return nil, err
	}
	key, _, err := v.issuer(ctx, issued)
	if err != nil {
		return nil, err
	}
	payload, err := issued.verify(key)
	if err != nil {
		return nil, err
	}
	claims, err := object(payload)
	if err != nil {
		return nil, err
	}
	claims, algorithm, err := revealed(claims, p.disclosures)
	if err == nil {
		_, err = v.binding(p, claims, algorithm)
	}
	return claims, err
}
