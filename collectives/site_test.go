package collectives_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/collectives"
	"slurm-preflight/internal/config"
)

func site(t *testing.T, args ...string) collectives.Site {
	t.Helper()
	site, err := collectives.NewSite(config.FromArgs(args))
	require.NoError(t, err)
	return site
}

const (
	byDefault = "this site measures jobs that do not ask for it (gate.default at plugstack.conf arguments)"
	enforced  = "this site enforces its gate (gate.enforce at plugstack.conf arguments)"
)

func TestDemand(t *testing.T) {
	const standard, enforce = "gate.default=allreduce,min=400,on-fail=warn", "gate.enforce=yes"
	type want struct {
		text   string // empty: no gate
		asked  bool
		floor  config.GBps
		onFail config.OnFail
		size   config.Bytes
		notes  []string
	}
	const size = 16 << 20
	tests := map[string]struct {
		site   []string
		option string
		let    bool // the default is not meant for this job
		want   want
	}{
		"nobody asks": {},
		"nobody asks, the site gates": {
			site: []string{standard, "gate.min.allreduce=7"},
			want: want{"allreduce,min=400,on-fail=warn", false, 400, "warn", size, []string{byDefault + "; --nccl-validate=off opts out"}},
		},
		"nobody asks, the site enforces": {
			site: []string{standard, enforce},
			want: want{"allreduce,min=400,on-fail=warn", false, 400, "warn", size, []string{byDefault}},
		},
		"not meant for this job":          {site: []string{standard, enforce}, let: true},
		"a default that is off":           {site: []string{"gate.default=off", enforce}},
		"the user asks":                   {site: []string{standard}, option: "allreduce", want: want{"allreduce", true, 0, "fail", size, nil}},
		"the user asks of a site's floor": {site: []string{standard, "gate.min.allreduce=7"}, option: "allreduce", want: want{"allreduce", true, 7, "fail", size, nil}},
		"the user asks for less":          {site: []string{"gate.min.allreduce=7"}, option: "allreduce,min=1", want: want{"allreduce,min=1", true, 1, "fail", size, nil}},
		"the user opts out":               {site: []string{standard}, option: "off"},
		"the user opts out where it is enforced": {
			site: []string{standard, enforce}, option: "off",
			want: want{"allreduce,min=400,on-fail=warn", false, 400, "warn", size, []string{byDefault, "--nccl-validate=off is ignored: " + enforced}},
		},
		"the user opts out of nothing": {site: []string{standard, enforce}, option: "off", let: true},
		"enforced: more": {
			site: []string{standard, enforce}, option: "allreduce,min=500,on-fail=fail",
			want: want{"allreduce,min=400,on-fail=warn,allreduce,min=500,on-fail=fail", true, 500, "fail", size, nil},
		},
		"enforced: less": {
			site: []string{standard, enforce, "gate.on_fail=fail"}, option: "allreduce,min=39,size=1M",
			want: want{"allreduce,min=400,on-fail=warn,allreduce,min=39,size=1M", true, 400, "warn", size, []string{
				"gate.min.allreduce=39 of --nccl-validate is ignored, gate.min.allreduce=400 holds: " + enforced,
				"gate.size=1M of --nccl-validate is ignored, gate.size=16M holds: " + enforced,
			}},
		},
		"enforced: nothing but the site's own settings": {
			site: []string{enforce, "gate.min.allreduce=7", "gate.size=2M"}, option: "allreduce,min=1,on-fail=warn,size=2M",
			want: want{"allreduce,min=1,on-fail=warn,size=2M", true, 7, "fail", 2 << 20, []string{
				"gate.min.allreduce=1 of --nccl-validate is ignored, gate.min.allreduce=7 holds: " + enforced,
				"gate.on_fail=warn of --nccl-validate is ignored, gate.on_fail=fail holds: " + enforced,
			}},
		},
		"enforced, but not meant for this job": {
			site: []string{standard, enforce}, option: "allreduce,min=1", let: true,
			want: want{"allreduce,min=1", true, 1, "fail", size, nil},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := site(t, test.site...)
			require.Empty(t, s.Problems)
			demand, err := s.Demand(test.option, !test.let)
			require.NoError(t, err)
			if test.want.text == "" {
				require.Empty(t, demand.Spec.Ops)
				require.Empty(t, demand.Notes)
				return
			}
			require.Equal(t, []collectives.Op{collectives.AllReduce}, demand.Spec.Ops)
			gate := demand.Config.Gate
			floor, _ := gate.Min.Of(string(collectives.AllReduce))
			require.Equal(t, test.want, want{demand.Text, demand.Asked, floor, gate.OnFail, gate.Size.Max, demand.Notes})
		})
	}
}

