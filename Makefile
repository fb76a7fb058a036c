# Short names for stages of .ci/run, which says what each of them does.

.PHONY: check format lint test deploy e2e-kubernetes

check:
	.ci/run

format lint test deploy:
	.ci/run $@

# A real Kubernetes judges the chart; building it takes a while, once.
e2e-kubernetes:
	.ci/run kubernetes
