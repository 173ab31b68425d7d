# The front door. Everything real is in meson.build; this sets up what is missing and calls it.
#   make            build/strata and build/libstrata.so
#   make python     the Python package: PYTHONPATH=build/python   (make wheel: build/wheel/*.whl, for other machines)
#   make deb        Debian packages: build/deb/*.deb; packaging/container/Containerfile makes an image of them
#   make demo       a short tour
#   make run        a service with three emulated nodes, until interrupted; export STRATA_SOCKET=$PWD/run/strata.sock
#   make mutate     random mutants of the sources, and which of them the tests notice   (N=200 SEED=1, or several: SEED=1,2,3)
#   make test       every test   (SAN=address,undefined or SAN=thread: under sanitizers; T=name: only those; AGAIN=2: two that failed once more)
#   make test T=web_pages         every page in a real Chromium, by axe-core, with screenshots in build/web-shots
#   make bench PEERS=1            figures beside those of Slurm, diffusers, ONNX Runtime and accelerate in the same run (docs/performance.md)
#   make test T=docs              the commands of README and docs, and what they print
#   make test T=python-torch      what is compared with torch, in a Python environment made for it (build/python-torch, 2 GB)
#   make test T=diffusers         random settings of schedulers against the diffusers of that environment (make test-long T=diffusers: 20,000)
#   make test T=python-ray        a Ray cluster inside a job, in another (build/python-ray, 290 MB)
#   make test T=python-tools      types and notebooks: pyright and a Jupyter kernel, in another (build/python-tools, 330 MB)
#   make test T=python-clients    clients of others against the service, in another (build/python-clients, 95 MB)
#   make test T=s3-moto           checkpoints copied to moto, an S3 of others, in another (build/moto)
#   make test-k8s                 pods on a real Kubernetes control plane, beside kube-scheduler (built once, ten minutes; 240 MB kept)
#   make test T=packages          the Debian packages in a bare Debian tree, and the container image
SAN    ?=
T      ?=
PREFIX ?= /usr/local
comma  := ,
BUILD  := build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
RUNS   ?= 1000000
N      ?= 200
SEED   ?= 1

# A terminal sees how far a build is, in one line; a file gets warnings and errors only.
quiet   = $$(test -t 2 || echo --quiet)
setup   = test -f $(1)/build.ninja || meson setup $(1) $(2) >/dev/null
san     = $(if $(SAN),-Db_sanitize=$(SAN) -Db_lundef=false)

all: deps
	@$(call setup,$(BUILD),--prefix $(PREFIX) $(san))
	@ninja -C $(BUILD) $(quiet) product

deps:
	@tools/deps deps/debian.txt
deps-test:
	@tools/deps deps/debian.txt deps/debian-test.txt
	@tools/deps --wanted deps/debian-python.txt
	@tools/deps --wanted deps/debian-web.txt
	@tools/npm-env build/npm deps/npm-test.txt
	@tools/prometheus-env build/prometheus
deps-python:
	@tools/deps deps/debian.txt deps/debian-python.txt
deps-dev:
	@tools/deps deps/debian.txt deps/debian-test.txt deps/debian-dev.txt

# The Python package of the tree: PYTHONPATH=build/python python3 -c 'import strata.solver'
python: deps-python
	@$(call setup,$(BUILD),--prefix $(PREFIX) $(san))
	@ninja -C $(BUILD) $(quiet) python

# A wheel with the libraries inside, tried in an environment that has nothing else: build/wheel/*.whl
wheel: deps-python
	@tools/python-wheel $(BUILD)/wheel

# Debian packages, and what lintian has to say of them.
deb: deps
	@tools/deps deps/debian-packages.txt
	@tools/deb build/deb

demo: all
	@BUILD=$(BUILD) tools/demo

run: all
	@mkdir -p run
	$(BUILD)/strata serve --state run --node 'n:count=3:cpus=8:memory=64G:gpus=4:gpu_type=a100'

test: deps-test
	@$(call setup,$(BUILD),--prefix $(PREFIX) $(san))
	@$(if $(findstring python-torch,$(T))$(findstring diffusers,$(T)),tools/python-env build/python-torch deps/python-torch.txt)
	@$(if $(findstring python-tools,$(T)),tools/python-env build/python-torch deps/python-torch.txt && tools/python-env build/python-tools deps/python-tools.txt)
	@$(if $(findstring python-ray,$(T)),tools/python-env build/python-ray deps/python-ray.txt)
	@$(if $(findstring python-clients,$(T)),tools/python-env build/python-clients deps/python-clients.txt)
	@$(if $(findstring s3-moto,$(T)),tools/python-env build/moto deps/python-moto.txt)
	@$(if $(findstring packages,$(T)),$(MAKE) --no-print-directory deb && tools/bare-debian build/bare-debian || test $$? = 77)
	@ninja -C $(BUILD) $(quiet) $(if $(T),fixtures,tests)
	@tests/run $(BUILD) $(T) $(if $(AGAIN),--again $(AGAIN))

test-long: deps-test
	@$(call setup,$(BUILD),--prefix $(PREFIX) $(san))
	@$(if $(findstring diffusers,$(T)),tools/python-env build/python-torch deps/python-torch.txt)
	@ninja -C $(BUILD) $(quiet) $(if $(T),fixtures,tests)
	@tests/run $(BUILD) $(T) --long
	@$(if $(SAN)$(T),true,$(MAKE) --no-print-directory test-thread && $(MAKE) --no-print-directory test T=python-torch)

# The scheduler of pods with a real Kubernetes API server, controllers and kube-scheduler: built once, in about ten minutes, into build/kubernetes.
test-k8s: deps-test
	@tools/deps deps/debian-kubernetes.txt
	@$(call setup,$(BUILD),--prefix $(PREFIX) $(san))
	@nice tools/kubernetes-build build/kubernetes
	@tools/python-env build/python-kubernetes deps/python-kubernetes.txt
	@ninja -C $(BUILD) $(quiet) fixtures
	@STRATA_KUBERNETES=$(CURDIR)/build/kubernetes/bin tests/run $(BUILD) $(or $(T),k8s)

# What has threads, under ThreadSanitizer; a race in the service's log fails its test.
test-thread: deps-test
	@$(call setup,build-thread,-Db_sanitize=thread -Db_lundef=false)
	@ninja -C build-thread $(quiet) tests
	@tests/run build-thread --suite exec --suite server --suite stream --suite api $(T)

bench: all $(if $(PEERS),deps-test python)
	@ninja -C $(BUILD) $(quiet) benches
	@$(if $(PEERS),tools/python-env build/python-torch deps/python-torch.txt && bench/peers/run $(BUILD) $(T),bench/run $(BUILD) $(T))

fuzz: deps-dev
	@test -f build-fuzz/build.ninja || CC=clang meson setup build-fuzz -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
	@ninja -C build-fuzz --quiet fuzzers
	@tests/fuzz/run build-fuzz $(RUNS) $(T)

mutate: deps-test
	@tools/mutate -n $(N) --seed $(SEED) $(if $(SAN),--sanitize $(SAN)) $(if $(BUDGET),--budget $(BUDGET)) $(IN)

lint: deps-dev
	@tools/lint

format: deps-dev
	@clang-format -i $$(git ls-files '*.c' '*.h')

install: all
	@meson install -C $(BUILD) --no-rebuild $(if $(DESTDIR),--destdir $(DESTDIR))

clean:
	@rm -rf build build-*

.PHONY: all deps deps-test deps-python deps-dev python wheel deb demo run test test-k8s test-long test-thread bench fuzz mutate lint format install clean
