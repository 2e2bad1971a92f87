# SPDX-License-Identifier: MIT
#
# Front door of npumem.  `make help` tells what there is.

PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= $(or $(NPUMEM_BUILD),build)
USER_BUILD := $(BUILD)/userspace
MESON_FLAGS ?=

export NPUMEM_BUILD := $(abspath $(BUILD))

.PHONY: all check demo inference attack soak bench install module module-all guest format \
	clean help deps packages boot-trial
.DEFAULT_GOAL := all

# Userspace: needs no kernel, no QEMU, no cross compiler, and builds no test.
all: $(USER_BUILD)/build.ninja
	@ninja -C $(USER_BUILD)
	@mkdir -p $(BUILD)/bin
	@for p in userspace/npumemctl/npumemctl userspace/npumem-engine/npumem-engine \
		userspace/npumem-tflite/npumem-tflite daemon/npumemd; do \
		[ ! -x $(USER_BUILD)/$$p ] || ln -sfn ../userspace/$$p $(BUILD)/bin/; \
	done

$(USER_BUILD)/build.ninja:
	@scripts/deps build
	@for p in cc pkg-config meson ninja; do command -v $$p >/dev/null || \
		{ echo "make: no $$p here; building needs: $$(scripts/deps --list | xargs)"; exit 1; }; done
	@meson setup --prefix $(PREFIX) -Dtests=disabled $(MESON_FLAGS) $(USER_BUILD) .

# One lane: make check LANES=unit
check:
	@scripts/deps check
	@scripts/check $(LANES)

demo:
	@scripts/deps demo
	@scripts/demo

# All models of a folder, in the guest: make inference MODELS=DIR; SEEDS=N: as many inputs of each
inference:
	@scripts/deps demo
	@scripts/inference $(if $(SEEDS),--seeds "$(SEEDS)") $(if $(MODELS),"$(MODELS)")

# Some minutes of hostile and careless use of TensorFlow Lite's delegate; SEED=N: other seeds
attack:
	@scripts/deps check
	@scripts/attack $(if $(SEED),"$(SEED)")

# An hour with twenty clients in the guest, while all else is disturbed; SECONDS=N, SEED=N
soak:
	@scripts/deps demo
	@scripts/soak --count "$(or $(SECONDS),3600)" "$(or $(SEED),1)"

bench: all
	@scripts/deps check
	@scripts/bench

# PREFIX may be another one than when the build directory was set up.
install: all
	@meson configure $(USER_BUILD) -Dprefix=$(PREFIX)
	@# Meson keeps what its scripts say to itself.
	@DESTDIR=$(abspath $(DESTDIR)) NPUMEM_SAY=3 meson install -C $(USER_BUILD) 3>&1

module:
	@scripts/deps demo
	@scripts/module-build stock-arm64

module-all:
	@scripts/deps check
	@scripts/module-build all

# Debian packages, built in clean roots and tried in bare ones.
packages:
	@scripts/deps check
	@scripts/packages

# The packages in a machine that boots Debian with systemd.
boot-trial:
	@scripts/deps check trial
	@scripts/boot-trial

# A shell in the guest, with the driver loaded and everything installed.
guest:
	@scripts/deps demo
	@scripts/qemu-run --shell

format:
	@scripts/deps check
	@scripts/format

deps:
	@scripts/deps all

clean:
	rm -rf $(BUILD)

help:
	@echo 'make               userspace: build/bin/npumemctl, npumemd, npumem-engine, npumem-tflite'
	@echo 'make check         all tests; LANES="unit e2e" for some (scripts/check --list)'
	@echo 'make demo          plan, verify and run a model in the guest'
	@echo 'make inference     run models in TensorFlow Lite with planned memory; MODELS=DIR'
	@echo 'make attack        try for some minutes to make its delegate fail; SEED=N'
	@echo 'make soak          an hour of clients and disturbances in the guest; SECONDS=N SEED=N'
	@echo 'make bench         measure planners and driver'
	@echo 'make install       PREFIX=/usr/local DESTDIR='
	@echo 'make packages      Debian packages in build/packages, built clean and tried'
	@echo 'make boot-trial    install, use, upgrade and purge them in a machine that boots Debian 13'
	@echo 'make module        npumem.ko for Debian 6.12 arm64; module-all: all kernels'
	@echo 'make guest         a shell in the QEMU guest'
	@echo 'make format        put C files into style'
	@echo 'make deps          install what all this needs (Debian 12, 13)'
	@echo 'NPUMEM_DEPS=no     in front of any of them: install no package'
	@echo 'make clean         delete build/; downloads and kernels stay in the cache'
	@echo 'Logs of tests are in build/logs/.  See docs/building.md.'
