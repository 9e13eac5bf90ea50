package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// Plugin is the front's path inside a lab.
const Plugin = Product + "/lib/spank_preflight.so"

// notBuilt begins the line of a plugin that is not there yet: Slurm would
// refuse to start, and the arguments must survive until it is.
const notBuilt = "# not built: "

// Plugstack is the one line of a lab's plugstack.conf.
type Plugstack struct {
	Optional bool     `json:"optional,omitempty"`
	Args     []string `json:"args,omitempty"`
}

// With returns the line with arguments rewritten: key=value replaces what had
// that key or comes last, and "key=" removes the key.
func (p Plugstack) With(settings []string) (Plugstack, error) {
	args := slices.Clone(p.Args)
	for _, setting := range settings {
		key, value, found := strings.Cut(setting, "=")
		if !found || key == "" {
			return p, fmt.Errorf("%q is no setting: write key=value, or key= to remove one", setting)
		}
		if strings.ContainsAny(setting, " \t\r\n#") {
			return p, fmt.Errorf("%q cannot stand in plugstack.conf, which knows no blanks, quotes or '#'", setting)
		}
		args = replace(args, key, setting, value != "")
	}
	return Plugstack{Optional: p.Optional, Args: args}, nil
}

// replace puts setting where the first argument with that key stood, and
// removes all others of that key.
func replace(args []string, key, setting string, keep bool) []string {
	has := func(arg string) bool { return strings.HasPrefix(arg, key+"=") }
	at := slices.IndexFunc(args, has)
	args = slices.DeleteFunc(args, has)
	switch {
	case !keep:
		return args
	case at < 0:
		return append(args, setting)
	default:
		return slices.Insert(args, at, setting)
	}
}

// Conf is plugstack.conf. Without the built plugin the line is a comment.
func (p Plugstack) Conf(built bool) string {
	words := []string{"required", Plugin}
	if p.Optional {
		words[0] = "optional"
	}
	line := strings.Join(append(words, p.Args...), " ") + "\n"
	if !built {
		return notBuilt + line
	}
	return line
}

// ParsePlugstack reads what Conf wrote.
func ParsePlugstack(conf string) (Plugstack, error) {
	words := strings.Fields(strings.TrimPrefix(conf, notBuilt))
	if len(words) < 2 || words[1] != Plugin {
		return Plugstack{}, fmt.Errorf("the lab's plugstack.conf was changed by somebody else: %q", conf)
	}
	return Plugstack{Optional: words[0] == "optional", Args: slices.Clip(words[2:])}, nil
}
