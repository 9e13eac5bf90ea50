package config

// The parsers that fuzz tests call without a file.
var (
	ParseLine = parseLine
	ParseYAML = parseYAML
)
