package collectives

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"slurm-preflight/internal/config"
)

// OptionSource is what a setting of the user's option names as its source.
const OptionSource = "--nccl-validate"

// maxSpec is the longest option that is read, in bytes.
const maxSpec = 1024

// off is the word that opts out of a gate.
const off = "off"

// Spec is what a user asked for with --nccl-validate.
type Spec struct {
	// Ops are the collectives to measure, in the user's order; empty if Off.
	Ops []Op
	// Off says that the user wants no gate.
	Off bool
	// Report is the file to which the report is written too; empty if none was named.
	Report string

	settings []setting
}

// setting is a word key=value that tunes the gate.
type setting struct{ key, value string }

// tunable maps the option's settings to the keys of the configuration. min
// stands for one floor per collective and is spread over them by Layer.
var tunable = map[string]string{
	"size":    "gate.size",
	"iters":   "gate.iters",
	"timeout": "gate.timeout",
	"on-fail": onFailKey,
	"backend": "gate.backend",
}

// ParseSpec reads the argument of --nccl-validate: a comma list of collectives
// and key=value settings, or the word off. Its text comes from anybody, so the
// error names the offending word, escaped and shortened, and the nearest right one.
func ParseSpec(text string) (Spec, error) {
	if err := checkText(text); err != nil {
		return Spec{}, err
	}
	var spec Spec
	seen := map[string]bool{}
	for word := range strings.SplitSeq(text, ",") {
		name, err := spec.add(word)
		if err != nil {
			return Spec{}, err
		}
		if seen[name] {
			return Spec{}, fmt.Errorf("%s: %s is given twice", config.Quote(word), name)
		}
		seen[name] = true
	}
	if err := spec.complete(len(seen)); err != nil {
		return Spec{}, err
	}
	return spec, nil
}

// CheckOption says what is wrong with the argument of --nccl-validate, or nil.
// It is what runs at submission, where of the site's configuration only the
// plugin's arguments are known for certain.
func CheckOption(text string, args ...string) error {
	site, err := NewSite(config.FromArgs(args))
	if err != nil {
		return err
	}
	demand, err := site.Asked(text)
	if err == nil && demand.Spec.Off && site.Standing(off) {
		err = fmt.Errorf("%q is refused: %s", off, site.enforced())
	}
	return err
}

// Layer is the option as the highest layer of the configuration.
func (s Spec) Layer() config.Layer { return s.layer(OptionSource) }

func (s Spec) layer(source string) config.Layer {
	var layer config.Layer
	set := func(key, value string) {
		layer = append(layer, config.Entry{Key: key, Value: value, Source: source})
	}
	for _, word := range s.settings {
		if word.key == "min" {
			for _, op := range s.Ops {
				set(FloorKey(op), word.value)
			}
			continue
		}
		set(tunable[word.key], word.value)
	}
	return layer
}

// The keys of the configuration that mean something here.
const (
	floorPrefix = "gate.min."
	onFailKey   = "gate.on_fail"
)

// FloorKey is the configuration's key for an operation's floor.
func FloorKey(op Op) string { return floorPrefix + string(op) }

func isFloorKey(key string) bool { return strings.HasPrefix(key, floorPrefix) }

func checkText(text string) error {
	if text == "" {
		return errors.New(OptionSource + " is empty: name a collective, such as allreduce, or off")
	}
	if len(text) > maxSpec {
		return fmt.Errorf("%s has %d bytes, %d are allowed", OptionSource, len(text), maxSpec)
	}
	if !utf8.ValidString(text) {
		return errors.New(OptionSource + " is not valid UTF-8")
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }); i >= 0 {
		r, _ := utf8.DecodeRuneInString(text[i:])
		return fmt.Errorf("%s must not hold the character %q: write words and commas only, such as allreduce,size=1G", OptionSource, r)
	}
	return nil
}

// add takes in one word of the list and returns the name by which its like is known.
func (s *Spec) add(word string) (string, error) {
	if word == "" {
		return "", errors.New(OptionSource + " has a comma too many: there is no word before or after it")
	}
	key, value, isSetting := strings.Cut(word, "=")
	if isSetting {
		return key, s.set(word, key, value)
	}
	if word == off {
		s.Off = true
		return off, nil
	}
	op, known := ParseOp(word)
	if !known {
		return "", unknownWord(word)
	}
	s.Ops = append(s.Ops, op)
	return string(op), nil
}

// set takes in a setting, after a look at its value.
func (s *Spec) set(word, key, value string) error {
	switch {
	case key == "report":
		if value == "" {
			return fmt.Errorf("%s: expected the name of a file", config.Quote(word))
		}
		s.Report = value
		return nil
	case key == "min":
		if err := config.Check(FloorKey(Ops[0]), value); err != nil {
			return fmt.Errorf("%s: %w", config.Quote(word), err)
		}
	case tunable[key] != "":
		if err := config.Check(tunable[key], value); err != nil {
			return fmt.Errorf("%s: %w", config.Quote(word), err)
		}
	default:
		return unknownSetting(word, key)
	}
	s.settings = append(s.settings, setting{key, value})
	return nil
}

// complete checks what only the whole list shows.
func (s *Spec) complete(words int) error {
	switch {
	case s.Off && words > 1:
		return errors.New(`"off" stands alone: remove it, or all the other words`)
	case !s.Off && len(s.Ops) == 0:
		return fmt.Errorf("%s names no collective: add one of %s", OptionSource, strings.Join(opNames(), ", "))
	default:
		return nil
	}
}

func unknownWord(word string) error {
	if slices.Contains(settingNames(), word) {
		return fmt.Errorf("setting %s needs a value: %s=…", config.Quote(word), word)
	}
	return fmt.Errorf("unknown collective or setting %s%s", config.Quote(word), suggestion(word))
}

func unknownSetting(word, key string) error {
	if op, known := ParseOp(key); known {
		return fmt.Errorf("%s: collective %s takes no value; its floor is set with min=GB/s", config.Quote(word), op)
	}
	return fmt.Errorf("unknown setting %s%s", config.Quote(key), suggestion(key))
}

// suggestion ends a sentence about an unknown word with the nearest known one and all others.
func suggestion(word string) string {
	known := append(append(opNames(), off), settingNames()...)
	list := "known: " + strings.Join(opNames(), ", ") + ", " + off + ", " + strings.Join(settingNames(), "=, ") + "="
	if near, ok := config.Nearest(word, known); ok {
		return fmt.Sprintf(": did you mean %q? (%s)", near, list)
	}
	return "; " + list
}

func opNames() []string {
	var names []string
	for _, op := range Ops {
		names = append(names, string(op))
	}
	return names
}

func settingNames() []string {
	names := []string{"min", "report"}
	for name := range tunable {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
