"""Gaps between smooth means: PLADA and what it is compared with, on linear scores and networks."""
