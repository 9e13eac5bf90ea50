package control

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"slurm-preflight/tests/lab/cluster"
	"slurm-preflight/tests/lab/process"
	"slurm-preflight/tests/lab/session"
)

// States asks Slurm for the state of every node.
func States(ctx context.Context, lab *process.Lab) (map[string]string, error) {
	out, err := output(ctx, lab, "sinfo", "--noheader", "--Node", "--format=%N %T")
	if err != nil {
		return nil, err
	}
	states := map[string]string{}
	for line := range strings.Lines(out) {
		if node, state, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			states[node] = state
		}
	}
	return states, nil
}

// output runs a short command as root on the login host.
func output(ctx context.Context, lab *process.Lab, argv ...string) (string, error) {
	s := session.Session{Lab: lab.Spec.Name, Host: lab.Init, User: "root", Dir: "/", Argv: argv}
	cmd := s.Command(ctx)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := s.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return "", fmt.Errorf("%s on %s: %w: %s", argv[0], cluster.Login, err, strings.TrimSpace(out.String()))
	}
	return out.String(), nil
}
