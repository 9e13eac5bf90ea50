package cluster

import (
	"fmt"
	"strings"
)

// Every lab uses these addresses: each has a network namespace of its own.
const (
	// LoginAddr is the address of the login host.
	LoginAddr = "10.77.0.254"
	// PrefixBits is the length of the network's prefix.
	PrefixBits = 24
	// MTU lets nearly the whole rate of a shaped link arrive as payload.
	MTU = 9000
)

// Addr is the address of the i-th node.
func Addr(i int) string { return fmt.Sprintf("10.77.0.%d", i) }

// HostsFile is the lab's /etc/hosts. Every name that the cluster meets is in
// it: one that does not resolve stalls slurmctld for seconds.
func (s Spec) HostsFile() string {
	var b strings.Builder
	fmt.Fprintf(&b, "127.0.0.1 localhost\n::1 localhost ip6-localhost\n%s %s\n", LoginAddr, Login)
	for i, name := range s.NodeNames() {
		fmt.Fprintf(&b, "%s %s\n", Addr(i+1), name)
	}
	return b.String()
}

// NSSwitch keeps look-ups inside the lab's own files: no other name service
// can be reached from it.
const NSSwitch = `passwd: files
group: files
shadow: files
hosts: files
networks: files
protocols: files
services: files
`
