# One command each: just test

# Every test, quickly
test:
    pytest -n auto

# Every test, and all that it tries
full:
    pytest -n auto --profile full

# What the tests cover, lines and branches
cover:
    pytest -n auto --cov

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
