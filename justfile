# One command each: just test

# All tests that need nothing more
test:
    pytest -n auto

# The quick tests
quick:
    pytest -n auto -m "not slow and not more"

# What the quick tests cover, lines and branches
cover:
    pytest -n auto -m "not slow and not more" --cov

# Whether the tests notice 300 changes of the code
mutants:
    python scripts/mutants.py

# Style, types, spelling
lint:
    ruff check && ruff format --check && mypy --strict && codespell

# The generated pages, with what commands print
docs:
    python scripts/make_docs.py --transcripts

# The site
site:
    python -m zensical build --strict

# All that a change has to pass
ci:
    .ci/run
