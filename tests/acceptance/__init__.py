"""Acceptance tests of the papers: what the tests of single modules do not hold; see ``README.md``."""
