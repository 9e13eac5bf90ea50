package slurm

import (
	"regexp"
	"strconv"
	"strings"
)

// record is the part of "scontrol show job" that we read.
type record struct {
	state     string
	nodeList  string
	started   string
	suspended string
	restarts  int
	gpus      []share
}

// share is the GPUs on each node of a list.
type share struct {
	nodeList string
	gpus     int
}

// gpuCount finds one kind of GPU in a GRES text: gpu:2(IDX:0-1), gpu:h100:8(IDX:0-7), gpu(CNT:4).
var gpuCount = regexp.MustCompile(`\bgpu(?::[^:,(]+)?[:(](?:CNT:)?(\d+)`)

// parseRecord reads what "scontrol --detail show job" prints. A key of ours
// counts only at the beginning of a line: the job's name, comment and paths are
// the user's free text, and stand behind another key.
func parseRecord(text string) record {
	var r record
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		key, value, _ := strings.Cut(fields[0], "=")
		switch key {
		case "JobState":
			r.state = value
		case "NodeList":
			r.nodeList = nodeList(value)
		case "StartTime":
			r.started = value
		case "SuspendTime":
			r.suspended = value
		case "Requeue":
			r.restarts = restarts(fields)
		case "Nodes":
			r.gpus = append(r.gpus, shares(value, fields)...)
		}
	}
	return r
}

// restarts reads "Requeue=1 Restarts=0 BatchFlag=1 …".
func restarts(fields []string) int {
	for _, field := range fields {
		if value, ok := strings.CutPrefix(field, "Restarts="); ok {
			count, err := strconv.Atoi(value)
			if err == nil {
				return count
			}
		}
	}
	return 0
}

// shares reads "Nodes=n[1-2] CPU_IDs=0-3 Mem=0 GRES=gpu:2(IDX:0-1)".
func shares(nodeList string, fields []string) []share {
	for _, field := range fields {
		if gres, ok := strings.CutPrefix(field, "GRES="); ok {
			if gpus := countGPUs(gres); gpus > 0 {
				return []share{{nodeList: nodeList, gpus: gpus}}
			}
		}
	}
	return nil
}

func countGPUs(gres string) int {
	total := 0
	for _, match := range gpuCount.FindAllStringSubmatch(gres, -1) {
		count, err := strconv.Atoi(match[1])
		if err != nil {
			continue
		}
		total += count
	}
	return total
}

// nodeList is empty where Slurm prints a word for none.
func nodeList(value string) string {
	if value == "(null)" || value == "None" {
		return ""
	}
	return value
}
