"""The steps of the papers' stochastic methods: each formula once, for arrays of NumPy and tensors of PyTorch alike.

The papers' runs (NumPy, many runs at once) and ``partialfair.torch`` (a training loop of the user's) both call these
functions, so that a correction reaches both. The functions combine their arguments by operators and by methods that
both libraries have, import neither PyTorch nor a paper, and change no argument unless ``plus`` does.

Constraint values, multipliers and slacks are arrays of one shape with the constraints along ``axis``: (m,) in a
training loop, (R, m) for R runs, (m, B) with ``axis=0`` for a batch of B points. Numbers such as step sizes are floats
or arrays that broadcast.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""An array of NumPy or a tensor of PyTorch."""
Plus: TypeAlias = Callable[[Any, Any, Any], Any]
"""``a + scale b`` of two arrays, or of two lists of tensors that are added in one call."""

SWEEPS = 20  # coordinate updates of the box-constrained dual of a prox-linear step with several constraints
SETTLED = 1e-13  # largest change of a sign in a sweep after which no further sweep is made


def sign(values: Array) -> Array:
    """Return -1, 0 or 1 in the precision of the values."""
    return np.sign(values) if isinstance(values, np.ndarray) else values.sign()


def largest(values: Array, axis: int = -1) -> Array:
    """Return where a value is the largest along an axis: one true entry each, the first of equal ones."""
    # an index array in operations that NumPy and PyTorch spell alike
    positions = ((values == values) | True).cumsum(axis) - 1  # 0, 1, 2, ... also beside NaN
    return positions == values.argmax(axis=axis, keepdims=True)


def plus(a: Array, b: Array, scale: Any) -> Array:
    """Return ``a + scale b`` as a new array."""
    return a + scale * b


# --- SSL-ALM and ALM: Benchmark of stochastic approximation algorithms, section 3.3 ----------------------------------


def bounded_dual(dual: Array, slack: Array, values: Array, dual_step: Any, bound: Any, axis: int = -1) -> Array:
    """Return the multipliers after their step, equation (11): ``y' = y + eta (c + s)``, 0 where ``||y'|| >= M_y``."""
    # reset to 0, not scaled back: Algorithm 2, lines 5 to 7
    moved = dual + dual_step * (values + slack)
    return moved * ((moved * moved).sum(axis=axis, keepdims=True) ** 0.5 < bound)


def penalised(dual: Array, slack: Array, values: Array, penalty: Any) -> Array:
    """Return the constraints' weights in equation (10): ``v = y' + rho (c' + s)``, with c' of a second draw."""
    return dual + penalty * (values + slack)


def smoothed(
    derivative: Any, anchor: Any, distance: Any, proximal: Any, smoothing: Any, add: Plus = plus
) -> tuple[Any, Any]:
    """Return derivative and anchor with the proximal term, equations (10) and (11), of parameters as of slacks.

    ``g + mu (x - a)`` and ``a' = a + beta (x - a)``, a the paper's z; ALM is the method without it.

    Args:
        derivative: (g) of the Lagrangian; anchor: (a); distance: ``x - a``.
        proximal: (mu); smoothing: (beta).
        add: adds arrays, or lists of tensors.
    """
    return add(derivative, distance, proximal), add(anchor, distance, smoothing)


def moved_slack(slack: Array, derivative: Array, lr: Any) -> Array:
    """Return the slacks after their step, equation (11): ``s' = max(0, s - tau d)``."""
    return (slack - lr * derivative).clip(min=0)


# --- Switching subgradient: the same paper, section 3.4, after Huang and Lin -----------------------------------------


def tolerance_at(k: int, tolerance: float, decay: float, decay_start: int) -> float:
    """Return the tolerance (eps_k) of step k of a pass; it falls by the factor ``decay`` from ``decay_start`` on."""
    return float(tolerance * decay ** max(0, k - decay_start))


def seems_feasible(values: Array, tolerance: Any, axis: int = -1) -> Array:
    """Return whether ``max_i c_i <= eps_k``; if so the step is on the loss, otherwise on the largest constraint."""
    return (values <= tolerance).all(axis=axis, keepdims=True)


# --- Stochastic Ghost: the same paper, section 3.2; its subproblem is partialfair.algorithms.ghost_subproblem --------


def multilevel(single_row: Array, joint: Array, halves: Array, chance: Any) -> Array:
    """Return the nearly unbiased direction, equation (9): ``d_1 + (d_J - (d_even + d_odd) / 2) / P(N)``.

    Args:
        single_row: (d_1) of single rows; joint: (d_J) of all J rows; halves: mean of the directions of both halves.
        chance: P(N) of the level.
    """
    return single_row + (joint - halves) / chance


def shortened(lr: Any, decay: Any) -> Any:
    """Return the next step size of Stochastic Ghost: ``alpha' = alpha (1 - alpha_hat alpha)``."""
    return lr * (1 - decay * lr)


# --- PLADA: PLADA paper, Algorithm 1, with rho = alpha / (1 + alpha beta) --------------------------------------------


def perturbed_dual(centre: Array, excess: Array, slack: Array, penalty: Any) -> Array:
    """Return the multipliers at the new parameters, line 6: ``lambda = mu + rho (G + u)``; they may be negative."""
    return centre + penalty * (excess + slack)


