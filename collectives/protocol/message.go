package protocol

import "time"

// Message is one thing said; exactly one of the pointers is set.
type Message struct {
	// Number counts the conductor's commands, from 1; an answer carries its
	// command's. What nobody asked for, a hello or a rank's sudden end, has none.
	Number int     `json:"number,omitempty"`
	Hello  *Hello  `json:"hello,omitempty"`
	Init   *Init   `json:"init,omitempty"`
	Ready  *Ready  `json:"ready,omitempty"`
	Run    *Run    `json:"run,omitempty"`
	Result *Result `json:"result,omitempty"`
	Failed *Failed `json:"failed,omitempty"`
	Halt   *Halt   `json:"halt,omitempty"`
	Alive  *Alive  `json:"alive,omitempty"`
	Quit   *Quit   `json:"quit,omitempty"`
}

// Phase is a part of the gate that a node can fail or fall silent in.
type Phase string

// The phases in their order.
const (
	PhaseLaunch Phase = "launch" // from srun to the first hello
	PhaseLoad   Phase = "load"   // loading the collective library
	PhaseInit   Phase = "init"   // building the communicator
	PhaseWarmup Phase = "warm-up"
	PhaseRun    Phase = "run" // the collective itself
)

// Hello is the first word of a rank process to its supervisor, and of a supervisor to the conductor.
type Hello struct {
	// NodeID is the node's place in the step, from 0; it decides the order of ranks.
	NodeID int `json:"node_id"`
	// Step is the Slurm step, as JOB.STEP.
	Step string `json:"step,omitempty"`
	// Ranks is the number of rank processes on the node.
	Ranks int `json:"ranks"`
	// Library is what the ranks measure with.
	Library Library `json:"library"`
	// UID is a unique id that this node's first rank made; only node 0 sends one.
	UID []byte `json:"uid,omitempty"`
}

// Library describes a loaded collective library. All ranks must have the same version.
type Library struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Version string `json:"version"`
}

// Init asks every rank to join one communicator.
type Init struct {
	UID   []byte `json:"uid"`
	Ranks int    `json:"ranks"`
	// First is the first rank of each node, by node id. In the message to a
	// single rank process it holds that rank's number alone.
	First []int `json:"first"`
	// Timeout is how long a rank may take.
	Timeout time.Duration `json:"timeout"`
}

// Ready says that all ranks of the node have joined.
type Ready struct{}

// Run asks for iterations of a collective on the communicator.
type Run struct {
	Op         string        `json:"op"`
	Bytes      int64         `json:"bytes"`
	Iterations int           `json:"iterations"`
	Timeout    time.Duration `json:"timeout"`
}

// Result is what a node measured in one Run: the slowest of its ranks.
type Result struct {
	// Median is the median time of one iteration.
	Median time.Duration `json:"median"`
	// Wrong is the number of received elements that differ from what was expected.
	Wrong int64 `json:"wrong"`
	// WrongRanks are the ranks that received them, MaxWrongRanks at most.
	WrongRanks []WrongRank `json:"wrong_ranks,omitempty"`
	// Paused is how long a rank was stopped meanwhile. Such a result says nothing of the network.
	Paused time.Duration `json:"paused,omitempty"`
}

// MaxWrongRanks bounds the ranks that a node names: as many as a node has GPUs.
const MaxWrongRanks = 16

// WrongRank is a rank that received wrong elements.
type WrongRank struct {
	// Rank is the rank's number in the communicator.
	Rank     int   `json:"rank"`
	Elements int64 `json:"elements"`
}

// Failed says that a rank could not do what was asked.
type Failed struct {
	Phase Phase `json:"phase"`
	// Rank is the rank's place on its node, from 0.
	Rank int `json:"rank"`
	// Error is a sentence for people.
	Error string `json:"error"`
	// Kind is what the failure says of the node.
	Kind Kind `json:"kind,omitempty"`
}

// Kind tells a failure's cause from its victims.
type Kind string

// The kinds of failures.
const (
	// KindError is an error of the library. Where a peer is lost, its neighbours report one too.
	KindError Kind = ""
	// KindWaiting is a rank in good health that waited for others until it was
	// told to halt, or until its time was up.
	KindWaiting Kind = "waiting"
	// KindDead is a rank whose process ended, or does not react to anything.
	KindDead Kind = "dead"
)

// Halt asks a supervisor to give up waiting for its ranks and to say where they
// are, and a rank to give up waiting for others. The communicator is lost.
type Halt struct{}

// Alive answers a halt where nothing was under way.
type Alive struct{}

// Quit ends the supervisor and its ranks.
type Quit struct{}
