// Package cluster says what a lab's cluster looks like: its size, its
// addresses, and the files in /etc that make Slurm and the C library see it.
// Nothing here touches the machine.
package cluster

import (
	"encoding/json"
	"fmt"
	"regexp"

	"slurm-preflight/tests/lab/link"
)

// Places inside a lab. They are the same in every lab, because every lab has
// its own mount namespace.
const (
	// Home is where the lab keeps its configuration and its logs.
	Home = "/run/preflight-lab"
	// Logs holds one directory per host.
	Logs = Home + "/log"
	// Etc holds the files that are bound over those of the machine.
	Etc = Home + "/etc"
	// Socket is where the lab's first process takes orders.
	Socket = Home + "/control"
	// Product is where the build tree appears, read-only.
	Product = "/opt/slurm-preflight"
	// Login is the name of the login host, which is the controller too.
	Login = "login"
)

// Limits of a lab's size.
const (
	MaxNodes = 64
	MaxGPUs  = 16
)

// Spec is everything that `lab up` was asked for. It travels as the argument
// of the lab's first process, so that no file has to be kept for it.
type Spec struct {
	Name   string    `json:"name"`
	Nodes  int       `json:"nodes"`
	GPUs   int       `json:"gpus"`
	Rate   link.Rate `json:"rate"`
	Cgroup bool      `json:"cgroup"`
	// Build is the build tree on the machine.
	Build string `json:"build"`
	// Plugin is the line of plugstack.conf.
	Plugin Plugstack `json:"plugin"`
	// Conf holds further lines for slurm.conf.
	Conf []string `json:"conf,omitempty"`
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)

// CheckName says why a lab cannot have this name. A lab's name becomes part of
// a cgroup's and of a socket's name.
func CheckName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("%q is no name for a lab: use up to 32 letters, digits, '-' and '_'", name)
	}
	return nil
}

// Check says what is wrong with the spec.
func (s Spec) Check() error {
	if err := CheckName(s.Name); err != nil {
		return err
	}
	if s.Nodes < 1 || s.Nodes > MaxNodes {
		return fmt.Errorf("a lab has 1 to %d nodes, not %d", MaxNodes, s.Nodes)
	}
	if s.GPUs < 0 || s.GPUs > MaxGPUs {
		return fmt.Errorf("a node has 0 to %d GPUs, not %d", MaxGPUs, s.GPUs)
	}
	return nil
}

// String is the spec as an argument; ParseSpec reads it.
func (s Spec) String() string {
	text, err := json.Marshal(s)
	if err != nil { // a Spec holds nothing that JSON cannot say
		panic(err)
	}
	return string(text)
}

// ParseSpec reads what String wrote.
func ParseSpec(text string) (Spec, error) {
	var s Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Spec{}, fmt.Errorf("reading a lab's spec: %w", err)
	}
	return s, s.Check()
}

// Node is the name of the i-th node, counted from one.
func Node(i int) string { return fmt.Sprintf("n%d", i) }

// NodeNames lists the lab's nodes.
func (s Spec) NodeNames() []string {
	names := make([]string, s.Nodes)
	for i := range names {
		names[i] = Node(i + 1)
	}
	return names
}

// Index is the number of the node of that name.
func (s Spec) Index(node string) (int, error) {
	for i, name := range s.NodeNames() {
		if name == node {
			return i + 1, nil
		}
	}
	return 0, fmt.Errorf("lab %s has no node %q: it has n1 to n%d", s.Name, node, s.Nodes)
}

// Hosts lists the login host and the nodes.
func (s Spec) Hosts() []string { return append([]string{Login}, s.NodeNames()...) }
