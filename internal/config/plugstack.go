package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// pluginName is the file name of our plugin, by which its line is known.
	pluginName = "spank_preflight.so"
	// fileKey is the key that names the site's YAML file.
	fileKey = "config"
	// argsSource is the source of arguments that Slurm handed to a hook.
	argsSource = "plugstack.conf arguments"
	// lineBuffer is what Slurm reads of a line (PATH_MAX less its final NUL).
	lineBuffer = 4095
	// maxIncludes is how many files an include may lead to, all together.
	maxIncludes = 256
)

// FromArgs reads the plugin's arguments as Slurm hands them to a hook, and the
// YAML file that they name. The layers are in the order that Load wants.
func FromArgs(args []string) ([]Layer, []Problem) {
	return fromArgs(argsSource, args)
}

// FromHook is FromArgs, with the file and line where the arguments stand if the
// plugstack.conf at this path has them. Slurm may have read them elsewhere: on a
// configless host from its cache.
func FromHook(args []string, path string) ([]Layer, []Problem) {
	var stack plugstack
	stack.read(path)
	for _, line := range stack.lines {
		if slices.Equal(line.args, args) {
			return fromArgs(line.source, args)
		}
	}
	return FromArgs(args)
}

// FromPlugstack finds the plugin's line in a plugstack.conf and reads its
// arguments as FromArgs does. There are no layers if no line names the plugin.
// A missing file is an empty one, as it is for Slurm.
func FromPlugstack(path string) ([]Layer, []Problem) {
	var stack plugstack
	stack.read(path)
	if len(stack.lines) == 0 {
		return nil, stack.problems
	}
	line := stack.lines[0]
	layers, problems := fromArgs(line.source, line.args)
	for _, again := range stack.lines[1:] {
		problems = append(problems, Problem{Source: again.source, Reason: "the plugin is named before at " + line.source + ", which counts"})
	}
	return layers, append(stack.problems, problems...)
}

func fromArgs(source string, args []string) ([]Layer, []Problem) {
	layer, problems := parseArgs(source, args)
	i := slices.IndexFunc(layer, func(e Entry) bool { return e.Key == fileKey })
	if i < 0 || layer[i].Value == "" || Check(fileKey, layer[i].Value) != nil { // Load reports what Check finds
		return []Layer{layer}, problems
	}
	file, wrong := readYAML(layer[i])
	return []Layer{file, layer}, append(problems, wrong...)
}

func parseArgs(source string, args []string) (Layer, []Problem) {
	layer, problems := Layer{}, []Problem(nil)
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			problems = append(problems, Problem{Source: source, Reason: "expected key=value, found " + Quote(arg)})
			continue
		}
		layer = append(layer, Entry{Key: key, Value: value, Source: source})
	}
	return layer, problems
}

// plugstack collects our lines of a plugstack.conf and of what it includes.
type plugstack struct {
	lines    []pluginLine
	problems []Problem
	open     []os.FileInfo // the files being read, the innermost last
	files    int           // the files read so far
}

type pluginLine struct {
	source string
	args   []string
}

func (p *plugstack) read(path string) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil && slices.ContainsFunc(p.open, func(open os.FileInfo) bool { return os.SameFile(open, info) }) {
		p.problem(path, "it includes itself")
		return
	}
	data, err := readFile(path)
	if err != nil {
		p.problem(path, "cannot read it: "+err.Error())
		return
	}
	p.files++
	p.open = append(p.open, info)
	for i, line := range strings.Split(string(data), "\n") {
		p.line(path, fmt.Sprintf("%s:%d", path, i+1), line)
	}
	p.open = p.open[:len(p.open)-1]
}

func (p *plugstack) line(path, source, text string) {
	if len(text) > lineBuffer {
		p.problem(source, fmt.Sprintf("the line has %d bytes; Slurm cuts it after %d", len(text), lineBuffer))
		text = text[:lineBuffer]
	}
	directive, operand, args, err := parseLine(text)
	switch {
	case err != nil:
		p.problem(source, err.Error())
	case directive == "include":
		p.include(path, source, operand)
	case operand != "" && filepath.Base(operand) == pluginName:
		p.lines = append(p.lines, pluginLine{source: source, args: args})
	}
}

// include reads the files that match a pattern, which is relative to the
// including file. That nothing matches is no error for Slurm, nor here.
func (p *plugstack) include(path, source, operand string) {
	pattern := operand
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(filepath.Dir(path), pattern)
	}
	files, err := glob(pattern)
	if err != nil {
		p.problem(source, fmt.Sprintf("include %s: %v", Quote(operand), err))
	}
	for _, file := range files {
		if p.files >= maxIncludes {
			p.problem(source, fmt.Sprintf("more than %d files are included", maxIncludes))
			return
		}
		p.read(file)
	}
}

func (p *plugstack) problem(source, reason string) {
	p.problems = append(p.problems, Problem{Source: source, Reason: reason})
}

// glob is glob(3), as far as it differs from filepath.Glob: "!" negates a class,
// and a wildcard matches no leading dot.
func glob(pattern string) ([]string, error) {
	files, err := filepath.Glob(strings.ReplaceAll(pattern, "[!", "[^"))
	wanted := strings.HasPrefix(filepath.Base(pattern), ".")
	return slices.DeleteFunc(files, func(file string) bool {
		return strings.HasPrefix(filepath.Base(file), ".") && !wanted
	}), err
}

// parseLine reads a line as Slurm's spank.c does: "#" begins a comment wherever
// it stands, blanks and tabs separate, nothing quotes. A line without words has
// no directive.
func parseLine(text string) (directive, operand string, args []string, err error) {
	if end := strings.IndexAny(text, "#\x00"); end >= 0 {
		text = text[:end]
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' })
	if len(words) == 0 {
		return "", "", nil, nil
	}
	switch words[0] {
	case "required", "optional", "include":
	default:
		return "", "", nil, fmt.Errorf("the line begins with %s, expected required, optional or include; Slurm ignores it", Quote(words[0]))
	}
	if len(words) == 1 {
		return "", "", nil, fmt.Errorf("nothing follows %s; Slurm ignores the line", words[0])
	}
	return words[0], words[1], words[2:], nil
}
