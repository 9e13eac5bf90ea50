package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// skipList maps "package TestName" to the reason why that test may skip. It
// covers the test's subtests too.
type skipList map[string]string

// readSkips reads lines of the form `package TestName reason…`. Blank lines and
// lines that begin with # say nothing.
func readSkips(path string) (skipList, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the list of tests that may skip: %w", err)
	}
	defer file.Close()

	skips := skipList{}
	scanner := bufio.NewScanner(file)
	for number := 1; scanner.Scan(); number++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return nil, fmt.Errorf("%s:%d: %q is not `package TestName reason`", path, number, line)
		}
		skips[fields[0]+" "+fields[1]] = strings.Join(fields[2:], " ")
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return skips, nil
}

func (s skipList) reason(pkg, test string) (string, bool) {
	name, _, _ := strings.Cut(test, "/")
	reason, ok := s[pkg+" "+name]
	return reason, ok
}
