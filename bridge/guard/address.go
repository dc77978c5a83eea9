package guard

import (
	"fmt"
	"net/netip"
)

// AddressError says that an address may not be reached on the word of a peer.
type AddressError struct {
	Address netip.Addr
	// Use is what the address is for, such as private use.
	Use string
}

// Error says which and why.
func (e *AddressError) Error() string {
	return fmt.Sprintf("guard: the address %s is for %s: a peer may not lead there", e.Address, e.Use)
}

// reserved are the special-purpose address blocks of IANA (RFC 6890 and its registries), and addresses of the public
// space behind which machines in a data centre reach its control plane.
var reserved = []struct {
	block netip.Prefix
	use   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private use"},
	{netip.MustParsePrefix("100.64.0.0/10"), "carrier-grade NAT"},
	{netip.MustParsePrefix("127.0.0.0/8"), loopbackUse},
	{netip.MustParsePrefix("168.63.129.16/32"), "metadata of a data centre"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local use"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private use"},
	{netip.MustParsePrefix("192.0.0.0/24"), "protocol assignments"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation"},
	{netip.MustParsePrefix("192.31.196.0/24"), "AS112"},
	{netip.MustParsePrefix("192.52.193.0/24"), "AMT relays"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relays"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private use"},
	{netip.MustParsePrefix("192.175.48.0/24"), "AS112"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "future use and broadcast"},

	{netip.MustParsePrefix("::/128"), "an unspecified host"},
	{netip.MustParsePrefix("::1/128"), loopbackUse},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "local translation"},
	{netip.MustParsePrefix("100::/64"), "discarding"},
	{netip.MustParsePrefix("100:0:0:1::/64"), "dummies"},
	{netip.MustParsePrefix("2001::/23"), "protocol assignments"},
	{netip.MustParsePrefix("2001:db8::/32"), "documentation"},
	{netip.MustParsePrefix("2002::/16"), "6to4"},
	{netip.MustParsePrefix("2620:4f:8000::/48"), "AS112"},
	{netip.MustParsePrefix("3fff::/20"), "documentation"},
	{netip.MustParsePrefix("5f00::/16"), "segment routing"},
	{netip.MustParsePrefix("fc00::/7"), "private use"},
	{netip.MustParsePrefix("fe80::/10"), "link-local use"},
	{netip.MustParsePrefix("fec0::/10"), "site-local use"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

const loopbackUse = "loopback"

var (
	// globalUnicast is all of IPv6 that is given out for hosts.
	globalUnicast = netip.MustParsePrefix("2000::/3")
	// translated is IPv4 behind NAT64 (RFC 6052): where it leads is said by the last four bytes.
	translated = netip.MustParsePrefix("64:ff9b::/96")
)

// CheckAddress tells whether a peer may lead to an address: only to a global unicast one that is for no special purpose.
// An IPv4 address in IPv6 counts as what it is. The error is an [*AddressError].
func CheckAddress(address netip.Addr) error {
	plain := address.Unmap().WithZone("")
	if translated.Contains(plain) {
		bytes := plain.As16()
		plain = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	for _, r := range reserved {
		if r.block.Contains(plain) {
			return &AddressError{address, r.use}
		}
	}
	if !plain.IsValid() || plain.Is6() && !globalUnicast.Contains(plain) {
		return &AddressError{address, "no host of the public internet"}
	}
	return nil
}