func TestEnforcedGateKeepsTheUsersReport(t *testing.T) {
	demand, err := site(t, "gate.default=allreduce", "gate.enforce=yes").Demand("allreduce,report=/x", true)
	require.NoError(t, err)
	require.Equal(t, "/x", demand.Spec.Report)
}

// The floor of the default is the site's: the report says where it stands.
func TestDefaultsWordsAreTheSites(t *testing.T) {
	demand, err := site(t, "gate.default=allreduce,min=400").Demand("", true)
	require.NoError(t, err)
	require.Equal(t, "plugstack.conf arguments", demand.Config.Source("gate.min.allreduce"))
}

// Nobody looks at a job whom the default does not concern.
func TestStanding(t *testing.T) {
	for _, test := range []struct {
		site   []string
		option string
		stands bool
	}{
		{nil, "", false},
		{[]string{"gate.enforce=yes"}, "", false},
		{[]string{"gate.default=off"}, "", false},
		{[]string{"gate.default=allreduce"}, "", true},
		{[]string{"gate.default=allreduce"}, "off", false},
		{[]string{"gate.default=allreduce"}, "allreduce", false},
		{[]string{"gate.default=allreduce", "gate.enforce=yes"}, "off", true},
		{[]string{"gate.default=allreduce", "gate.enforce=yes"}, "allreduce", true},
	} {
		require.Equal(t, test.stands, site(t, test.site...).Standing(test.option), "%q with %q", test.site, test.option)
	}
}

// A mistake of the site's stops no job, but is told.
func TestDefaultThatCannotBeRead(t *testing.T) {
	for value, reason := range map[string]string{
		"alreduce":           `did you mean "allreduce"?`,
		"allreduce,iters=0":  "expected a whole number",
		"allreduce,report=x": "one file cannot hold the reports of all jobs",
		"min=4":              "names no collective",
	} {
		s := site(t, "gate.default="+value, "gate.enforce=yes")
		require.True(t, s.Broken)
		require.False(t, s.HasDefault())
		require.Len(t, s.Problems, 1)
		require.Contains(t, s.Problems[0].String(), `plugstack.conf arguments: "gate.default=`+value+`": `)
		require.Contains(t, s.Problems[0].Reason, reason)
		demand, err := s.Demand("", true)
		require.NoError(t, err)
		require.Empty(t, demand.Spec.Ops)
	}
}

func TestBadOptionIsAnErrorWhateverTheSiteSays(t *testing.T) {
	for _, args := range [][]string{nil, {"gate.default=allreduce"}, {"gate.default=allreduce", "gate.enforce=yes"}} {
		_, err := site(t, args...).Demand("alreduce", true)
		require.ErrorContains(t, err, "allreduce")
		require.Error(t, collectives.CheckOption("alreduce", args...))
	}
}

func TestOptingOutIsRefusedWhereItCouldNotHelp(t *testing.T) {
	require.NoError(t, collectives.CheckOption("off"))
	require.NoError(t, collectives.CheckOption("off", "gate.default=allreduce"))
	require.NoError(t, collectives.CheckOption("off", "gate.enforce=yes"))
	require.EqualError(t, collectives.CheckOption("off", "gate.default=allreduce", "gate.enforce=yes"),
		`"off" is refused: `+enforced)
	require.NoError(t, collectives.CheckOption("allreduce,min=1", "gate.default=allreduce", "gate.enforce=yes"))
}

// Whatever a user writes, an enforced gate measures what the site says, at least
// as strictly, and as the site says.
func FuzzEnforcedGateIsNeverWeaker(f *testing.F) {
	for _, option := range []string{
		"", "off", "allreduce", "allreduce,min=1", "allreduce,min=500,size=4,iters=1", "allreduce,on-fail=warn", "allreduce,backend=host,timeout=1s", "x=\x00",
	} {
		f.Add(option)
	}
	s, err := collectives.NewSite(config.FromArgs([]string{"gate.default=allreduce,min=400,iters=7", "gate.enforce=yes", "gate.backend=auto"}))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, option string) {
		demand, err := s.Demand(option, true)
		if err != nil {
			require.Error(t, collectives.CheckOption(option), "refused at submission too")
			return
		}
		require.Contains(t, demand.Spec.Ops, collectives.AllReduce)
		gate := demand.Config.Gate
		floor, _ := gate.Min.Of(string(collectives.AllReduce))
		require.GreaterOrEqual(t, float64(floor), 400.0)
		require.Equal(t, s.Config.Gate.Size, gate.Size)
		require.Equal(t, 7, gate.Iters)
		require.Equal(t, s.Config.Gate.Timeout, gate.Timeout)
		require.Equal(t, config.OnFailFail, gate.OnFail)
		require.Equal(t, config.BackendAuto, gate.Backend)
	})
}
