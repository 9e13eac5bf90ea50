# slurm-preflight: build, test and install. `make` alone lists the targets.
#
# Variables, with their defaults; set them on the command line, as in
# `make install DESTDIR=/tmp/stage PREFIX=/usr`.
#
#   VERSION        0.1.0+COMMIT     what --version prints
#   SLURM_VERSION  the installed    Slurm release that the plugin declares itself built for, such as 25.11.5
#   PREFIX         /usr/local       where the programs go
#   SLURM_LIBDIR   Slurm's own      directory of Slurm's plugins, where spank_preflight.so is linked
#   DESTDIR        (empty)          staging directory in front of both
#   GO             go               the Go command, 1.21 or newer; go.mod's toolchain line brings the right one
#   CC, CXX        gcc, g++         the C and C++ compilers
#   TESTFLAGS      (empty)          more flags for go test, such as -run=TestGate or -v

GO       ?= go
PREFIX   ?= /usr/local
VERSION  ?= 0.1.0$(addprefix +,$(shell git rev-parse --short HEAD 2>/dev/null))
TESTFLAGS ?=
triplet  := $(shell $(CC) -dumpmachine 2>/dev/null)
slurm_libdirs := $(wildcard /usr/lib/$(triplet)/slurm-wlm /usr/lib/$(triplet)/slurm /usr/lib64/slurm /usr/lib/slurm)
SLURM_LIBDIR ?= $(firstword $(slurm_libdirs) $(PREFIX)/lib/slurm)

