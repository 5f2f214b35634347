# make run      the server on the bundled model      MODEL=path.gguf PORT=8080 HOST=127.0.0.1 ARGS='--more options'
#               MODEL=smollm2: on a real one, SmolLM2 135M Instruct, which it fetches (93 MB, Apache 2.0)
# make chat     a conversation in the terminal       MODEL=path.gguf ARGS='--system "Be brief."'
# make bench    tokens per second                    MODEL=path.gguf ARGS='-p 512 -n 128'
# make deb      a Debian package: the programs with Swift's runtime, a systemd unit, man pages, completions
# make dist     an archive of the programs with all libraries, for other distributions, and its checksum
# make test     lint, build with warnings as errors, tests; those of the page and of the ARM kernels where their tools are
# make speed-report  after the tests: the bundled model's speed beside the last that was kept
# make clients  drive the server with real clients    fetches them from PyPI into .build/clients
# make agents   drive coding agents against the server  fetches them from PyPI into .build/agents  PYTHON=python3.12
# make fuzz     parsers of untrusted bytes in libFuzzer  FUZZERS='RequestParser GGUF' RUNS=10000000 FUZZED_WITH=fuzzer
# make arm      the programs for arm64, on Debian 13 for x86-64, tried in QEMU
# make house    count what the code consists of      lines, types, public names; files that know of one sampler, format, option
# make format   format the sources
#
# Each first installs the Debian packages that are missing.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run chat bench deb dist test speed-report keep-speed clients agents fuzz arm house lint format packages model

