"""The gates of an audit in the formats that build servers and code hosts read: JUnit's XML and SARIF."""

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree

from partialfair.audit import sentences

if TYPE_CHECKING:
    from partialfair.audit.result import AuditResult, Gate

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def junit(result: "AuditResult") -> str:
    """Return a test suite with one test for each gate.

    A limit that is exceeded is a failure, a metric that was not measured for every pair an error.
    """
    unmeasured = [gate for gate in result.gates if _unmeasured(gate)]
    failed = [gate for gate in result.gates if not gate.passed and not _unmeasured(gate)]
    suite = ElementTree.Element(
        "testsuite",
        name=f"audit of {result.source}",
        tests=str(len(result.gates)),
        failures=str(len(failed)),
        errors=str(len(unmeasured)),
        skipped="0",
    )
    for gate in result.gates:
        case = ElementTree.SubElement(suite, "testcase", classname="partialfair.audit", name=str(gate))
        if not gate.passed:
            kind = "error" if _unmeasured(gate) else "failure"
            outcome = ElementTree.SubElement(case, kind, type=gate.metric, message=_printable(_message(gate)))
            outcome.text = _printable(sentences.headline(result))
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    suite.set("name", _printable(suite.get("name", "")))
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def sarif(result: "AuditResult", path: str) -> str:
    """Return a SARIF log with one rule for each gate and one result for each that failed.

    Args:
        result: of the audit.
        path: of the score file, relative to the root of the repository.
    """
    rules = [
        {
            "id": gate.metric,
            "shortDescription": {"text": sentences.title(gate.metric)},
            "fullDescription": {"text": str(gate)},
            "defaultConfiguration": {"level": "error"},
        }
        for gate in result.gates
    ]
    location = {"physicalLocation": {"artifactLocation": {"uri": quote(path)}, "region": {"startLine": 1}}}
    results: list[dict[str, Any]] = [
        {
            "ruleId": gate.metric,
            "ruleIndex": number,
            "level": "error",
            "message": {"text": _message(gate)},
            "locations": [location],
            "partialFingerprints": {"gate/v1": f"{gate.metric} {gate.limit!r} {path}"},
        }
        for number, gate in enumerate(result.gates)
        if not gate.passed
    ]
    driver = {"name": "partialfair audit", "version": str(result.record.get("partialfair")), "rules": rules}
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


def _unmeasured(gate: "Gate") -> bool:
    return gate.value is None or gate.reason.startswith("not estimable")


def _message(gate: "Gate") -> str:
    """Return what a gate measured beside its limit, between which groups, in a sentence."""
    text = sentences.outcome(gate)
    if gate.groups is not None:
        text += f" ({gate.groups[0]!r} lower than {gate.groups[1]!r})"
    return f"{text[:1].upper()}{text[1:]}."


def _printable(text: str) -> str:
    """Return the text without the characters that XML does not allow."""
    return "".join(letter if letter in "\t\n" or letter >= " " else "\N{REPLACEMENT CHARACTER}" for letter in text)