# Not for the command line.
SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
build       := build
tools       := $(build)/tools
home        := $(PREFIX)/lib/slurm-preflight
GOBUILD     := $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)'
GOTEST      := $(GO) test -json -count=1
need_go     := command -v $(GO) >/dev/null || { echo 'make: there is no `$(GO)` here: install Go 1.21 or newer, or name it with GO=' >&2; exit 1; }
judge       := $(tools)/verdict tests/skips.txt && echo 'test: passed' || { echo 'test: FAILED'; exit 1; }
manual      := $(wildcard docs/man/*.[1-8])
shipped     := bin/preflight bin/preflight-worker lib/libhostccl.so lib/spank_preflight.so lib/libpreflight.so

# Git refuses to look into a clone that belongs to somebody else, and then Go would refuse to build.
export GOFLAGS := $(filter-out -buildvcs=%,$(GOFLAGS)) -buildvcs=false

# Targets depend on each other in the order written, `deps` first. The C
# Makefiles below run in parallel on their own.
.NOTPARALLEL:
.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo 'Variables and their defaults stand at the head of the Makefile.'

## Building

.PHONY: deps
deps: packages $(build)/.modules $(build)/.tool-modules ## install what is missing from Debian (as root) and fetch the Go modules
	@:

.PHONY: packages
packages:
	@tools/deps.sh

$(build)/.modules: go.mod go.sum
	@$(need_go)
	@$(GO) mod download
	@mkdir -p $(@D) && touch $@

$(build)/.tool-modules: tools/go.mod tools/go.sum
	@cd tools && $(GO) mod download
	@mkdir -p $(@D) && touch $@

.PHONY: build
build: programs libraries ## build the programs into build/bin, the libraries into build/lib
	@:

# Static, so that they run on every node and inside every container.
.PHONY: programs
programs:
	@$(need_go)
	@mkdir -p $(build)/bin
	CGO_ENABLED=0 $(GOBUILD) -o $(build)/bin/ ./cmd/preflight ./tests/lab
	CGO_ENABLED=1 $(GOBUILD) -o $(build)/bin/ ./cmd/preflight-worker

.PHONY: libraries
libraries:
	@mkdir -p $(build)/lib
	@$(MAKE) --no-print-directory -C cgo/hostccl/lib OUT='$(CURDIR)/$(build)/lib'
	@$(MAKE) --no-print-directory -C spank front core OUT='$(CURDIR)/$(build)/lib' GO='$(GO)' $(if $(SLURM_VERSION),SLURM_VERSION=$(SLURM_VERSION))

## Checking

# What is cheap runs under the race detector; the tests that start a lab have
# the machine's two cores for themselves, one package after the other. Most of
# their time they wait, so some of them run at once.
.PHONY: test
test: packages build $(tools)/verdict ## run every test; ends with `test: passed`
	@$(GO) vet ./...
	@{ failed=0; \
	  $(GOTEST) -race -timeout 5m $(TESTFLAGS) ./collectives/... ./internal/... || failed=1; \
	  $(GOTEST) -p 1 -parallel 4 -timeout 12m $(TESTFLAGS) $$($(GO) list ./... | grep -Ev '^slurm-preflight/(collectives|internal|tests/matrix)(/|$$)') || failed=1; \
	  exit $$failed; } | $(judge)

.PHONY: race
race: packages build $(tools)/verdict ## run the product's own tests under the race detector
	@$(GOTEST) -race -timeout 10m $(TESTFLAGS) ./collectives/... ./internal/... ./cgo/... ./cmd/... | $(judge)

.PHONY: matrix
matrix: packages build ## break everything at every moment of a gate, and print what came of it: minutes
	@$(GO) test -count=1 -v -timeout 60m -parallel 3 $(TESTFLAGS) ./tests/matrix
	@$(GO) test -count=1 -v -timeout 20m -run 'KilledPeer|StoppedPeer' ./cgo/nccl -rounds=200

.PHONY: $(tools)/verdict
$(tools)/verdict:
	@$(GOBUILD) -o $@ ./tests/verdict

.PHONY: lint
lint: packages $(tools)/golangci-lint ## check style and habits; ends with `lint: passed`
	@GO=$(GO) tools/lint.sh $(tools)

.PHONY: fmt
fmt: $(tools)/golangci-lint ## format the Go code
	@$(tools)/golangci-lint fmt

# Minutes the first time, from Go's cache afterwards.
$(tools)/golangci-lint: tools/go.mod tools/go.sum
	@echo 'lint: building golangci-lint; this takes some minutes, once'
	@cd tools && $(GO) build -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

.PHONY: bench
bench: packages build ## measure the budgets; one line each: bench NAME VALUE UNIT budget BUDGET ok|over
	@tests/bench.sh

.PHONY: demo
demo: packages build ## show a healthy and a throttled job on a real Slurm; ends with `demo: passed`
	@tests/demo.sh

## Installing

# Takes what `make build` left, so that `sudo make install` needs no Go.
.PHONY: install
install: ## install below PREFIX and link the plugin into SLURM_LIBDIR
	@for file in $(shipped); do \
	  [[ -e $(build)/$$file ]] || { echo "install: build/$$file is missing: run \`make build\` first" >&2; exit 1; }; \
	done
	install -d $(DESTDIR)$(home)/bin $(DESTDIR)$(home)/lib $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(SLURM_LIBDIR)
	install -m 0755 $(addprefix $(build)/,$(filter bin/%,$(shipped))) $(DESTDIR)$(home)/bin
	install -m 0644 $(addprefix $(build)/,$(filter lib/%,$(shipped))) $(DESTDIR)$(home)/lib
	@for page in $(manual); do \
	  install -D -v -m 0644 $$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}; \
	done
	ln -sfn $(home)/bin/preflight $(DESTDIR)$(PREFIX)/bin/preflight
	ln -sfn $(home)/lib/spank_preflight.so $(DESTDIR)$(SLURM_LIBDIR)/spank_preflight.so

.PHONY: uninstall
uninstall: ## remove what install put there
	rm -rf $(DESTDIR)$(home)
	rm -f $(DESTDIR)$(PREFIX)/bin/preflight $(DESTDIR)$(SLURM_LIBDIR)/spank_preflight.so
	@for page in $(manual); do rm -fv $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}; done

.PHONY: clean
clean: ## remove build/
	rm -rf $(build)
