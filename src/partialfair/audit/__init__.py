"""Audit of scores from any model: partial and classical metrics, their uncertainty, and gates for a pipeline."""

from partialfair.audit.promise import ViolationBound, violation_bound
from partialfair.audit.reading import audit_file
from partialfair.audit.result import AuditResult, Gate
from partialfair.audit.run import audit_scores

__all__ = ["AuditResult", "Gate", "ViolationBound", "audit_file", "audit_scores", "violation_bound"]
