package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// maxDepth is how deep mappings may be nested; keys have three parts.
const maxDepth = 8

// readYAML reads the site's YAML file, which entry names: the keys of
// plugstack.conf, dotted or nested. Values are read as text, exactly as in
// plugstack.conf.
func readYAML(entry Entry) (Layer, []Problem) {
	data, err := readFile(entry.Value)
	if err != nil {
		return nil, []Problem{entry.problem("cannot read it: " + err.Error())}
	}
	return parseYAML(entry.Value, data)
}

func parseYAML(name string, data []byte) (Layer, []Problem) {
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, []Problem{{Source: name, Reason: err.Error()}}
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, []Problem{{Source: name, Reason: "expected one YAML document"}}
	}
	y := yamlFile{name: name}
	y.node("", document.Content[0], 0)
	return y.layer, y.problems
}

// yamlFile collects what a YAML file sets.
type yamlFile struct {
	name     string
	layer    Layer
	problems []Problem
}

// node takes in what stands under a key; the whole document stands under "".
func (y *yamlFile) node(key string, node *yaml.Node, depth int) {
	switch {
	case node.Anchor != "" || node.Kind == yaml.AliasNode:
		y.refuse(key, node, "anchors and aliases are not read here")
	case node.Style&yaml.TaggedStyle != 0:
		y.refuse(key, node, "tags are not read here")
	case node.Kind == yaml.MappingNode && depth < maxDepth:
		for i := 0; i+1 < len(node.Content); i += 2 {
			y.pair(key, node.Content[i], node.Content[i+1], depth)
		}
	case node.Kind == yaml.ScalarNode && key != "" && node.Tag != "!!null":
		y.layer = append(y.layer, Entry{Key: key, Value: node.Value, Source: y.at(node)})
	case key == "":
		y.refuse(key, node, "expected key: value")
	default:
		y.refuse(key, node, "expected one value")
	}
}

func (y *yamlFile) pair(prefix string, key, value *yaml.Node, depth int) {
	name := key.Value
	if prefix != "" {
		name = prefix + "." + name
	}
	switch {
	case key.Kind != yaml.ScalarNode || key.Value == "":
		y.refuse(prefix, key, "expected a key that is a word")
	case name == fileKey:
		y.refuse(name, value, "belongs into plugstack.conf: one file does not name another")
	default:
		y.node(name, value, depth+1)
	}
}

func (y *yamlFile) refuse(key string, node *yaml.Node, reason string) {
	y.problems = append(y.problems, Problem{Source: y.at(node), Key: key, Value: node.Value, Reason: reason})
}

func (y *yamlFile) at(node *yaml.Node) string {
	return fmt.Sprintf("%s:%d", y.name, node.Line)
}
