package link

import (
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Names of the interfaces. On the bridge's side a link has its node's name.
const (
	bridgeName = "br0"
	// NodeSide is a node's own end of its link.
	NodeSide = "eth0"
)

// burstBytes is large enough for a Gbit link to be filled by a timer that
// ticks a thousand times a second; a small one loses half of the rate.
const burstBytes = 1 << 20

// queueSeconds is how long a packet may wait before it is dropped.
const queueSeconds = 0.05

// hardware is the Ethernet address of the i-th node, zero being the login host.
// A fixed one keeps the others' ARP tables right when a node comes back, and a
// bridge's would otherwise change with its ports.
func hardware(i int) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, 0, byte(i)} }

// Bridge makes the switch that all nodes hang on, with the login host's address.
func Bridge(cidr string, mtu int) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.HardwareAddr = bridgeName, mtu, hardware(0)
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
		return fmt.Errorf("making the bridge: %w", err)
	}
	return Configure(bridgeName, cidr)
}

// unplug removes what is left of a node's link. The kernel does so by itself
// when the node's network namespace goes, but not at once.
func unplug(node string) error {
	dev, err := netlink.LinkByName(node)
	if err == nil {
		err = netlink.LinkDel(dev)
	}
	if err == nil || errors.As(err, &netlink.LinkNotFoundError{}) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return fmt.Errorf("removing the old link of %s: %w", node, err)
}

// Plug makes the link of the node with that number: one end on the bridge, the other, eth0, in the
// network namespace of the process.
func Plug(node string, index, pid, mtu int, rate Rate) error {
	if err := unplug(node); err != nil {
		return err
	}
	bridge, err := netlink.LinkByName(bridgeName)
	if err != nil {
		return fmt.Errorf("finding the bridge: %w", err)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.MasterIndex = node, mtu, bridge.Attrs().Index
	veth := &netlink.Veth{
		LinkAttrs: attrs, PeerName: NodeSide, PeerMTU: uint32(mtu),
		PeerHardwareAddr: hardware(index), PeerNamespace: netlink.NsPid(pid),
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("making the link of %s: %w", node, err)
	}
	if err := Shape(node, rate); err != nil {
		return err
	}
	return Raise(node)
}

// Configure gives an interface of this network namespace its address and
// raises it and the loopback interface.
func Configure(name, cidr string) error {
	dev, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("finding %s: %w", name, err)
	}
	addr, err := netlink.ParseAddr(cidr)
	if err != nil {
		return fmt.Errorf("address of %s: %w", name, err)
	}
	if err := netlink.AddrAdd(dev, addr); err != nil {
		return fmt.Errorf("giving %s the address %s: %w", name, cidr, err)
	}
	if err := Raise("lo"); err != nil {
		return err
	}
	return Raise(name)
}

// Raise brings an interface of this network namespace up.
func Raise(name string) error { return set(name, "up", netlink.LinkSetUp) }

// Cut takes an interface of this network namespace down; its other end loses
// the carrier.
func Cut(name string) error { return set(name, "down", netlink.LinkSetDown) }

func set(name, what string, do func(netlink.Link) error) error {
	dev, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("finding %s: %w", name, err)
	}
	if err := do(dev); err != nil {
		return fmt.Errorf("setting %s %s: %w", name, what, err)
	}
	return nil
}

// Shape limits what an interface of this network namespace sends.
func Shape(name string, rate Rate) error {
	dev, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("finding %s: %w", name, err)
	}
	bytesPerSecond := uint64(rate) / 8
	qdisc := &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{
			LinkIndex: dev.Attrs().Index,
			Handle:    netlink.MakeHandle(1, 0),
			Parent:    netlink.HANDLE_ROOT,
		},
		Rate:   bytesPerSecond,
		Buffer: netlink.Xmittime(bytesPerSecond, burstBytes),
		Limit:  uint32(float64(bytesPerSecond)*queueSeconds) + burstBytes,
	}
	if err := netlink.QdiscReplace(qdisc); err != nil {
		return fmt.Errorf("shaping %s to %s: %w", name, rate, err)
	}
	return nil
}

// State is what an interface of this network namespace can carry now.
func State(name string) (string, error) {
	dev, err := netlink.LinkByName(name)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", name, err)
	}
	if dev.Attrs().RawFlags&unix.IFF_UP == 0 {
		return "down", nil
	}
	qdiscs, err := netlink.QdiscList(dev)
	if err != nil {
		return "", fmt.Errorf("reading the queue of %s: %w", name, err)
	}
	for _, q := range qdiscs {
		if tbf, ok := q.(*netlink.Tbf); ok {
			return Rate(tbf.Rate * 8).String(), nil
		}
	}
	return "unshaped", nil
}
