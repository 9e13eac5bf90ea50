package slurm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// record is the part of "scontrol show job" that we read.
type record struct {
	het       component
	state     string
	partition string
	nodeList  string
	started   string
	suspended string
	restarts  int
	batch     bool
	gpus      []share
}

// share is the GPUs on each node of a list.
type share struct {
	nodeList string
	gpus     int
}

// gpuCount finds one kind of GPU in a GRES text: gpu:2(IDX:0-1), gpu:h100:8(IDX:0-7), gpu(CNT:4).
var gpuCount = regexp.MustCompile(`\bgpu(?::[^:,(]+)?[:(](?:CNT:)?(\d+)`)

// parseRecord reads one job out of what "scontrol --detail show job ID" prints:
// for the first job of an array or of a heterogeneous job it prints the others
// too. A key of ours counts only at the beginning of a line, since the user's
// free text stands behind another key. But a job's name and comment may break
// lines (measured), so a key that is there twice may be forged, and is refused.
func parseRecord(text, id string) (record, error) {
	var r record
	seen := map[string]bool{}
	ours := false
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		key, value, _ := strings.Cut(fields[0], "=")
		if key == "JobId" {
			ours = value == id
		}
		if !ours {
			continue
		}
		if once[key] && seen[key] {
			return record{}, fmt.Errorf("scontrol shows %s= twice for job %s: is there a line break in the job's name or comment?", key, id)
		}
		seen[key] = true
		r.take(key, value, fields)
	}
	return r, nil
}

// once has the keys that a job's record has one of.
var once = map[string]bool{"JobId": true, "JobState": true, "Partition": true, "NodeList": true, "StartTime": true, "SuspendTime": true, "Requeue": true}

// take takes in one line: its first key with its value, and all its fields.
func (r *record) take(key, value string, fields []string) {
	switch key {
	case "JobId":
		r.het = componentOf(fields)
	case "JobState":
		r.state = value
	case "Partition":
		r.partition = value
	case "NodeList":
		r.nodeList = nodeList(value)
	case "StartTime":
		r.started = value
	case "SuspendTime":
		r.suspended = value
	case "Requeue":
		r.restarts = number(fields, "Restarts=")
		r.batch = number(fields, "BatchFlag=") != 0 // 2 after a requeue
	case "Nodes":
		r.gpus = append(r.gpus, shares(value, fields)...)
	}
}

// number finds one number in "Requeue=1 Restarts=0 BatchFlag=1 …"; 0 if it is not there.
func number(fields []string, key string) int {
	for _, field := range fields {
		if value, ok := strings.CutPrefix(field, key); ok {
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