PACKAGES := libopenblas-dev libssl-dev libsqlite3-dev libedit-dev libpng-dev libturbojpeg0-dev libwebp-dev
MODEL ?= $(wildcard models/*.gguf)
# A small real model, where `shim pull` would put it.
SMOLLM2 := $(if $(filter /%,$(XDG_DATA_HOME)),$(XDG_DATA_HOME),$(HOME)/.local/share)/localllm/models/SmolLM2-135M-Instruct.Q4_1.gguf
ifeq ($(MODEL),smollm2)
    override MODEL := $(SMOLLM2)
endif
HOST ?= 127.0.0.1
PORT ?= 8080
ARGS ?=

# Without debug information the compiler needs a sixth less time. `swift build` alone adds it.
BUILD := swift build -c release -Xswiftc -gnone
# Tests see internals, which costs the programs speed: they are built apart, so that neither build undoes the other.
TEST_FLAGS = -c release --scratch-path .build/tests -Xswiftc -enable-testing -Xswiftc -gnone $(STRICT)
# Swift that is older than the tests, as Debian 13's is, builds a translation of them. Asked when a recipe runs, which may be
# after Swift was installed.
OLDER = $(shell swift --version 2>/dev/null | grep -o 'Swift version 6\.[01]')
SWIFT_FOR_TESTS = $(if $(OLDER),Tests/Older/swift.sh,swift)
# Tests that wait for a server, for a program that waits for one, or for a session's answer.
WAITING := ^(Chat|Client|FoundationModels|HTTP|Shim)Tests[.]
# The modules that depend on all tiers of this kind of processor.
TIERS := $(if $(filter x86_64,$(shell uname -m)),KernelsAVXVNNI KernelsAVX512,KernelsNEONMatrix)
STRICT = $(if $(OLDER),,-Xswiftc -warnings-as-errors)

help:
	@sed -n '/^# make/s/^# //p' Makefile

# What the chat page renders formulas, code and PDF files with.
run test: PACKAGES += libjs-katex libjs-highlight.js libjs-pdf
run: packages model
	$(BUILD) --product shim
	@if [[ "$(MODEL)" == models/* ]]; then \
	    echo "This model is a demonstration. A small real one (93 MB, Apache 2.0): make run MODEL=smollm2"; \
	fi
	exec .build/release/shim --model "$(MODEL)" --host "$(HOST)" --port "$(PORT)" $(ARGS)

chat: packages model
	$(BUILD) --product chat
	exec .build/release/chat --model "$(MODEL)" $(ARGS)

bench: packages model
	$(BUILD) --product bench
	exec .build/release/bench speed --model "$(MODEL)" $(ARGS)

# Into .build/packages.
deb dist: PACKAGES += patchelf python3 xz-utils
deb dist: packages
	for product in shim chat bench; do $(BUILD) --product $$product; done
	@deploy/package/build.sh $@

test: packages lint
	$(SWIFT_FOR_TESTS) build $(TEST_FLAGS) --build-tests
	# Few at once, and tests that wait in a process of their own: a test that computes holds a thread that they need
	# while their time limits run. Swift 6.0 knows no number for that.
	{ for part in "--skip $(WAITING)" "--filter $(WAITING)"; do \
	    SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4 \
	        $(SWIFT_FOR_TESTS) test $(TEST_FLAGS) --skip-build $(if $(OLDER),--no-parallel) $$part || failed=yes; \
	done; [[ -z $${failed-} ]]; } 2>&1 | tee .build/tests/log \
	    || { grep '✘' .build/tests/log >&2; exit 1; }  # again, where a reader of the end sees them
	@skipped=$$(grep -c 'skipped: "needs ../shared/fixtures' .build/tests/log || true); \
	if [[ $$skipped != 0 ]]; then \
	    echo "skipped: $$skipped suites and tests need the reference data in ../shared/fixtures" >&2; \
	fi
	# The kernels for AVX-512 on any processor with AVX2, which stands in for the instructions.
	LOCALLLM_EMULATE_AVX512=1 $(SWIFT_FOR_TESTS) test -c release --scratch-path .build/emulated -Xswiftc -gnone $(STRICT)
	# The tiers' modules as programs have them: builds for tests emit more.
	for tier in $(TIERS); do $(BUILD) --target $$tier || exit 1; done
	@Tests/House/tiers.sh .build/release
	@Tests/ARM/run.sh
	@chromium=$$(command -v chromium || true); \
	if [[ -z $$chromium ]] || ! command -v node >/dev/null; then \
	    echo "skipped: the tests of the page need the packages chromium and nodejs" >&2; \
	else \
	    SHIM=.build/tests/release/shim MODEL=models/hearth-4m.gguf CHROMIUM=$$chromium timeout 10m node --test Tests/Page/*.test.mjs; \
	fi

# Compares the tests' build, so that nothing is built for it. `make keep-speed` replaces what it compares with.
SPEED := .build/tests/release/bench speed --model models/hearth-4m.gguf -p 256 -n 64 -t 2 -r 5 -o json
speed-report:
	@$(SPEED) > .build/tests/speed.json
	@.build/tests/release/bench compare docs/speed.json .build/tests/speed.json

keep-speed:
	$(SPEED) > docs/speed.json

clients: packages model
	$(BUILD) --product shim
	python3 -m venv .build/clients
	.build/clients/bin/pip install --quiet --disable-pip-version-check --requirement Tests/Clients/requirements.txt
	SHIM=.build/release/shim MODEL="$(MODEL)" .build/clients/bin/python -m pytest -q -p no:cacheprovider Tests/Clients

PYTHON ?= python3
# The programs run in a network namespace that has only a loopback device, so they cannot reach other hosts.
agents: packages
	$(BUILD) --product shim
	@for list in Tests/Agents/requirements/*.txt; do \
	    place=.build/agents/$$(basename "$$list" .txt); \
	    cmp -s "$$list" "$$place/installed" || { \
	        $(PYTHON) -m venv --clear "$$place"; \
	        "$$place/bin/pip" install --quiet --disable-pip-version-check --requirement "$$list"; \
	        cp "$$list" "$$place/installed"; \
	    }; \
	done
	SHIM=.build/release/shim unshare --map-root-user --net .build/agents/pytest/bin/python -m pytest -q -p no:cacheprovider Tests/Agents

# What it finds new stays in .build/corpus for the next run; a crash leaves its input in the folder and fails.
RUNS ?= 10000000
FUZZERS ?= RequestParser ResponseParser Events JSON Template GGUF Image Constraint Config SlotFile PrefixDisk Generation WholePath
# Without the checks of AddressSanitizer, `fuzzer`, it is several times as fast.
FUZZED_WITH ?= fuzzer,address
comma := ,
FUZZ_BUILD := .build/$(subst $(comma),-,$(FUZZED_WITH))
# Stripping would take the coverage counters away. Given twice, `--sanitize` drops one of the two. The macros are a
# program, which does not link with libFuzzer's `main`.
FUZZ := LOCALLLM_FUZZ=1 LOCALLLM_WITHOUT_MACROS=1 swift build -c release --scratch-path $(FUZZ_BUILD) --sanitize fuzzer \
	-Xswiftc -sanitize=$(FUZZED_WITH) --disable-dead-strip -Xswiftc -enable-testing
FUZZ_RequestParser := requests -max_len=512 -dict=http.dict
FUZZ_ResponseParser := responses -max_len=512 -dict=http.dict
FUZZ_Events := events -max_len=256 -dict=events.dict
FUZZ_JSON := json -max_len=256 -dict=json.dict
FUZZ_Template := templates -max_len=512 -dict=template.dict
FUZZ_GGUF := gguf -max_len=1024
FUZZ_Image := images -max_len=2048
FUZZ_Constraint := constraints -max_len=512 -dict=constraint.dict -timeout=20 -rss_limit_mb=1500
FUZZ_Config := config -max_len=1024 -dict=json.dict
FUZZ_SlotFile := slots -max_len=4096
FUZZ_PrefixDisk := prefixes -max_len=256
FUZZ_Generation := generation -max_len=25 -timeout=120 -rss_limit_mb=1500
FUZZ_WholePath := whole -max_len=4096 -timeout=120 -rss_limit_mb=1500
fuzz: packages $(FUZZERS:%=fuzz-%)
fuzz-%:
	$(FUZZ) --product Fuzz$*
	set -- $(FUZZ_$*); \
	mkdir -p .build/corpus/$$1; \
	cd Tests/Fuzz; \
	SWIFT_BACKTRACE=enable=no ASAN_OPTIONS=detect_leaks=0 ../../$(FUZZ_BUILD)/release/Fuzz$* -runs=$(RUNS) -detect_leaks=0 "$${@:2}" ../../.build/corpus/$$1 \
	    $$(ls -d Seeds/$$1 2>/dev/null)

arm: PACKAGES += swiftlang-dev qemu-user curl python3
arm: packages
	@Tests/ARM/engine.sh

house:
	@Tests/House/measure.sh

# Swift before 6.2 refuses the manifest for the version in its first line, and reads a copy.
MANIFEST_COPY := Package@swift-6.0.swift
lint: swift
	@sed '1s/6\.2/6.0/' Package.swift | cmp -s - $(MANIFEST_COPY) || { echo "error: $(MANIFEST_COPY) is old: make manifest" >&2; exit 1; }
	swift format lint --strict --recursive Sources $(if $(OLDER),,Tests) Package.swift
	Tests/House/layout.sh
	Tests/House/pointers.sh
	Tests/House/comments.sh

format: swift
	# Links among the fuzz harnesses would become copies.
	find Sources Tests Package.swift -name '*.swift' -type f -exec swift format --in-place {} +

.PHONY: swift manifest
manifest:
	sed '1s/6\.2/6.0/' Package.swift > $(MANIFEST_COPY)

swift:
	@command -v swift >/dev/null || { echo "error: no 'swift' on the PATH; install Swift 6.2 or later, see swift.org/install" >&2; exit 1; }

# apt-get runs only if something is missing. Debian has Swift itself from version 13 on.
packages:
	@command -v dpkg-query >/dev/null || { echo "not Debian: this needs $(PACKAGES), under whatever names" >&2; exit 0; }; \
	missing=(); \
	if ! command -v swift >/dev/null; then \
	    . /etc/os-release; \
	    if [[ $$ID == debian ]] && (( $${VERSION_ID:-13} < 13 )); then \
	        echo "error: no 'swift' on the PATH, and Debian $$VERSION_ID has no package of it:" \
	            "install Swift 6.2 or later from swift.org/install, or use Debian 13" >&2; \
	        exit 1; \
	    fi; \
	    missing+=(swiftlang); \
	fi; \
	if [[ "$(MODEL)" == "$(SMOLLM2)" && ! -e "$(SMOLLM2)" ]] && ! python3 -m pip --version >/dev/null 2>&1; then \
	    missing+=(python3-pip); \
	fi; \
	for package in $(PACKAGES); do \
	    [[ $$(dpkg-query -W -f='$${db:Status-Status}' "$$package" 2>/dev/null || true) == installed ]] || missing+=("$$package"); \
	done; \
	if (( $${#missing[@]} )); then \
	    sudo=(); (( $$(id -u) == 0 )) || sudo=(sudo); \
	    "$${sudo[@]}" apt-get update; \
	    "$${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$${missing[@]}"; \
	fi

model: packages
	@if [[ "$(MODEL)" == "$(SMOLLM2)" ]]; then models/smollm2.sh "$(SMOLLM2)"; fi
	@if (( $(words $(MODEL)) == 0 )); then echo "error: no model in models/; set MODEL=path.gguf" >&2; exit 1; fi; \
	if (( $(words $(MODEL)) > 1 )) && [[ ! -e "$(MODEL)" ]]; then \
	    echo "error: models/ has several models: choose one with MODEL=path.gguf" >&2; exit 1; \
	fi; \
	[[ -r "$(MODEL)" ]] || { echo "error: cannot read the model '$(MODEL)'" >&2; exit 1; }
