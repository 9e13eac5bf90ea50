package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mitchellh/mapstructure"
)

// Entry is one key with its value, as its source wrote them.
type Entry struct {
	// Key is the dotted key, such as gate.size.
	Key string
	// Value is the value as text.
	Value string
	// Source says where it stands: a file with a line, an option, or "built in".
	Source string
}

// Layer is what one source sets, in the order in which it sets it.
type Layer []Entry

// Problem is something wrong in a layer. Its entry is skipped, so that the layer below holds.
type Problem struct {
	// Source says where it stands: a file with a line, or an option.
	Source string `json:"source"`
	// Key is the dotted key; it is empty where a whole line or file is wrong.
	Key string `json:"key,omitempty"`
	// Value is the value as its source wrote it.
	Value string `json:"value,omitempty"`
	// Reason says what is wrong and what was expected.
	Reason string `json:"reason"`
}

// String is the problem as a sentence.
func (p Problem) String() string {
	if p.Key == "" {
		return p.Source + ": " + p.Reason
	}
	return p.Source + ": " + Quote(p.Key+"="+p.Value) + ": " + p.Reason
}

func (e Entry) problem(reason string) Problem {
	return Problem{Source: e.Source, Key: e.Key, Value: e.Value, Reason: reason}
}

// Load merges the site's layers, lowest first, and the user's layers over them.
// Problems in the site's layers are returned beside a usable Config; a problem
// in a user's layer is an error.
func Load(site []Layer, user ...Layer) (Config, []Problem, error) {
	m := merger{effective: map[string]Entry{}, values: map[string]any{}}
	m.add(builtIn())
	for _, layer := range site {
		m.add(layer)
	}
	problems := m.take()
	for _, layer := range user {
		m.add(layer)
	}
	if wrong := m.take(); len(wrong) > 0 {
		return Config{}, problems, join(wrong)
	}
	cfg, err := m.decode()
	return cfg, problems, err
}

// merger holds what the layers so far amount to.
type merger struct {
	effective map[string]Entry
	values    map[string]any // nested as Config is
	problems  []Problem
}

func (m *merger) add(layer Layer) {
	first := map[string]string{} // key to source, in this layer
	for _, entry := range layer {
		value, err := read(entry.Key, entry.Value)
		if err != nil {
			m.problems = append(m.problems, entry.problem(err.Error()))
			continue
		}
		if source, again := first[entry.Key]; again {
			m.problems = append(m.problems, entry.problem("set before at "+source+", which counts"))
			continue
		}
		first[entry.Key] = entry.Source
		m.effective[entry.Key] = entry
		put(m.values, field(entry.Key), value)
	}
}

// take returns the problems since it was last called.
func (m *merger) take() []Problem {
	problems := m.problems
	m.problems = nil
	return problems
}

// field is where a key's value stands in Config: at its own name, but for the one key that has keys below it.
func field(key string) string {
	if key == DefaultKey {
		return key + ".spec"
	}
	return key
}

// put stores a value under a dotted key, in nested maps.
func put(values map[string]any, key string, value any) {
	parent, rest, nested := strings.Cut(key, ".")
	if !nested {
		values[key] = value
		return
	}
	child, ok := values[parent].(map[string]any)
	if !ok {
		child = map[string]any{}
		values[parent] = child
	}
	put(child, rest, value)
}

// decode turns the merged map into a Config; every key must have its field and every field its key.
func (m *merger) decode() (Config, error) {
	var cfg Config
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: &cfg, ErrorUnused: true, ErrorUnset: true, IgnoreUntaggedFields: true,
	})
	if err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	if err := decoder.Decode(m.values); err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	for _, key := range Keys() {
		entry := m.effective[key]
		cfg.settings = append(cfg.settings, Setting(entry))
	}
	return cfg, nil
}

func join(problems []Problem) error {
	var all []error
	for _, p := range problems {
		all = append(all, errors.New(p.String()))
	}
	return errors.Join(all...)
}
