"""The words of a scorecard, made anew from its rows by other code than the project's, and held against what is there.

Each function returns sentences about what is wrong; none if nothing is.
"""

from collections import Counter, defaultdict
from itertools import product

OPPOSITE = {"H": "F", "F": "H"}
CODE = {"H": 2, "h": 1, "-": 0, "f": -1, "F": -2}
LONE = {"holds": "holds", "dominated": "holds", "fails": "fails", "undecided": "cannot tell", "not run": "not compared"}
WORDS = ("holds", "alike", "depends", "cannot tell", "fails", "not compared")


def shape(row):
    """Choices of a row and how many options each has, from what its options give."""
    parts = [part.split(": ", 1) for part in row["by_option"].split(" | ")] if row["by_option"] else []
    return {choice: len(options.split("; ")) for choice, options in parts}


def by_rule(row):
    """The word that a row's letters give, before seeds are left out and without a margin."""
    letters = row["letters"].replace(" ", "")
    main, compared = letters[0], [letter for letter in letters if letter != "x"]
    decided = [letter for letter in compared if letter in "HF"]
    if main in "HF":
        agreeing = [letter for letter in compared if letter.upper() == main]
        clear = OPPOSITE[main] not in compared and 3 * len(agreeing) >= 2 * len(compared)
        return ("holds" if main == "H" else "fails") if clear else "depends"
    return "depends" if 3 * len(decided) >= len(compared) else "cannot tell"


def choices_of(row):
    """The choices that move the letters of a row most."""
    letters, sizes = row["letters"].replace(" ", ""), shape(row)
    at = list(product(*map(range, sizes.values())))
    effect = {}
    for axis, (choice, size) in enumerate(sizes.items()):
        means = []
        for option in range(size):
            own = [CODE[x] for x, place in zip(letters, at, strict=True) if place[axis] == option and x != "x"]
            means += [sum(own) / len(own)] if own else []
        effect[choice] = max(means) - min(means)
    most = max(effect.values())
    return {choice for choice, size in effect.items() if size > 0 and 3 * size >= 2 * most - 1e-9}


def faults_of_words(rows):
    """Rows whose word is not the one that their letters give."""
    found = []
    for row in rows:
        name = f"{row['claim']} on {row['dataset']} against {row['against']}"
        word = row["robust"] or LONE[row["verdict"]]
        if not row["letters"]:
            if word != LONE[row["verdict"]]:
                found.append(f"{name}: {word!r} although its one test says {row['verdict']!r}")
            continue
        declared = {"holds": "H", "fails": "F"}.get(row["verdict"])
        main = row["letters"][0]
        if (main if main in "HF" else None) != declared:
            found.append(f"{name}: its main letter is {main!r}, its verdict {row['verdict']!r}")
        flips, runs = map(int, row["seeds_flip"].split(" of ")) if row["seeds_flip"] else (0, 1)
        rule, shaken = by_rule(row), 3 * flips >= runs
        awaited = "awaits" in row["depends_on"]
        if word in ("holds", "fails"):
            other = OPPOSITE["H" if word == "holds" else "F"]
            if other in row["letters"]:
                found.append(f"{name}: {word!r} although a reading decides the other way")
            if awaited:
                found.append(f"{name}: {word!r} although a reading awaits its runs")
        if word == "alike":
            margin, ends = float(row["matters"] or row["tolerance"]), (row["lead_low"], row["lead_high"])
            inside = all(abs(float(end or row["lead"])) <= margin for end in ends)
            if not inside:
                found.append(f"{name}: 'alike' although its interval leaves the margin")
        elif awaited:
            if word != "cannot tell":
                found.append(f"{name}: {word!r} although a reading awaits its runs")
        elif word != ("depends" if shaken else rule):
            found.append(f"{name}: {word!r} where its letters give {rule!r} and {flips} of {runs} runs another word")
        if word == "depends" and rule == "depends":
            named = {part for part in row["depends_on"].split(", ") if part != "single seeds"}
            if named and named != choices_of(row):
                found.append(f"{name}: depends on {sorted(named)}, and not on {sorted(choices_of(row))}")
    return found


def faults_of_claims(claims):
    """Claims that are decided at equal fairness without saying how else they can be read, and why."""
    found = []
    for claim in claims:
        if claim.at_equal is not None and claim.kind == "claim":
            options = [one for own in claim.readings.options.values() for one in own] if claim.readings else []
            if not options or not claim.readings.because or not all(one.because for one in options):
                found.append(f"{claim.id}: decided at equal fairness without other readings or their reasons")
    return found


def faults_of_concessions(rows, claims):
    """Rows of concessions that count."""
    conceded = {claim.id for claim in claims if claim.concession}
    return [
        f"{row['claim']}: a concession counts" for row in rows
        if row["claim"] in conceded and (row["counts"] == "yes" or row["kind"] == "claim")
    ]  # fmt: skip


def idle(row):
    """Whether a row is true of another model, too."""
    return row["power"] == "no" and row["verdict"] not in ("fails", "undecided")


def faults_of_headline(found, rows, claims):
    """What is said of a paper that its rows do not say, and words that are not said."""
    faults = []
    central = {claim.id for claim in claims if claim.central}
    own = [row for row in rows if row["kind"] == "claim" and row["claim"] in central]
    counted = Counter(row["robust"] or LONE[row["verdict"]] for row in own if not idle(row))
    said = found["central_comparisons"]
    faults += [
        f"{word}: {said.get(word)} said, {counted[word]} in the rows"
        for word in WORDS
        if said.get(word) != counted[word]
    ]
    if said.get("true of another model") != sum(map(idle, own)):
        faults.append("what is true of another model, too, is not counted")
    sentences = {"hold": "holds", "alike": "alike", "depend": "depends", "be told": "cannot tell", "fail": "fails"}
    first = found["sentence"].split(". ")[0] if counted else ""
    faults += [f"{text!r} is missing" for text, word in sentences.items() if counted and text not in first]
    judged = Counter(row["verdict"] for row in rows if row["kind"] == "number" and row["counts"] == "yes")
    for word in ("agrees", "near", "differs"):
        if found["numbers"][word] != judged[word]:
            faults.append(f"{found['numbers'][word]} numbers said that {word}, {judged[word]} in the rows")
    if judged and not all(text in found["sentence"] for text in ("agree", "near", "differ")):
        faults.append("a word of the numbers is missing")
    parts = defaultdict(list)
    named = {claim.id: claim.part_of or claim.id for claim in claims}
    for row in rows:
        if row["kind"] == "claim":
            parts[named[row["claim"]]].append(row)
    tested = [
        own for own in parts.values()
        if any(not idle(row) for row in own) and any(row["verdict"] != "not run" for row in own if not idle(row))
    ]  # fmt: skip
    if found["claims"]["total"] != len(tested):
        faults.append(f"{found['claims']['total']} sentences said, {len(tested)} in the rows")
    return faults
