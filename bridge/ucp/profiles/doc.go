// Package profiles fetches the profiles of UCP parties and keeps them for a while (UCP 2026-04-08, overview, profile
// requirements): the profile of a platform, whose URL comes with every request, so from whoever sends it; and that of a
// business, whose keys verify its webhooks.
//
// What strangers make this machine fetch is bounded: the number of profiles that are kept, the rate at which they are
// fetched, how soon after a failure somebody is asked again, and, by a [guard.Guard], where a URL may lead.
//
// Start reading at [New].
package profiles
