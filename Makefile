# Everything is built by src/Makefile; this one only lets you type `make` at the top of the tree.
# `make help` lists the targets and the settings.
.DEFAULT_GOAL := all
TARGETS := all debug compile_commands run check test test-all test-mutants test-docs valgrind valgrind-containers bench-zrange bench-zset-load bench-zset-counts bench-lists bench-memory bench-persist bench-around bench-defrag bench-order bench-repl bench-suite bench-wide bench-compression bench-cluster lint format site install uninstall dist release clean distclean unit help

# All cores, unless -j says otherwise (which MAKEFLAGS shows only once recipes run).
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
BUILD_SRC = +@$(MAKE) $(if $(filter -j%,$(MAKEFLAGS)),,-j$(CORES)) --no-print-directory -C src $@

.PHONY: $(TARGETS)
$(TARGETS):
	$(BUILD_SRC)

unit-% fuzz-%:
	$(BUILD_SRC)
