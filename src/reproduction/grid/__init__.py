"""The experiment grid: params.yaml, its checks and jobs, and what each result should have been made from."""
