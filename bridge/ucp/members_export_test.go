package ucp

// Members is members, for tests.
var Members = members
