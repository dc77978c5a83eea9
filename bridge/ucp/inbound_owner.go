package ucp

import (
	"context"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/model"
)

// platformKey is under what the context of a request has the platform that has signed it.
type platformKey struct{}

// signedBy notes in a context who has signed the request that is being answered: the URL of the platform's profile, which
// has the key.
func signedBy(ctx context.Context, platform string) context.Context {
	if platform == "" {
		return ctx
	}
	return context.WithValue(ctx, platformKey{}, platform)
}

// signerOf gives it; empty for a request that is not signed, or by whom nobody has found out.
func signerOf(ctx context.Context) string {
	platform, _ := ctx.Value(platformKey{}).(string)
	return platform
}

// ownedCreate begins the id of an attempt by which a platform that was authenticated has created a checkout. So who owns a
// checkout stands in its log, like everything else about it.
const ownedCreate = "signed:"

// ownerOf gives the profile of the platform that owns a checkout, and with it the order that the checkout becomes: the one
// that has created it by a signed request. Of a checkout that was created by anybody nobody is the owner, and it is empty.
func ownerOf(standing *model.Standing) string {
	if standing.Create == nil || !strings.HasPrefix(standing.Create.Attempt, ownedCreate) {
		return ""
	}
	return platformOf(standing).URL
}

// mayUse tells whether a request may read or change what has an owner (UCP 2026-04-08, order, authorization).
func mayUse(ctx context.Context, owner string) bool {
	return owner == "" || owner == signerOf(ctx)
}

// scopedKey is what an Idempotency-Key is known by: what others have used the key for is none of the business of a platform
// that was authenticated. Neither a key nor a URL has the line feed that is between them.
func scopedKey(platform, key string) string {
	if platform == "" || key == "" {
		return key
	}
	return platform + "\n" + key
}
