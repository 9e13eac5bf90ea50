package slurm

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
)

// component is a job's place in a heterogeneous job; all empty for a plain job.
type component struct {
	leader string // the id of the first component, which stands for the whole
	offset int
}

// componentOf reads "JobId=53 HetJobId=52 HetJobOffset=1 JobName=…". The two
// words stand before all that a user can name.
func componentOf(fields []string) component {
	if len(fields) < 3 {
		return component{}
	}
	leader, isHet := strings.CutPrefix(fields[1], "HetJobId=")
	offset, hasOffset := strings.CutPrefix(fields[2], "HetJobOffset=")
	n, err := strconv.Atoi(offset)
	if !isHet || !hasOffset || err != nil {
		return component{}
	}
	return component{leader: leader, offset: n}
}

// Component is Slurm's name for a component of a heterogeneous job, such as
// 52+1; empty for a plain job.
func (j Job) Component() string {
	if j.HetLeader == "" {
		return ""
	}
	return j.HetLeader + "+" + strconv.Itoa(j.HetOffset)
}

// Components lists the jobs that a job consists of, by their ids: itself, or
// the components of the heterogeneous job that it is part of, in their order.
func Components(ctx context.Context, id string) ([]string, error) {
	text, err := showJob(ctx, id)
	if err != nil {
		return nil, err
	}
	own, err := parseRecord(text, id)
	if err != nil {
		return nil, err
	}
	if own.het.leader == "" {
		return []string{id}, nil
	}
	if own.het.leader != id {
		if text, err = showJob(ctx, own.het.leader); err != nil {
			return nil, err
		}
	}
	return parseComponents(text, own.het.leader), nil
}

// parseComponents finds the ids of a heterogeneous job's components in what
// scontrol shows of its leader.
func parseComponents(text, leader string) []string {
	offsets := map[string]int{}
	var ids []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		id, isJob := strings.CutPrefix(fields[0], "JobId=")
		het := componentOf(fields)
		if _, seen := offsets[id]; isJob && het.leader == leader && !seen {
			offsets[id] = het.offset
			ids = append(ids, id)
		}
	}
	slices.SortStableFunc(ids, func(a, b string) int { return cmp.Compare(offsets[a], offsets[b]) })
	return ids
}
