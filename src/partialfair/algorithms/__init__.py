"""Algorithms: what they are given and return, and one room per family with its plug-ins, solvers and kernels."""
