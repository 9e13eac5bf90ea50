// Package config turns plugstack.conf, the site's YAML file and the user's
// option into one Config.
//
// Every layer is a list of dotted keys with their values as text. Layers are
// merged as maps, lowest first, each value is read by the one table in
// settings.go, and the result is decoded once, strictly, into Config. What is
// wrong in a site's layer is skipped and reported as a Problem, because an
// administrator's typing error must not stop jobs; what is wrong in a user's
// layer is an error, because the user is there to read it.
package config

import "time"

// Config holds the effective settings of one job or one node.
type Config struct {
	// File is the site's YAML file, named by config= in plugstack.conf; empty if there is none.
	File string `mapstructure:"config"`
	// Gate tunes the measurement before user code.
	Gate Gate `mapstructure:"gate"`

	settings []Setting
}

// Gate tunes the measurement of a job's nodes before user code starts.
type Gate struct {
	// Default is the gate of jobs that did not ask for one.
	Default Default `mapstructure:"default"`
	// Enforce says that a user's option may add to the site's gate and take nothing away.
	Enforce bool `mapstructure:"enforce"`
	// Min holds the least bus bandwidth that each collective must reach.
	Min Floors `mapstructure:"min"`
	// Size is the message size that is measured, as nccl-tests counts it, or a
	// sweep of sizes, of which the largest is judged.
	Size Sizes `mapstructure:"size"`
	// Iters is the number of timed iterations; their median is the result.
	Iters int `mapstructure:"iters"`
	// Warmup is the number of untimed iterations before them.
	Warmup int `mapstructure:"warmup"`
	// Time ends the timed iterations early, so that a slow network still gives an answer.
	Time time.Duration `mapstructure:"time"`
	// Timeout bounds the whole gate, from launch to verdict.
	Timeout time.Duration `mapstructure:"timeout"`
	// OnFail says what becomes of a job whose nodes are unfit.
	OnFail OnFail `mapstructure:"on_fail"`
	// OnError says what becomes of a job whose nodes could not be measured.
	OnError OnError `mapstructure:"on_error"`
	// Backend is the collective library to measure with.
	Backend Backend `mapstructure:"backend"`
	// HostLib is the path of libhostccl.so; empty means beside the program.
	HostLib string `mapstructure:"host_lib"`
	// Worker is the path of preflight-worker; empty means beside the program.
	Worker string `mapstructure:"worker"`
	// Interface chooses network interfaces, in the syntax of NCCL_SOCKET_IFNAME; empty means the backend's own choice.
	Interface string `mapstructure:"interface"`
}

// Default is the gate of jobs that did not ask for one.
type Default struct {
	// Spec is what --nccl-validate would say; empty for no gate.
	Spec string `mapstructure:"spec"`
	// When says which of these jobs are gated.
	When When `mapstructure:"when"`
}

// When picks jobs. All of it must hold.
type When struct {
	// MinNodes is the least number of nodes.
	MinNodes int `mapstructure:"min_nodes"`
	// MinGPUs is the least number of GPUs, of all nodes together.
	MinGPUs int `mapstructure:"min_gpus"`
	// Partitions has the partitions that count; empty for all.
	Partitions []string `mapstructure:"partitions"`
}

// Floors holds one floor per collective; 0 means that the result is reported but not judged.
type Floors map[string]GBps

// Of returns the floor of a collective and whether that collective has one to set.
func (f Floors) Of(collective string) (GBps, bool) {
	floor, ok := f[collective]
	return floor, ok
}

// GBps is a bandwidth in 10⁹ bytes per second.
type GBps float64

// OnFail says what becomes of a job whose nodes are unfit.
type OnFail string

// The values of gate.on_fail.
const (
	OnFailFail OnFail = "fail" // the job stops before user code
	OnFailWarn OnFail = "warn" // the job runs, and its output says so
)

// OnError says what becomes of a job whose nodes could not be measured.
type OnError string

// The values of gate.on_error.
const (
	OnErrorAuto OnError = "auto" // fail where the user asked for the gate, run where only the site did
	OnErrorRun  OnError = "run"  // the job runs, and its output says so
	OnErrorFail OnError = "fail" // the job stops before user code
)

// Backend is a collective library to measure with.
type Backend string

// The values of gate.backend.
const (
	BackendAuto Backend = "auto" // the library that fits the job's devices
	BackendHost Backend = "host" // libhostccl, over host memory
)

// Setting is one effective setting and where it came from.
type Setting struct {
	// Key is the dotted key, such as gate.size.
	Key string `json:"key"`
	// Value is the value as its source wrote it.
	Value string `json:"value"`
	// Source is a file with a line, an option, or "built in".
	Source string `json:"source"`
}

// Explain lists every effective setting, in the order of the documentation.
func (c Config) Explain() []Setting {
	return append([]Setting(nil), c.settings...)
}

// Value is the effective value of a key, as its source wrote it; it is empty for an unknown key.
func (c Config) Value(key string) string { return c.setting(key).Value }

// Source says where the effective value of a key came from; it is empty for an unknown key.
func (c Config) Source(key string) string { return c.setting(key).Source }

func (c Config) setting(key string) Setting {
	for _, setting := range c.settings {
		if setting.Key == key {
			return setting
		}
	}
	return Setting{}
}
