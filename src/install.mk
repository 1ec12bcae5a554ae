# install.mk - make install, uninstall and dist. Part of the Makefile.
#
# PREFIX of /usr or /usr/local: configuration, data and units stand where the system has them (/etc, /var, systemd's folder);
# any other: below it. DESTDIR in front of all is for packages.
STANDARD := $(filter /usr /usr/local,$(PREFIX))
SYSCONFDIR ?= $(if $(STANDARD),/etc,$(PREFIX)/etc)
LOCALSTATEDIR ?= $(if $(STANDARD),/var,$(PREFIX)/var)
UNITDIR ?= $(if $(filter /usr/local,$(PREFIX)),/etc/systemd/system,$(PREFIX)/lib/systemd/system)
MANDIR ?= $(PREFIX)/share/man
PACKAGING := $(TOP)/packaging
UNITS := valkey-server.service valkey-server@.service valkey-sentinel.service
GENERATED := $(BUILD)/package
FOLDERS := bindir=$(PREFIX)/bin sysconfdir=$(SYSCONFDIR) localstatedir=$(LOCALSTATEDIR)

# Manual pages and completions say what the programs say.
$(GENERATED)/done: $(PROGRAMS) $(FACES) $(wildcard $(PACKAGING)/*/* $(PACKAGING)/*) $(TOP)/valkey.conf $(TOP)/sentinel.conf
	@rm -rf $(@D)
	@$(PACKAGING)/generate . $(@D) && touch $@

BIN := $(DESTDIR)$(PREFIX)/bin
INSTALL_FILE = install -D -m 644
# What is there already is the operator's.
install_conf = $(PACKAGING)/fill $(TOP)/$(1) dir=$(LOCALSTATEDIR)/lib/valkey logfile=$(LOCALSTATEDIR)/log/valkey/$(2).log \
    >$(GENERATED)/$(1) && { [ -e $(DESTDIR)$(SYSCONFDIR)/valkey/$(1) ] || \
    install -D -m 640 $(GENERATED)/$(1) $(DESTDIR)$(SYSCONFDIR)/valkey/$(1) && echo "  INSTALL $(DESTDIR)$(SYSCONFDIR)/valkey/$(1)"; }

install: all $(GENERATED)/done
	@mkdir -p $(BIN)
	@for p in $(PROGRAMS); do \
	    install -m 755 $(BUILD)/$$p $(BIN)/$$p && echo "  INSTALL $(BIN)/$$p"; \
	    [ '$(USE_REDIS_SYMLINKS)' != yes ] || ln -sf $$p $(BIN)/$${p/valkey/redis}; \
	done
	@for p in $(FACES); do \
	    ln -sf valkey-server $(BIN)/$$p && echo "  INSTALL $(BIN)/$$p"; \
	    [ '$(USE_REDIS_SYMLINKS)' != yes ] || ln -sf $$p $(BIN)/$${p/valkey/redis}; \
	done
	@set -e; for page in $(GENERATED)/man1/* $(GENERATED)/man5/*; do \
	    $(INSTALL_FILE) $$page $(DESTDIR)$(MANDIR)/$${page#$(GENERATED)/}; done; \
	[ '$(USE_REDIS_SYMLINKS)' != yes ] || for p in $(PROGRAMS) $(FACES); do \
	    ln -sf $$p.1 $(DESTDIR)$(MANDIR)/man1/$${p/valkey/redis}.1; done; \
	echo "  INSTALL $(DESTDIR)$(MANDIR)"
	@$(INSTALL_FILE) valkeymodule.h $(DESTDIR)$(PREFIX)/include/valkeymodule.h
	@$(INSTALL_FILE) $(GENERATED)/valkey.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/valkey-cli
	@for p in $(filter-out valkey-cli,$(PROGRAMS)) $(FACES); do \
	    ln -sf valkey-cli $(DESTDIR)$(PREFIX)/share/bash-completion/completions/$$p; done
	@[ '$(USE_REDIS_SYMLINKS)' != yes ] || for p in $(PROGRAMS) $(FACES); do \
	    ln -sf valkey-cli $(DESTDIR)$(PREFIX)/share/bash-completion/completions/$${p/valkey/redis}; done
	@$(INSTALL_FILE) $(GENERATED)/_valkey $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_valkey
	@[ '$(USE_REDIS_SYMLINKS)' != yes ] || \
	    $(INSTALL_FILE) $(PACKAGING)/completion/_valkey_redis $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_valkey_redis
	@$(call install_conf,valkey.conf,valkey-server)
	@$(call install_conf,sentinel.conf,valkey-sentinel)
	@set -e; mkdir -p $(DESTDIR)$(UNITDIR); for unit in $(UNITS); do \
	    $(PACKAGING)/fill $(PACKAGING)/systemd/$$unit.in $(FOLDERS) >$(DESTDIR)$(UNITDIR)/$$unit; \
	    chmod 644 $(DESTDIR)$(UNITDIR)/$$unit; echo "  INSTALL $(DESTDIR)$(UNITDIR)/$$unit"; done
	@set -e; for kind in sysusers tmpfiles; do \
	    $(PACKAGING)/fill $(PACKAGING)/systemd/$$kind.in $(FOLDERS) >$(GENERATED)/$$kind; \
	    $(INSTALL_FILE) $(GENERATED)/$$kind $(DESTDIR)$(PREFIX)/lib/$$kind.d/valkey.conf; done
	@[ -n "$(DESTDIR)" ] || echo "  As a service: systemd-sysusers; systemd-tmpfiles --create; systemctl enable --now valkey-server"

# Only links that lead to us are removed: a real Redis beside us stays. So do configuration and data.
uninstall:
	@for p in $(FACES) $(PROGRAMS); do \
	    link=$(BIN)/$${p/valkey/redis}; \
	    [ "$$(readlink $$link)" != $$p ] || rm -f $$link; \
	    page=$(DESTDIR)$(MANDIR)/man1/$${p/valkey/redis}.1; \
	    [ "$$(readlink $$page)" != $$p.1 ] || rm -f $$page; \
	    completion=$(DESTDIR)$(PREFIX)/share/bash-completion/completions/$${p/valkey/redis}; \
	    [ "$$(readlink $$completion)" != valkey-cli ] || rm -f $$completion; \
	    rm -f $(BIN)/$$p $(DESTDIR)$(MANDIR)/man1/$$p.1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions/$$p; \
	    echo "  REMOVE $(BIN)/$$p"; \
	done
	@rm -f $(DESTDIR)$(MANDIR)/man5/valkey.conf.5 $(DESTDIR)$(MANDIR)/man5/sentinel.conf.5 $(DESTDIR)$(PREFIX)/include/valkeymodule.h \
	    $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_valkey $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_valkey_redis $(patsubst %,$(DESTDIR)$(UNITDIR)/%,$(UNITS)) \
	    $(patsubst %,$(DESTDIR)$(PREFIX)/lib/%.d/valkey.conf,sysusers tmpfiles)

# The sources of the last commit, which say which one that is: build_commit in .commit serves where there is no git.
DIST := skipstone-$(shell sed -n 's/^.define PRODUCT_VERSION  *"\(.*\)"/\1/p' base/version.h)
dist:
	@cd $(TOP) && mkdir -p build && git rev-parse --short=8 HEAD >build/.commit && \
	git archive --format=tar.gz --prefix=$(DIST)/ --add-file=build/.commit -o build/$(DIST).tar.gz HEAD && \
	echo "  DIST  build/$(DIST).tar.gz"

# What is published for the version whose tag is checked out.
release:
	@env -u MAKEFLAGS -u MAKELEVEL $(TOP)/utils/release $(ARGS)
