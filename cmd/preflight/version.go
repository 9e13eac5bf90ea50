package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// versionReport is the JSON of `preflight version`.
type versionReport struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), versionReport{"preflight.version/1", version})
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), cmd.Root().Name(), version)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
