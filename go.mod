module slurm-preflight

go 1.26.0

toolchain go1.26.8

replace github.com/mitchellh/mapstructure => github.com/go-viper/mapstructure v1.6.0

require (
	github.com/jedib0t/go-pretty/v6 v6.8.3
	github.com/mitchellh/mapstructure v1.5.0
	github.com/prometheus/procfs v0.23.0
	github.com/spf13/cobra v1.10.2
	github.com/stretchr/testify v1.12.1
	github.com/vishvananda/netlink v1.3.1
	go.yaml.in/yaml/v3 v3.0.6
	golang.org/x/sync v0.25.0
	golang.org/x/sys v0.50.0
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/mattn/go-runewidth v0.0.16 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	github.com/vishvananda/netns v0.0.5 // indirect
	golang.org/x/text v0.22.0 // indirect
)
