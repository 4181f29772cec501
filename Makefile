# kbench: `make run` compares the two controllers, `make test` checks them.
# `make help` lists the rest.

GO      ?= go
SEEDS   ?= 2000
FUZZTIME ?= 60s
# Those that targets kafka-zk and kafka-kraft run where they name none.
KAFKA_VERSIONS ?= 3.9.2 4.4.0
RUNFLAGS ?=
DUELFLAGS ?=
# What each duel is about: its verdict is faster only where all of it is.
DUEL_ZK_METRICS = controlled-shutdown.moved,creation.rate,recovery.controller.rest,recovery.broker.rest
DUEL_KRAFT_METRICS = controlled-shutdown.moved,creation.rate,propagation.last.p99,recovery.controller.rest,recovery.broker.rest
STATICCHECK = $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOTESTSUM   = $(GO) run gotest.tools/gotestsum@v1.13.0
GOFUMPT     = $(GO) run mvdan.cc/gofumpt@v0.12.0
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.PHONY: help build run test race lint fuzz sim teeth handlers images kafka interop-zk interop-kraft duel-zk duel-kraft bench release clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## make bin/kbench, a static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/kbench ./cmd/kbench

run: build ## run the built-in comparison, zk against kraft; RUNFLAGS adds flags
	bin/kbench run $(RUNFLAGS)

test: ## run every test; what needs Docker, Java or ZooKeeper says what it skipped
	$(GOTESTSUM) --format pkgname -- -timeout 30m ./...

race: ## run every test under the race detector
	$(GO) test -race -short -timeout 30m ./...

lint: ## vet, staticcheck, gofumpt
	$(GO) vet ./...
	$(STATICCHECK) ./...
	@out="$$($(GOFUMPT) -l .)"; if [ -n "$$out" ]; then echo "not gofumpt'ed:"; echo "$$out"; exit 1; fi

# A target that fails runs again: on a busy machine go test may fail with no more
# than "context deadline exceeded" when its time is up (golang.org/issue/75804).
# An input that failed was kept, and fails at once.
fuzz: ## run each fuzz target for FUZZTIME
	@set -e; for f in $$(grep -rl --include='*_test.go' '^func Fuzz' . ); do \
	  for t in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' $$f); do \
	    echo "== $$(dirname $$f) $$t"; \
	    try() { $(GO) test $$(dirname $$f) -run '^$$' -fuzz "^$$t\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x; }; \
	    try || try; \
	  done; done

sim: ## simulate the machines of both controllers under faults, SEEDS seeds
	SEEDS=$(SEEDS) $(GO) test ./internal/sim/... -run 'Seeds' -count=1 -v -timeout 60m

teeth: ## plant bugs one at a time; each must be found by a named invariant
	$(GO) test -tags teeth ./internal/sim/... -run 'TestTeeth' -count=1 -v -timeout 60m

handlers: ## take out one handler at a time; the tests that the READMEs name for it must fail
	$(GO) test -tags handlers ./internal/unplug -run TestHandlers -count=1 -parallel 4 -timeout 30m

images: build ## build the images of the docker provider and print their names
	$(GO) run ./docker/build -node bin/kbench

kafka: ## fetch Apache Kafka's jars with Maven for the kafka-* targets; KAFKA_VERSIONS names which
	@for v in $(KAFKA_VERSIONS); do harness/kafka/maven/fetch.sh "$$v" bin/kafka || exit 1; done

duel-zk: build kafka ## pit our ZooKeeper-style controller against Kafka's, in pairs; DUELFLAGS adds flags
	bin/kbench ab docs/specs/duel-zk.yaml --provider process --pairs 6 --warmup-pairs 0 --metric $(DUEL_ZK_METRICS) $(DUELFLAGS)

# Exit code 3 is no verdict, which does not keep 300k from being measured; three
# pairs bound no interval and always end with it. Sizes of DUELFLAGS are all.
duel-kraft: build kafka ## pit our KRaft quorum against Kafka's, in pairs; DUELFLAGS adds flags
	@run() { echo "$$*"; "$$@"; }; \
	duel() { run bin/kbench ab docs/specs/duel-kraft.yaml --provider process --metric $(DUEL_KRAFT_METRICS) "$$@" $(DUELFLAGS); }; \
	code=0; duel --pairs 6 || code=$$?; \
	[ $$code -eq 0 ] || [ $$code -eq 3 ] || exit $$code; \
	$(if $(findstring --partitions,$(DUELFLAGS)),exit $$code;) \
	duel --pairs 3 --warmup-pairs 0 --partitions 300k --trials 1 || { late=$$?; [ $$late -eq 3 ] || code=$$late; }; \
	exit $$code

interop-zk: ## run Kafka 3.9's own brokers and tools under our ZooKeeper-mode controller
	@[ -n "$$KBENCH_KAFKA$$KAFKA_HOME" ] || harness/kafka/maven/fetch.sh 3.9.2 bin/kafka
	KBENCH_INTEROP=1 KBENCH_REQUIRE_KAFKA=1 $(GO) test ./internal/interop -skip '^TestKRaft' -count=1 -v -timeout 15m

interop-kraft: ## run Kafka 4.4's own brokers, controllers and tools with our KRaft quorum
	@[ -n "$$KBENCH_KAFKA$$KAFKA_HOME" ] || { harness/kafka/maven/fetch.sh 4.4.0 bin/kafka && harness/kafka/maven/fetch.sh shell bin/kafka; }
	KBENCH_INTEROP=1 KBENCH_REQUIRE_KAFKA=1 $(GO) test ./internal/interop -run '^TestKRaft' -count=1 -v -timeout 15m

bench: ## measure the hot paths, with their limits beside them
	$(GO) test -run '^$$' -bench . -benchmem ./results ./results/history ./workloads ./kafka/... ./kraftcontroller/... ./internal/zkserver/... ./internal/zkwrites

release: ## make static binaries of this version, archives and checksums in dist
	@rm -rf dist && mkdir dist
	@set -eu; \
	for arch in amd64 arm64; do \
	  name=kbench-$(subst /,-,$(VERSION))-linux-$$arch; \
	  echo "dist/$$name.tar.gz"; \
	  CGO_ENABLED=0 GOOS=linux GOARCH=$$arch $(GO) build -trimpath -buildvcs=auto -ldflags '-s -w -buildid= -X main.version=$(VERSION)' -o dist/$$name ./cmd/kbench; \
	  mkdir -p dist/.tree/$$name; \
	  cp dist/$$name dist/.tree/$$name/kbench; \
	  cp -R LICENSE README.md docs dist/.tree/$$name/; \
	  tar --sort=name --format=gnu --mtime=@$$(git log -1 --format=%ct) --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
	    -C dist/.tree -cf - $$name | gzip -n -9 >dist/$$name.tar.gz; \
	  rm -rf dist/.tree; \
	done; \
	cd dist; sha256sum kbench-* >SHA256SUMS; \
	sha256sum --quiet -c SHA256SUMS; \
	./kbench-$(subst /,-,$(VERSION))-linux-$$($(GO) env GOHOSTARCH) version | grep -F 'kbench $(VERSION) '

clean: ## remove what was built and what killed runs left
	@if [ -x bin/kbench ]; then bin/kbench clean; fi
	rm -rf bin dist
