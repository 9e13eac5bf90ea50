package cluster

import (
	"fmt"
	"strconv"
	"strings"
)

// Account is somebody in the lab's /etc/passwd.
type Account struct {
	Name     string
	UID, GID uint32
	Home     string
}

// Users are the ordinary users of every lab's cluster.
func Users() []Account {
	return []Account{
		{Name: "user", UID: 20001, GID: 20001, Home: "/home/user"},
		{Name: "other", UID: 20002, GID: 20002, Home: "/home/other"},
	}
}

// Passwd is the machine's /etc/passwd with the lab's users in it.
func Passwd(machine string) string {
	b := &strings.Builder{}
	b.WriteString(without(machine))
	for _, u := range Users() {
		fmt.Fprintf(b, "%s:x:%d:%d::%s:/bin/bash\n", u.Name, u.UID, u.GID, u.Home)
	}
	return b.String()
}

// Group is the machine's /etc/group with the lab's users in it.
func Group(machine string) string {
	b := &strings.Builder{}
	b.WriteString(without(machine))
	for _, u := range Users() {
		fmt.Fprintf(b, "%s:x:%d:\n", u.Name, u.GID)
	}
	return b.String()
}

// without drops the lines of accounts that the lab has its own of.
func without(file string) string {
	var b strings.Builder
	for line := range strings.Lines(file) {
		if !ours(strings.Split(strings.TrimSpace(line), ":")) {
			b.WriteString(strings.TrimRight(line, "\n") + "\n")
		}
	}
	return b.String()
}

func ours(fields []string) bool {
	for _, u := range Users() {
		if fields[0] == u.Name || len(fields) > 2 && fields[2] == strconv.FormatUint(uint64(u.UID), 10) {
			return true
		}
	}
	return false
}

// Lookup finds an account in a passwd file.
func Lookup(passwd, name string) (Account, error) {
	for line := range strings.Lines(passwd) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if f[0] != name || len(f) < 6 {
			continue
		}
		uid, err := strconv.ParseUint(f[2], 10, 32)
		if err != nil {
			return Account{}, fmt.Errorf("account %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(f[3], 10, 32)
		if err != nil {
			return Account{}, fmt.Errorf("account %s: %w", name, err)
		}
		return Account{Name: name, UID: uint32(uid), GID: uint32(gid), Home: f[5]}, nil
	}
	return Account{}, fmt.Errorf("there is no account %q", name)
}
