"""`python -m tests.sentences`."""

from tests.sentences import main

main()
