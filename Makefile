GO ?= go
PYTHON ?= python3
FUZZTIME ?= 1m
# The benchmarks to run, and how often and how long.
BENCH ?= .
COUNT ?= 6
BENCHTIME ?= 0.1s

# Packages that start goroutines or use internal/tools/parallel.
CONCURRENT = ./internal/tools/child ./internal/tools/parallel ./mtl ./data/... ./federation/... ./experiment ./internal/rooms/outside/driven ./internal/rooms/clusters/submit ./internal/rooms/clusters/work ./results/rundir ./internal/rooms/report/serve
# Packages with assertions under the build tag invariants.
CORE = ./engine ./devices ./mtl ./clients ./federation/... ./algorithms/... ./experiment

# The plugins of docs/extend.md, each with its own program.
EXAMPLES = $(patsubst examples/%/main.go,%,$(wildcard examples/*/main.go))

# The platforms of test-platforms; some are emulated.
PLATFORMS = baseline,v3,386,arm64,riscv64,s390x

.PHONY: build test test-long test-python check api race race-packages race-commands invariants examples tidy test-crash test-kills test-mutants differences emulators test-platforms test-page rooms bench bench-peers bench-training test-peers test-duckdb same test-hyperqueue test-kubernetes slurm test-slurm test-browser test-torch test-flower validate fuzz generate licenses wheels release test-release capsule test-capsule site rename clean

build:
	$(GO) build -buildvcs=auto -o bin/fedsim ./cmd/fedsim

# Tests every mechanism on small cases; test-long runs the tests that take seconds, too, of PACKAGES those of RUN.
test:
	$(GO) test -short -timeout 30m ./...
	@$(MAKE) --no-print-directory test-python

test-long:
	$(GO) test -timeout 30m $(if $(RUN),-run '$(RUN)') $(or $(PACKAGES),./...)

# Tests pyfedsim with Python 3.10 or later, NumPy and pytest. If python3 has no NumPy or no
# pytest, they are installed once from PyPI to ~/.cache/fedsim; without a network the tests are
# skipped. So are those of optional packages that are missing. "bash .ci/run" runs the slow tests,
# too.
test-python:
	@$(PYTHON) -c '' 2>/dev/null || { echo "Python tests skipped: there is no $(PYTHON)"; exit 0; }; \
	python=$$($(PYTHON) python/tests/environment.py) || exit 1; [ -n "$$python" ] || exit 0; \
	made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && $(GO) build -o "$$made/fedsim" ./cmd/fedsim && \
	cd python && PATH="$$(dirname "$$python"):$$PATH" FEDSIM_BINARY="$$made/fedsim" "$$python" -m pytest -q -p no:cacheprovider -m "not slow"

# GOGC: analyses hold all packages, and would collect garbage a quarter of the time.
check: export GOGC ?= 400
check:
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "not formatted by gofmt:" $$files; exit 1; fi
	@made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && \
		$(GO) build -modfile=internal/develop/go.mod -o "$$made/staticcheck" honnef.co/go/tools/cmd/staticcheck && \
		(cd "$$made" && $(GO) work init && $(GO) work use "$(CURDIR)" "$(CURDIR)/examples") && \
		export GOWORK="$$made/go.work" && $(GO) vet ./... ./examples/... && "$$made/staticcheck" ./... ./examples/...
	internal/develop/deadcode
	cd internal/develop && $(GO) vet ./api && $(GO) test ./api && PYTHON="$(PYTHON)" $(GO) run ./api
	$(GO) test ./cmd/fedsim/command -run '^Test(NoFusedInstructions|WordBudgets|LinesAreShort)$$' -fused=arm64

# Adds new names of the Go packages and of pyfedsim to the lists of promised names
# (docs/extend.md#stability), which "make check" compares. INCOMPATIBLE=1: also removes names, before 1.0.0
# and for a new major version.
api:
	cd internal/develop && PYTHON="$(PYTHON)" $(GO) run ./api -update $(if $(INCOMPATIBLE),-incompatible)

race:
	@$(MAKE) --no-print-directory -j2 --output-sync=target race-packages race-commands

# A process with the race detector sleeps for a second before it exits, unless it is told
# otherwise: learners and workers would take most of the time.
race-packages race-commands: export GORACE ?= atexit_sleep_ms=20

race-packages:
	$(GO) test -race -short -timeout 30m $(or $(RACED),$(CONCURRENT))

race-commands: # the linker takes one core, so it runs beside the tests of packages
	$(GO) test -race -short -timeout 30m -run '^TestScripts$$/^run_(workers|interrupt|resume)$$' ./cmd/fedsim/command

invariants:
	$(GO) test -short -tags invariants $(CORE)

# Tests and runs the plugins of docs/extend.md. "make check" checks them.
examples:
	@made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && cd examples && $(GO) test ./... && \
		$(GO) build -o "$$made/bin/" ./... && for e in $(EXAMPLES); do \
		"$$made/bin/$$e" run $$e/$$e.toml --out "$$made/$$e" || exit 1; done

# Updates the other modules after a change of go.mod.
tidy:
	@for m in bench bench/interop/browser bench/interop/kubernetes internal/develop internal/tools/kernel/gen internal/develop/release examples; do (cd $$m && $(GO) mod tidy) || exit 1; done

# Kills 200 runs and 100 runs with tables at random moments and resumes them, with 1, 2
# and 8 workers.
test-crash:
	$(GO) test ./cmd/fedsim/command -run '^TestKilled(Runs|Tables)Resume$$' -kills 200 -v -timeout 30m

# Kills, stops and robs workers of plans 200 times, and merges what the others make of it.
test-kills:
	$(GO) test ./cmd/fedsim/command -run '^TestKilledWorkers$$|KilledAtEveryCall|^TestRunsWhoseCallsFail$$' -kills 200 -every-call -v -timeout 30m

# Reads, runs, resumes and draws 10,000 mutated scenarios, 10,000 mutated data files and
# 2,000 mutated run directories.
test-mutants:
	$(GO) test ./cmd/fedsim/command -run '^TestMutant' -mutants 10000 -v -timeout 2h

# Draws scenarios for FOR, and makes each in a dozen ways that must give the same bits, with invariants, and by other
# programs: without FMA and AVX2, in pure Go, for amd64 v3. It goes on where it stopped last (bin/compared/next).
FOR ?= 2m
PROGRAMS ?= purego v3
differences:
	$(GO) build -o bin/compared/fedsim ./cmd/fedsim
	$(if $(filter purego,$(PROGRAMS)),$(GO) build -tags purego -o bin/compared/purego ./cmd/fedsim)
	$(if $(filter v3,$(PROGRAMS)),GOAMD64=v3 $(GO) build -o bin/compared/v3 ./cmd/fedsim)
	@first=$$(cat bin/compared/next 2>/dev/null || echo 1); others='$(PROGRAMS:%=,$(CURDIR)/bin/compared/%)'; \
	$(GO) test -tags invariants ./internal/rooms/verify -run '^TestDifferences$$' -v -timeout 0 -first $$first -for $(FOR) \
		-programs "env GODEBUG=cpu.all=off $(CURDIR)/bin/compared/fedsim$$(echo "$$others" | tr -d ' ')" >bin/compared/log; status=$$?; \
	sed 's/^ *differences_test.go:[0-9]*: //' bin/compared/log; \
	sed -n 's/.*next: -first //p' bin/compared/log >bin/compared/next; exit $$status

# Installs Debian's qemu-user-static if it is missing.
emulators:
	@command -v qemu-s390x-static >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends qemu-user-static; }

# Runs every shipped scenario, shortened, on other platforms: the results must have the
# same bits.
test-platforms: emulators
	$(GO) test ./cmd/fedsim/command -count=1 -run '^TestNoFusedInstructions$$' -fused=arm64,amd64,riscv64,s390x,ppc64le,loong64
	$(GO) test ./cmd/fedsim/command -count=1 -run '^TestPlatforms$$' -platforms=$(PLATFORMS) -v -timeout 45m

# Tests packages for js/wasm under Node, and that the program of the page (cmd/fedsim-web) is small and gives the bits of
# this platform, as a build without the parquet library does. Skipped without Node.
PAGE = quickstart-small,theory,outage,baselines,absent,rush-hour,tiers,wearables
test-page:
	@command -v node >/dev/null || { echo "skipped: no node"; exit 0; }; set -e; \
	export PATH="$$PATH:$$($(GO) env GOROOT)/lib/wasm"; \
	GOOS=js GOARCH=wasm $(GO) test -short -vet=off ./engine ./internal/tools/kernel ./internal/tools/rng ./network ./clients ./plots ./mtl ./config; \
	$(GO) test ./cmd/fedsim/command -count=1 -run '^TestPlatforms$$' -platforms=page,noparquet -platform-scenarios=$(PAGE) -v -timeout 20m

# Compares the results of all shipped scenarios, shortened, with those of an earlier binary:
# make same BASE=PROGRAM [SCENARIOS=quickstart,sigma]. Hashes, tables, JSON, models and figures must
# be equal, bit for bit; new columns may be there.
same:
	@[ -x "$(BASE)" ] || { echo "make same BASE=PROGRAM: PROGRAM must be an earlier binary of fedsim"; exit 2; }
	$(GO) test ./cmd/fedsim/command -count=1 -run '^TestSame$$' -base='$(abspath $(BASE))' -same-scenarios='$(SCENARIOS)' -v -timeout 45m

# Builds and runs fedsim without each room that can be left out. "make test" leaves out two a day.
rooms:
	$(GO) test ./cmd/fedsim/command -count=1 -run '^TestRoomsCanBeLeftOut$$' -rooms

# Runs the benchmarks for benchstat: make bench > new.txt
bench:
	@$(GO) test -run='^$$' -bench='$(BENCH)' -count=$(COUNT) -benchtime=$(BENCHTIME) -benchmem ./...

# Compares fedsim with its peers on the same work, in about two minutes.
bench-peers:
	@bench/install-peers
	@cd bench && $(GO) run .

# Trains on MNIST (FEDSIM_DATA/mnist) with fedsim and with its peers, in about a quarter of an hour
# on two idle cores. ONLY='LeNet-5.*fedsim' has only works and programs that match; QUICK=1 is
# three rounds of each. It installs the peers (install-peers).
bench-training:
	@bench/install-peers training
	@cd bench && $(GO) run . -training -repetitions $(if $(QUICK),1,3) $(if $(QUICK),-quick) $(if $(ONLY),-only '$(ONLY)')

# Checks that the installed peers do the same work.
test-peers:
	cd bench && $(GO) vet ./... && $(GO) tool -modfile=../internal/develop/go.mod staticcheck ./... && $(GO) test -v ./...

# Reads the parquet files of a run with DuckDB, which it installs to
# bench/interop/duckdb. Needs npm.
test-duckdb:
	cd bench/interop/duckdb && npm install --no-save --prefer-offline --ignore-scripts --no-audit --no-fund
	cd bench && $(GO) test -count=1 -v ./interop/duckdb

# Installs Debian's packages of Slurm if they are missing.
SLURM = slurmctld slurmd slurm-client munge
slurm:
	@dpkg -s $(SLURM) >/dev/null 2>&1 || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(SLURM) >/dev/null; }

# Tests plans on Slurm: a controller and two nodes on this machine, from Debian's packages,
# which it installs if they are missing. SLOW=1: with the tests that take minutes.
test-slurm:
	@if [ "$$(id -u)" != 0 ]; then echo "skipped: Slurm on one machine needs root"; exit 0; fi; \
	if ! $(MAKE) --no-print-directory slurm; then echo "skipped: apt-get cannot install $(SLURM)"; exit 0; fi; \
	made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && $(GO) build -o "$$made/fedsim" ./cmd/fedsim && \
		cd bench && $(GO) test -count=1 -timeout $(if $(SLOW),30m,4m) -v ./interop/slurm -fedsim "$$made/fedsim" $(if $(SLOW),-slow)

# Submits plans to the API server and the controllers of Kubernetes, and follows Dockerfile
# without Docker. Builds them from source the first time: about 12 minutes of one core, 4 GB of
# Go's build cache and 1 GB of modules; then three minutes. Needs Linux and root. Installs
# Debian's etcd-server if it is missing.
test-kubernetes:
	@command -v etcd >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends etcd-server; }
	cd bench/interop/kubernetes && $(GO) vet ./... && $(GO) tool -modfile=../../../internal/develop/go.mod staticcheck ./... && \
		CGO_ENABLED=0 $(GO) test -count=1 -timeout 30m -v .

# Submits plans to HyperQueue, which it installs from PyPI to bench/interop/hyperqueue.
test-hyperqueue:
	cd bench/interop/hyperqueue && { [ -x .venv/bin/pip ] || $(PYTHON) -m venv .venv; } && .venv/bin/pip install -q hyperqueue==0.27.0
	cd bench && $(GO) vet ./interop/hyperqueue && $(GO) test -count=1 -timeout 10m -v ./interop/hyperqueue

# Tests the report in Chromium, which it installs if needed. PICTURES: a folder for
# screenshots.
test-browser:
	bench/interop/browser/install
	cd bench/interop/browser && $(GO) vet ./... && $(GO) tool -modfile=../../../internal/develop/go.mod staticcheck ./... && \
		$(GO) test -count=1 -timeout 10m -v . $(if $(PICTURES),-args -pictures $(abspath $(PICTURES)))

# Tests learners in PyTorch and the MNIST example, cut short, with Debian's python3-torch,
# which it installs if it is missing. Debian's Python then runs the tests, in a venv.
test-torch:
	@/usr/bin/python3 -c 'import torch' 2>/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-torch python3-venv libopenblas0; }
	@made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && $(GO) build -o "$$made/fedsim" ./cmd/fedsim && \
		/usr/bin/python3 -m venv --system-site-packages "$$made/venv" && "$$made/venv/bin/pip" install -q 'pytest>=8' 'numpy<2' 'pandas<3' flwr nbclient ipykernel && \
		cd python && FEDSIM_BINARY="$$made/fedsim" "$$made/venv/bin/python" -m pytest -p no:cacheprovider -rs \
		tests/test_torch.py tests/test_learner.py tests/test_docs.py tests/test_examples.py tests/test_notebooks.py

# Tests pyfedsim.flower with four releases of Flower, compares it with Flower's own
# simulation, and runs apps that Flower generates. It installs them to FLOWER once (1.5 GB).
FLOWER = .flower
test-flower:
	@made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && $(GO) build -o "$$made/fedsim" ./cmd/fedsim && \
		cd python && FEDSIM_BINARY="$$made/fedsim" $(PYTHON) tests/flower_releases.py $(FLOWER)

# Measures federations on this machine and compares them with predictions that are calibrated on
# three of them: namespaces with shaped links, training that is paced or has a quota, Flower's own
# processes. Two hours on an idle machine with two cores, as root; it resumes. CUT=1: 15 minutes.
# It installs NumPy and Flower to bench/rig/.venv, and leaves the logs in bench/rig/out.
validate:
	@made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && $(GO) build -o "$$made/fedsim" ./cmd/fedsim && \
		FEDSIM="$$made/fedsim" PYTHON="$(PYTHON)" bench/rig/validate

# Runs each fuzz target for FUZZTIME. The limit on minimization saves most of the time.
fuzz:
	@grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' . | while IFS=: read -r file target; do \
		echo "$$(dirname $$file) $${target#func }"; \
		$(GO) test -run='^$$' -fuzz="^$${target#func }\$$" -fuzztime=$(FUZZTIME) -fuzzminimizetime=100x "$$(dirname $$file)" || exit 1; \
	done

# Updates config/keydocs.txt from the comments of keys, docs/scenarios.md and docs/reference/keys from the schema,
# docs/reference/examples.md from the scenarios, the outputs in docs/tutorial.md and docs/clusters.md from
# their commands, and the AVX2 kernels from their generator.
generate:
	$(GO) test ./config -run TestKeyDocsAreUpToDate -update
	$(GO) test ./experiment/scenario -run TestReferenceIsUpToDate -update
	$(GO) test ./scenarios -run TestExamplesPage -update
	$(GO) test ./cmd/fedsim/command -run 'TestTutorial|TestClustersPage|TestModelsPage|TestCommandsPage|TestThirtyKeysPage' -update-tutorial
	$(GO) generate ./internal/tools/kernel

# Updates the license notices after a change of go.mod.
licenses:
	$(GO) test ./internal/tools/licenses -run TestUpToDate -update

# Builds the wheels of pyfedsim for all platforms, and the sdist, to python/dist.
WHEELS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
wheels:
	rm -rf python/dist
	@made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && export GOFLAGS="$$GOFLAGS -trimpath" && \
		$(PYTHON) -m venv "$$made" && "$$made/bin/pip" install -q build && \
		for p in $(WHEELS); do FEDSIM_GOOS=$${p%/*} FEDSIM_GOARCH=$${p#*/} \
			"$$made/bin/python" -m build --wheel --outdir python/dist python || exit 1; done && \
		"$$made/bin/python" -m build --sdist --outdir python/dist python

# Makes the files of a release in dist/: make release VERSION=1.0.0
release:
	@cd internal/develop/release && GOFLAGS= $(GO) run . $(VERSION)

# Makes two releases and tests that they have the same bytes, that their files can be installed and
# run, that the tutorial can be followed with them, and what is refused. FULL=1: for all platforms and
# Pythons, emulated. Do not change files meanwhile: both releases read them.
test-release:
	cd internal/develop/release && $(GO) vet . && $(GO) test -count=1 -timeout 90m -v . $(if $(FULL),-full)

# Packs a run directory with the source, the modules and a script that make it again, to bin/:
# make capsule RUN=runs/lte-high-var
capsule:
	@internal/develop/capsule "$(RUN)" $(OUT)

# Packs a small run, makes it again from its capsule, and sees that a changed hash is found.
test-capsule:
	@made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && $(GO) run ./cmd/fedsim run quickstart-small --out "$$made/small" --quiet && \
		internal/develop/capsule "$$made/small" "$$made" && tar -C "$$made" -xzf "$$made/small-capsule.tar.gz" && \
		"$$made/small-capsule/reproduce" && sed -i.bak 's/"result_hash": "0/"result_hash": "1/;s/"result_hash": "[^01]/"result_hash": "0/' "$$made/small-capsule/run/manifest.json" && \
		! "$$made/small-capsule/reproduce" && echo "a changed run was found"

# Builds the site of docs/ and of the APIs to bin/site, with the page that runs scenarios in bin/site/run, and
# fails on a page without a place and on
# a dead link. Installs MkDocs from PyPI to ~/.cache/fedsim-site.
SITE = $(HOME)/.cache/fedsim-site
site:
	@[ -x "$(SITE)/bin/pip" ] || $(PYTHON) -m venv "$(SITE)" || exit 1; \
	"$(SITE)/bin/pip" install -q -r internal/develop/site/requirements.txt || { echo "skipped: MkDocs cannot be installed from PyPI"; exit 0; }; \
	$(GO) run ./cmd/fedsim-web bin/run || exit 1; \
	"$(SITE)/bin/mkdocs" build -f internal/develop/site/mkdocs.yml >bin/site.log 2>&1 || { grep -v '^INFO' bin/site.log; exit 1; }; \
	rm -rf bin/site/run && mv bin/run bin/site/run && echo "the site is in bin/site; bin/site/run/fedsim.html runs scenarios from a disk"

# Changes the path of the module everywhere: make rename MODULE=example.org/owner/fedsim
rename:
	@internal/develop/rename "$(MODULE)"

clean:
	rm -rf bin python/build python/dist
