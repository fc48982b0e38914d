# Shortcuts for common tasks. CMake does the work: see CMakePresets.json for the builds, CONTRIBUTING.md for the rest.

# Installs missing packages. `make DEPS=: test` skips this.
DEPS ?= scripts/install-deps
RELEASE := build/release
KYMO := $(RELEASE)/bin/kymo
FUZZ_SECONDS ?= 60
SHELL := bash
.SHELLFLAGS := -eo pipefail -c

.PHONY: build demo package release release-check wheel test test-load ui docs bench fuzz format lint clean help

build:  ## builds the library and the command: build/release/lib, build/release/bin (the default)
	@$(DEPS) build
	@cmake --preset release
	@cmake --build --preset release --target products

demo:  ## records a program that uses an accelerator, shows where the time went, and exports the trace
	@$(DEPS) build device
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target kymo_command kymo-devices kymo_denoise
	@mkdir -p build/demo
	@rm -f build/demo/demo.*
	$(KYMO) devices
	KYMO_PROFILE_LOG=statistics $(KYMO) record -o build/demo/demo.kymo -- $(RELEASE)/bin/kymo_denoise
	$(KYMO) stats build/demo/demo.kymo
	$(KYMO) export build/demo/demo.kymo -o build/demo/demo.json
	$(KYMO) export build/demo/demo.kymo -o build/demo/demo.pftrace
	@echo "To view the trace: $(KYMO) view build/demo/demo.kymo. Or drop build/demo/demo.pftrace on https://ui.perfetto.dev."

# Two builds of a commit give the same bytes: files have the time of the commit.
package: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
package:  ## makes build/kymo_VERSION_ARCHITECTURE.deb, a tarball for any Linux with a recent C library, and a wheel
	@$(DEPS) build package query
	@cmake --preset package >/dev/null
	@cmake --build --preset package
	@cd build/package && cpack
	@packaging/portable/tarball.py build/package
	@packaging/portable/wheel.py build/package
	@echo "To install it: apt install ./build/kymo_*.deb, tar -xzf build/kymo-*.tar.gz, or pip install build/kymo-*.whl"

release: package  ## makes the packages and build/notes.md: what CHANGELOG.md says of this version, the text of its tag
	@version=$$(sed -n 's/^project(kymo VERSION \([^ ]*\).*/\1/p' CMakeLists.txt); \
	awk -v version=$$version '/^## /{found = $$2 ~ "^" version ",?$$"} found' CHANGELOG.md > build/notes.md; \
	test -s build/notes.md || { echo "make release: CHANGELOG.md has no \"## $$version\"" >&2; exit 1; }

release-check:  ## tries the packages in fresh root file systems; needs root and debootstrap
	@scripts/release-check

wheel:  ## makes the wheel alone
	@$(DEPS) build package query
	@packaging/portable/wheel.py

test:  ## runs every test: format, layers, release, sanitizers, fuzzers
	@$(DEPS) build device query test lint
	@scripts/test

test-load:  ## runs the release tests under CPU load, with more and larger inputs
	@$(DEPS) build device query test
	@scripts/test load

ui:  ## rebuilds the page of kymo view, ui/dist, after a change in ui/src
	@$(DEPS) ui
	@scripts/build-ui

docs:  ## makes a site of docs/ with search: build/docs/index.html
	@$(DEPS) docs
	@mkdocs build --strict --quiet
	@echo "The site: build/docs/index.html"

bench:  ## builds and runs the benchmarks, and compares with other installed tools
	@$(DEPS) build device query bench
	@cmake --preset release -DKYMO_BENCH=ON
	@cmake --build --preset release --target benches
	@scripts/bench

fuzz:  ## runs each fuzzer for FUZZ_SECONDS (default: 60)
	@$(DEPS) build device query test
	@scripts/fuzz $(FUZZ_SECONDS)

format:  ## formats the code
	@$(DEPS) lint
	@scripts/format

lint:  ## runs clang-tidy on everything except tests; SINCE=COMMIT: only on what has changed since then
	@$(DEPS) build lint
	@scripts/lint $(SINCE)

clean:  ## removes build/
	@rm -rf build

help:  ## lists these commands
	@sed -n 's/^\([a-z-]*\):.*##  */\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-13s %s\n", $$1, $$2}'
