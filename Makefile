GO ?= go
FUZZTIME ?= 1m
# Which benchmarks, how often each, how long at least.
BENCH ?= .
COUNT ?= 6
BENCHTIME ?= 0.1s

# Packages with goroutines of their own, or that hand work to them.
CONCURRENT = ./internal/parallel ./mtl ./data ./federation ./experiment ./results/rundir ./report/serve
# Packages that check invariants when they are built with the tag.
CORE = ./engine ./devices ./mtl ./clients ./federation ./algorithms ./experiment

# The architectures that test-platforms runs every shipped scenario on, emulated where
# need be.
PLATFORMS = baseline,v3,386,arm64,riscv64,s390x

.PHONY: build test check race invariants examples tidy test-crash test-mutants emulators test-platforms bench bench-peers test-peers test-duckdb test-browser fuzz generate licenses clean

build:
	$(GO) build -buildvcs=auto -o bin/fedsim ./cmd/fedsim

test:
	$(GO) test ./...

check:
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "not formatted by gofmt:" $$files; exit 1; fi
	$(GO) vet ./...
	$(GO) tool -modfile=internal/tools/go.mod staticcheck ./...
	internal/tools/deadcode $(EXAMPLES)
	$(GO) test ./cmd/fedsim/command -run '^TestNoFusedInstructions$$' -fused=arm64

race:
	$(GO) test -race -short $(CONCURRENT)
	$(GO) test -race -short -timeout 20m -run '^TestScripts$$/^run_(workers|interrupt|resume)$$' ./cmd/fedsim/command

invariants:
	$(GO) test -tags invariants $(CORE)

# The plugins of docs/plugins.md, each a module of its own: checked, tested, and run with its scenario.
EXAMPLES = prox steady foreground gilbert utility semiasync
examples:
	@made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && for e in $(EXAMPLES); do (cd examples/$$e && \
		$(GO) vet ./... && $(GO) tool -modfile=../../internal/tools/go.mod staticcheck ./... && $(GO) test ./... && \
		$(GO) run . run $$e.toml --out "$$made/$$e") || exit 1; done

# After a change of go.mod: what the modules beside it need of it.
tidy:
	@for m in bench bench/interop/browser internal/tools internal/kernel/gen $(EXAMPLES:%=examples/%); do (cd $$m && $(GO) mod tidy) || exit 1; done

# 200 runs, and 100 with tables, killed at random moments and gone on with, with 1, 2 and 8 workers.
test-crash:
	$(GO) test ./cmd/fedsim/command -run '^TestKilled(Runs|Tables)Resume$$' -kills 200 -v -timeout 30m

# 10,000 scenarios, 10,000 data files and 2,000 run directories to each of which
# something has happened: read, run, resumed and drawn.
test-mutants:
	$(GO) test ./cmd/fedsim/command -run '^TestMutant' -mutants 10000 -v -timeout 2h

# Debian's qemu-user-static, where it is missing.
emulators:
	@command -v qemu-s390x-static >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends qemu-user-static; }

# Every shipped scenario, cut short, on other architectures: the same results bit for
# bit.
test-platforms: emulators
	$(GO) test ./cmd/fedsim/command -count=1 -run '^TestNoFusedInstructions$$' -fused=arm64,amd64,riscv64,s390x,ppc64le,loong64
	$(GO) test ./cmd/fedsim/command -count=1 -run '^TestPlatforms$$' -platforms=$(PLATFORMS) -v -timeout 45m

# What benchstat reads: make bench > new.txt
bench:
	@$(GO) test -run='^$$' -bench='$(BENCH)' -count=$(COUNT) -benchtime=$(BENCHTIME) -benchmem ./...

# fedsim beside its peers on the same work, in one run of about two minutes.
bench-peers:
	@bench/install-peers
	@cd bench && $(GO) run .

# That the peers do the same work; of those that are installed.
test-peers:
	cd bench && $(GO) vet ./... && $(GO) tool -modfile=../internal/tools/go.mod staticcheck ./... && $(GO) test -v ./...

# DuckDB reads the parquet files of a run; installs it below bench/interop/duckdb. Needs npm.
test-duckdb:
	cd bench/interop/duckdb && npm install --no-save --prefer-offline --ignore-scripts --no-audit --no-fund
	cd bench && $(GO) test -count=1 -v ./interop/duckdb

# The pages in Chromium, which is installed where it is missing. PICTURES: a folder for pictures of them.
test-browser:
	bench/interop/browser/install
	cd bench/interop/browser && $(GO) vet ./... && $(GO) tool -modfile=../../../internal/tools/go.mod staticcheck ./... && \
		$(GO) test -count=1 -timeout 10m -v . $(if $(PICTURES),-args -pictures $(abspath $(PICTURES)))

# Every fuzz target in turn, each for FUZZTIME. What is new to the corpus is hardly
# made smaller, which would take most of the time.
fuzz:
	@grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' . | while IFS=: read -r file target; do \
		echo "$$(dirname $$file) $${target#func }"; \
		$(GO) test -run='^$$' -fuzz="^$${target#func }\$$" -fuzztime=$(FUZZTIME) -fuzzminimizetime=100x "$$(dirname $$file)" || exit 1; \
	done

# docs/scenarios.md, from the schema; the outputs in docs/tutorial.md, from its commands; the AVX2 kernels, from their generator.
generate:
	$(GO) test ./scenarios -run TestReferenceIsUpToDate -update
	$(GO) test ./cmd/fedsim/command -run TestTutorial -update-tutorial
	$(GO) generate ./internal/kernel

# The license notices of what the program carries, after a change of go.mod.
licenses:
	$(GO) test ./internal/licenses -run TestUpToDate -update

clean:
	rm -rf bin
