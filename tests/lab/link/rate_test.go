package link_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/tests/lab/link"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]link.Rate{
		"200mbit":   200_000_000,
		"1gbit":     1_000_000_000,
		"2.5gbit":   2_500_000_000,
		"1Gbit/s":   1_000_000_000,
		"10G":       10_000_000_000,
		"500kbit":   500_000,
		"800000":    800_000,
		"800000bit": 800_000,
		"100mbps":   0,
	} {
		got, err := link.ParseRate(text)
		if want == 0 {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestParseRateRefuses(t *testing.T) {
	for _, text := range []string{"", "fast", "mbit", "-1gbit", "1tbit", "1 gbit", "1bit", "401gbit", "1e9", "0x10mbit", "nan"} {
		_, err := link.ParseRate(text)
		require.Error(t, err, "%q", text)
	}
}

func FuzzParseRate(f *testing.F) {
	for _, text := range []string{"200mbit", "1.5gbit", "99", "1g"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rate, err := link.ParseRate(text)
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, rate, link.MinRate)
		require.LessOrEqual(t, rate, link.MaxRate)
		again, err := link.ParseRate(rate.String())
		require.NoError(t, err)
		require.Equal(t, rate, again)
	})
}
