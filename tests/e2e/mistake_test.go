package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mistakes are options that nobody should get into the queue, and a part of the sentence that says why.
var mistakes = map[string]string{
	"":                                      "--nccl-validate needs a value",
	strings.Repeat("x", 10<<10):             "has 10240 bytes, at most 1024 are allowed",
	"allreduce," + strings.Repeat("y", 900): "unknown collective or setting",
	"allreduce\nmin=1":                      "control character (0x0a)",
	"allreduce\x1b[31m":                     "control character (0x1b)",
	"allreduce\x7f":                         "control character (0x7f)",
	"all\u202ereduce":                       "must not hold the character",
	"allreduce min=1":                       "must not hold the character ' '",
	"allreduce,":                            "a comma too many",
	",":                                     "a comma too many",
	"allreduce,allreduce":                   "given twice",
	"min=4":                                 "names no collective",
	"off,allreduce":                         `"off" stands alone`,
	"allreduce=4":                           "takes no value",
	"allreduce,min":                         "needs a value",
	"allreduce,min=":                        "expected GB/s",
	"allreduce,min=-1":                      "expected GB/s",
	"allreduce,min=1e999":                   "expected GB/s",
	"allreduce,min=NaN":                     "expected GB/s",
	"allreduce,min=400GB":                   "expected GB/s",
	"allreduce,size=-4":                     "expected a size",
	"allreduce,size=16X":                    "expected a size",
	"allreduce,size=99999999999G":           "expected a size",
	"allreduce,iters=0":                     "expected a whole number",
	"allreduce,iters=99999999999999999999":  "expected a whole number",
	"allreduce,timeout=90":                  "expected a time",
	"allreduce,timeout=3d":                  "expected a time",
	"allreduce,on-fail=explode":             "expected fail or warn",
	"allreduce,$(reboot)":                   "unknown collective or setting",
	"%s%n%s%n":                              "unknown collective or setting",
}

func TestMistakesAreRefusedAtSubmission(t *testing.T) {
	l := startLab(t, "--nodes", "1")
	codes := map[string]int{"sbatch": 255, "srun": 255, "salloc": 255}
	for value, why := range mistakes {
		for command, code := range codes {
			args := []string{command, "--nccl-validate=" + value}
			if command == "sbatch" {
				args = append(args, "--output=/dev/null", "--wrap")
			}
			r := l.run(append(args, "true")...)
			require.Equal(t, code, r.code, "%s %.40q: %s", command, value, r.err)
			require.Contains(t, r.err, why, "%s %.40q", command, value)
			require.Contains(t, r.err, command+": error: preflight: ")
			require.Empty(t, r.out)
		}
	}
	require.Empty(t, l.run("squeue", "--noheader", "--states=all").out, "nothing was queued")
}

// A script may hold the option too.
func TestMistakeInAScriptIsRefused(t *testing.T) {
	l := startLab(t, "--nodes", "1")
	path := l.dir() + "/job.sh"
	r := l.run("sh", "-c", `printf '#!/bin/sh\n#SBATCH --nccl-validate=allreduce,sise=1M\ntrue\n' > "$0"; sbatch "$0"`, path)
	require.Equal(t, 255, r.code, r.err)
	require.Contains(t, r.err, `did you mean "size"?`)
	require.Empty(t, l.run("squeue", "--noheader", "--states=all").out)
}
