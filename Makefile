# A thin layer over Meson and Ninja, with the usual targets and variables.
#
#   make            build/brace, build/libbrace-agent.so and build/libbrace.so.0
#   make demo       installs what is missing, builds, traces a program of Debian's
#   make check      installs what is missing, builds, runs every test
#   make soak       the long tests of tests/soak; SOAK=SECONDS begins none later
#   make bench      the measurements of docs/performance.md
#   make fuzz       each fuzz target for FUZZ_SECONDS (600)
#   make install    PREFIX (/usr/local), DESTDIR
#   make clean
BUILD ?= build
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
SOAK ?= full
MESON ?= meson
NINJA ?= ninja

all: $(BUILD)/build.ninja
	@$(NINJA) -C $(BUILD) --quiet brace libbrace-agent.so libbrace.so.0.1.0

$(BUILD)/build.ninja:
	@for tool in $(MESON) $(NINJA); do command -v $$tool >/dev/null || \
		{ echo "$$tool is missing: \`tools/deps build\` installs what a build needs" >&2; exit 1; }; done
	@said=$$($(MESON) setup $(BUILD) --prefix=$(abspath $(PREFIX)) --libdir=lib 2>&1) || \
		{ echo "$$said" >&2; exit 1; }

deps-%:
	@tools/deps build $*

demo: deps-demo
	@$(MAKE) --no-print-directory all
	@tools/demo $(BUILD)

check: deps-test
	@tools/check $(BUILD)

soak: deps-soak
	@tools/soak $(SOAK) $(BUILD)

bench: deps-bench
	@$(MAKE) --no-print-directory all
	@bench/run --brace $(BUILD)/brace
	@bench/kernel $(BUILD) || [ $$? = 77 ]

fuzz: deps-test
	@tools/fuzz $(FUZZ_SECONDS)

# Reconfiguring prints a page of what was found: only if it fails is it worth reading.
install: $(BUILD)/build.ninja
	@said=$$($(MESON) setup --reconfigure $(BUILD) --prefix=$(abspath $(PREFIX)) --libdir=lib 2>&1 && \
		$(NINJA) -C $(BUILD) brace libbrace-agent.so libbrace.so.0.1.0 2>&1) || { echo "$$said" >&2; exit 1; }
	@DESTDIR=$(if $(DESTDIR),$(abspath $(DESTDIR))) $(MESON) install -C $(BUILD) --no-rebuild --quiet

clean:
	rm -rf $(BUILD) build-asan build-tsan build-fuzz

.PHONY: all demo check soak bench fuzz install clean
