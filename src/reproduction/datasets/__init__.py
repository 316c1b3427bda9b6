"""Datasets: one module per dataset, each with ``SPEC`` and ``load(raw_dir, **options)``."""