def perturbed_move(
    slack: Array,
    centre: Array,
    dual: Array,
    k: int,
    *,
    penalty: Any,
    slack_step: Any,
    slack_bound: Any,
    dual_step: Any,
    decay: Any,
    axis: int = -1,
) -> tuple[Array, Array]:
    """Return slacks and centres of the multipliers after iteration k, lines 4 and 5.

    ``u' = clip(u - tau lambda, 0, u_max)`` and ``mu' = mu + gamma (lambda - mu) / rho``, with
    ``gamma = min(gamma_0, rho delta_k / (||lambda - mu||^2 + 1))`` and ``delta_k = kappa / (k + 1)``.

    Args:
        slack: (u); centre: (mu); dual: (lambda); k: iterations done before this one.
        penalty: (rho); slack_step: (tau); slack_bound: (u_max); dual_step: (gamma_0); decay: (kappa).
        axis: that of the constraints.
    """
    # equation (11) and the gamma_k of line 5; lambda - mu = rho (G + u) is rho times the constraint's residual
    apart = dual - centre
    delta = decay / (k + 1)
    gamma = (penalty * delta / ((apart**2).sum(axis=axis, keepdims=True) + 1)).clip(max=dual_step)
    return (slack - slack_step * dual).clip(0.0, slack_bound), centre + gamma * apart / penalty


def prox_linear_signs(gram: Array, value: Array, dual: Array, lr: Any) -> Array:
    """Return subgradients s (m, ...) of the absolute values at the solution of PLADA's prox-linear step, line 3.

    The step is ``argmin_y sum_j l_j |h_j + <grad h_j, y - x>| + ||y - (x - lr grad F)||^2 / (2 lr)``. By duality over
    ``s in [-1, 1]^m`` it is ``y = x - lr (grad F + J'(l s))``, and coordinate j of s is ``clip(r_j / (lr l_j ||grad
    h_j||^2), -1, 1)`` with the others fixed; for one constraint this is the solution. Where ``l_j <= 0`` the term is
    concave, and the better of its two branches is taken.

    Args:
        gram: (m, m, ...) products ``J J'`` of the gaps' gradients.
        value: (m, ...) ``h - lr J grad F``: the linearised gaps after the step on the loss alone.
        dual: (m, ...) multipliers l.
        lr: step size, or step sizes (...).
    """
    # coordinate ascent on the box-constrained dual, from the signs that the linearised gaps have
    signs = 0 * value + ((value >= 0) * 2.0 - 1.0)
    m = len(value)
    for _ in range(SWEEPS if m > 1 else 1):
        change = 0.0
        for j in range(m):
            # r_j = value_j - lr sum_{i != j} (J J')_ji l_i s_i
            other_terms = (gram[j] * (dual * signs)).sum(axis=0) - gram[j, j] * dual[j] * signs[j]
            residual, curvature = value[j] - lr * other_terms, lr * dual[j] * gram[j, j]
            convex = 1.0 * (curvature > 0)
            inside = (residual / (curvature * convex + (1 - convex))).clip(-1.0, 1.0)
            new = inside * convex + ((residual >= 0) * 2.0 - 1.0) * (1 - convex)
            change = max(change, float(abs(new - signs[j]).max()))
            signs[j] = new
        if change < SETTLED:
            break
    return signs


# --- Multiplier model: Narasimhan et al., Approximate heavily-constrained learning with multiplier models (2020) ------


def model_multipliers(outputs: Array) -> tuple[Array, Array]:
    """Return the multipliers ``l = |n|`` of a network's outputs n, and their derivative by the outputs."""
    return abs(outputs), sign(outputs)


def model_weights(values: Any, dual_scale: float) -> Any:
    """Return the weights of the multipliers in the loss that their network descends, ``-scale <l, c>``."""
    return -dual_scale * values


# --- Stochastic IDCA: Partial fairness paper, section 6 and appendix G.9; Yu, Neely and Wei (2017), algorithm 1 -------


def loss_weight(steps: int) -> float:
    """Return the weight of the loss in a subproblem of T steps: ``V = sqrt(T)``; ``Q / V`` estimates multipliers."""
    return math.sqrt(steps)


def proximal_weight(rho: float, weight: float, queues: Array) -> float:
    """Return the weight of ``w - w_k`` in ``V f0' + sum_i Q_i g_i'``: ``rho (V + sum_i Q_i)``."""
    return rho * (weight + float(queues.sum()))


def half_distance(square: Any, product: Any) -> Any:
    """Return ``||w - w_k||^2 / 2`` to first order at ``w + d``, from ``||w - w_k||^2`` and ``<w - w_k, d>``."""
    return 0.5 * square + product


def extrapolated(convex: Array, slope: Array, concave: Array, tangent: Array, proximal: Any) -> Array:
    """Return the convex constraints g to first order at the point after a step, v'.

    ``f+(v) + <f+'(v), v' - v> - (f-(v_k) + <f-'(v_k), v' - v_k>) + rho/2 |w' - w_k|^2``, the last to first order at w.

    Args:
        convex, slope: ``f+(v)`` and its change (m,); concave, tangent: ``f-(v_k)`` and its change (m,).
        proximal: rho times :func:`half_distance`.
    """
    return (convex + slope) - (concave + tangent) + proximal


def moved_queues(queues: Array, values: Array) -> Array:
    """Return the queues after a step: ``Q' = max(0, Q + g(v) + <g'(v), v' - v>)``, of values :func:`extrapolated`."""
    return (queues + values).clip(min=0)
