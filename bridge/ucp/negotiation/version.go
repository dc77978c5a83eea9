package negotiation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// Choose picks the first of the releases that the business speaks too, and gives where its profile is: empty for the
// profile at hand. A release that is newer than all that are known, a draft, is read as the newest one if nothing else is
// left and that is among the releases. The error is an [*Error] with [VersionUnsupported].
//
// A profile fetched for an entry of supported_versions has to be of just that release and must not have such a map
// itself: see [CheckLeaf].
func Choose(business *Profile, spoken []wire.Release) (release wire.Release, at string, err error) {
	for _, known := range spoken {
		if business.Version == string(known) && (business.Form == "" || business.Form == known) ||
			business.Form == known && wire.Release(business.Version).Known() {
			return known, "", nil
		}
		if url, ok := business.SupportedVersions[string(known)]; ok {
			return known, url, nil
		}
	}
	if slices.Contains(spoken, wire.Newest) && business.Version > string(wire.Newest) {
		return wire.Newest, "", nil
	}
	offered := append(slices.Sorted(maps.Keys(business.SupportedVersions)), business.Version)
	return "", "", &Error{
		Code:    VersionUnsupported,
		Content: fmt.Sprintf("The business speaks %s; spoken here are %v.", strings.Join(offered, ", "), spoken),
	}
}

// CheckLeaf tells whether a profile that supported_versions points to is what it has to be. The error is an [*Error]
// with [ProfileMalformed].
func CheckLeaf(leaf *Profile, release wire.Release) error {
	switch {
	case leaf.Version != string(release):
		return malformed("The profile for %s says that it is of %s.", release, leaf.Version)
	case len(leaf.SupportedVersions) > 0:
		return malformed("The profile for %s points to further versions.", release)
	}
	return nil
}

// Accept is a business's answer to the version of a platform's profile: the release in which the request is to be
// processed. A business accepts what it speaks itself. The error is an [*Error] with [VersionUnsupported] that says what
// it does.
func Accept(spoken []wire.Release, platform string) (wire.Release, error) {
	release := wire.Release(platform)
	if slices.Contains(spoken, release) {
		return release, nil
	}
	versions := make([]string, len(spoken))
	for i, r := range spoken {
		versions[i] = string(r)
	}
	slices.SortFunc(versions, cmp.Compare[string])
	return "", &Error{
		Code: VersionUnsupported,
		Content: fmt.Sprintf("Protocol version %s is not supported. This business supports %s.",
			platform, strings.Join(versions, ", ")),
	}
}
