"""Definitions written as loops over rows, thresholds and pairs: slow, and meant to be read against the paper."""

import math
from itertools import combinations

import numpy as np


def kept_scores(scores, pairs):
    """Positions ceil(alpha n)+1 .. ceil(beta n) (1-based) of the descending order."""
    ranked = sorted(scores, reverse=True)
    n = len(ranked)
    kept = []
    for alpha, beta in pairs:
        first, last = math.ceil(round(alpha * n, 9)) + 1, math.ceil(round(beta * n, 9))
        kept += [ranked[position - 1] for position in range(first, last + 1)]
    return kept


def rank(scores, theta):
    """Share of scores above theta."""
    return sum(s > theta for s in scores) / len(scores)


def by_group(scores, group):
    return [[s for s, g in zip(scores, group, strict=True) if g == code] for code in range(max(group) + 1)]


def sp(scores, group, intervals):
    kept = [kept_scores(s, i) for s, i in zip(by_group(scores, group), intervals, strict=True)]
    return max(max(abs(rank(a, theta) - rank(b, theta)) for theta in [*a, *b]) for a, b in combinations(kept, 2))


def rank_gap(scores, group, intervals):
    parts = by_group(scores, group)
    gaps = [0.0]
    for a, b in combinations(range(len(parts)), 2):
        for theta in scores:
            ranks = rank(parts[a], theta), rank(parts[b], theta)
            inside = [
                any(alpha <= r < beta for alpha, beta in intervals[k]) for k, r in zip((a, b), ranks, strict=True)
            ]
            if any(inside):
                gaps.append(abs(ranks[0] - ranks[1]))
    return max(gaps)


def dp(scores, group, intervals, threshold, normalise=True):
    masses = []
    for part, pairs in zip(by_group(scores, group), intervals, strict=True):
        r = rank(part, threshold)
        mass = sum(min(r, beta) - min(r, alpha) for alpha, beta in pairs)
        masses.append(mass / sum(beta - alpha for alpha, beta in pairs) if normalise else mass)
    return max(abs(a - b) for a, b in combinations(masses, 2))


def gauc(scores, group, intervals):
    kept = [kept_scores(s, i) for s, i in zip(by_group(scores, group), intervals, strict=True)]
    gaps = []
    for a, b in combinations(kept, 2):
        wins = sum((x > z) + 0.5 * (x == z) for x in a for z in b)
        gaps.append(abs(wins / (len(a) * len(b)) - 0.5))
    return max(gaps)


def sample(seed, n=60, groups=2, ties=True):
    """A small sample with every group and label present."""
    rng = np.random.default_rng(seed)
    group = np.concatenate([np.arange(groups), np.arange(groups), rng.integers(0, groups, n - 2 * groups)])
    y = np.concatenate([np.ones(groups), -np.ones(groups), rng.choice([-1.0, 1.0], n - 2 * groups)])
    scores = rng.normal(size=n) + 0.4 * group
    return (np.round(scores, 1) if ties else scores), y, group
