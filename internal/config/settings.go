package config

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// setting is one row of the table below.
type setting struct {
	key     string
	builtIn string // the value where no layer sets one
	kind    kind
}

// The keys whose source other packages ask for.
const (
	DefaultKey = "gate.default"
	EnforceKey = "gate.enforce"
)

// settings lists every key there is. A new setting is a row here, a field in
// Config and a line in the administrator's page; a test compares the first two.
//
// Two warm-up iterations: the first opens the connections, which libraries do
// lazily, and the second lets TCP's windows grow to the size of the message.
// nccl-tests warms up once per size, but over many sizes before the largest.
func settings() []setting {
	return []setting{
		{fileKey, "", path()},
		{"gate.min.allreduce", "0", bandwidth()},
		{"gate.min.allgather", "0", bandwidth()},
		{"gate.min.reducescatter", "0", bandwidth()},
		{"gate.min.alltoall", "0", bandwidth()},
		{"gate.min.broadcast", "0", bandwidth()},
		{"gate.min.reduce", "0", bandwidth()},
		{"gate.min.sendrecv", "0", bandwidth()},
		{"gate.size", "16M", sizes(4, 64<<30)},
		{"gate.iters", "20", count(1, 10_000)},
		{"gate.warmup", "2", count(1, 1_000)},
		{"gate.time", "3s", duration(100*time.Millisecond, time.Hour)},
		{"gate.timeout", "90s", duration(time.Second, 24*time.Hour)},
		{"gate.on_fail", "fail", oneOf(OnFailFail, OnFailWarn)},
		{"gate.on_error", "auto", oneOf(OnErrorAuto, OnErrorRun, OnErrorFail)},
		{"gate.backend", "auto", oneOf(BackendAuto, BackendHost)},
		{"gate.host_lib", "", path()},
		{"gate.worker", "", path()},
		{"gate.interface", "", interfaces()},
		{DefaultKey, "", option()},
		{"gate.default.when.min_nodes", "1", count(0, 1_000_000)},
		{"gate.default.when.min_gpus", "0", count(0, 100_000_000)},
		{"gate.default.when.partitions", "", names()},
		{EnforceKey, "no", yesNo()},
	}
}

// Keys lists every key, in the order of the documentation.
func Keys() []string {
	var keys []string
	for _, s := range settings() {
		keys = append(keys, s.key)
	}
	return keys
}

// Check says what is wrong with a value for a key, or nil.
func Check(key, value string) error {
	_, err := read(key, value)
	return err
}

// Choices lists the values of a key that has but a few words to choose from,
// which are then all that its kind expects.
func Choices(key string) []string {
	table := settings()
	i := slices.IndexFunc(table, func(s setting) bool { return s.key == key })
	if i < 0 {
		return nil
	}
	words := strings.Split(table[i].kind.expect, " or ")
	for _, word := range words {
		if _, ok := table[i].kind.parse(word); !ok {
			return nil
		}
	}
	return words
}

// read turns the text of a key into a value of the key's type.
func read(key, text string) (any, error) {
	table := settings()
	i := slices.IndexFunc(table, func(s setting) bool { return s.key == key })
	if i < 0 {
		return nil, unknownKey(key)
	}
	if len(text) <= maxValue && printable(text) {
		if value, ok := table[i].kind.parse(text); ok {
			return value, nil
		}
	}
	return nil, errors.New("expected " + table[i].kind.expect)
}

func unknownKey(key string) error {
	if near, ok := Nearest(key, Keys()); ok {
		return errors.New("unknown key, did you mean " + near + "?")
	}
	return errors.New("unknown key; `preflight config` lists the known ones")
}

// builtIn is the lowest layer.
func builtIn() Layer {
	var layer Layer
	for _, s := range settings() {
		layer = append(layer, Entry{Key: s.key, Value: s.builtIn, Source: "built in"})
	}
	return layer
}
