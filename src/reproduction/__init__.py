"""The workbench: grids of experiments, their jobs, verdicts on published claims, exhibits and pages."""
