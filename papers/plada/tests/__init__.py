"""Tests of plada."""
