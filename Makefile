# Thin calls only: what a check is, noxfile.py says; what a machine needs, tests/tools/bootstrap.py says.
PYTHON ?= python3
NOX = .venv/bin/nox
FLEET ?=

.PHONY: test lint units sanity browser waves molecule integration demo bench docs clean bootstrap

test: bootstrap
	@$(NOX) $(if $(SESSIONS),--session $(SESSIONS))

lint units sanity browser waves molecule integration: bootstrap
	@$(NOX) --tag $@

demo: bootstrap
	@$(NOX) --session demo

docs: bootstrap
	@$(NOX) --session docs

bench: bootstrap
	@$(NOX) --session bench -- $(FLEET)

bootstrap:
	@$(PYTHON) tests/tools/bootstrap.py

clean:
	rm -rf .cache .nox .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache tests/output
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
