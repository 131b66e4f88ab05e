"""Divergences of known distributions against sums, integrals and each other."""

import math

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import multivariate_normal, norm

from lightning_renyicl.mutual_information import divergences

P = np.array([0.1, 0.0, 0.4, 0.5])
Q = np.array([0.3, 0.2, 0.4, 0.1])
GAMMAS = [0.3, 0.5, 0.9, 1.0, 1.1, 2.0, 3.0]


def by_loop(p, q, gamma, alpha):
    """Term by term as the paper's equation has it."""
    total = 0.0
    for a, b in zip(p.flat, q.flat, strict=True):
        m = alpha * a + (1 - alpha) * b
        if a > 0:
            total += a * math.log(a / m) if gamma == 1 else m * (a / m) ** gamma
    return total if gamma == 1 else math.log(total) / (gamma * (gamma - 1))


class TestDiscrete:
    @pytest.mark.parametrize("alpha", [0.0, 0.1, 0.7])
    @pytest.mark.parametrize("gamma", GAMMAS)
    def test_by_the_equation(self, gamma, alpha):
        assert divergences.discrete(P, Q, gamma, alpha) == pytest.approx(by_loop(P, Q, gamma, alpha), rel=1e-13)

    def test_any_shape(self):
        assert divergences.discrete(P.reshape(2, 2), Q.reshape(2, 2), 2.0) == divergences.discrete(P, Q, 2.0)

    @pytest.mark.parametrize("gamma", GAMMAS)
    def test_of_itself(self, gamma):
        assert divergences.discrete(P, P, gamma, 0.2) == pytest.approx(0.0, abs=1e-13)

    @pytest.mark.parametrize("gamma", GAMMAS)
    def test_a_whole_skew_leaves_nothing(self, gamma):
        assert divergences.discrete(P, Q, gamma, 1.0) == pytest.approx(0.0, abs=1e-13)

    @pytest.mark.parametrize(("gamma", "infinite"), [(0.5, False), (1.0, True), (2.0, True)])
    def test_outcomes_that_q_lacks(self, gamma, infinite):
        assert math.isinf(divergences.discrete([0.5, 0.5], [1.0, 0.0], gamma)) is infinite
        assert math.isfinite(divergences.discrete([0.5, 0.5], [1.0, 0.0], gamma, alpha=0.1))

    def test_nothing_in_common(self):
        assert divergences.discrete([1.0, 0.0], [0.0, 1.0], 0.5) == math.inf

    @pytest.mark.parametrize("alpha", [0.0, 0.2])
    def test_order_one_is_the_limit(self, alpha):
        near = [divergences.discrete(P, Q, 1 + step, alpha) for step in (-1e-5, 1e-5)]
        assert np.mean(near) == pytest.approx(divergences.discrete(P, Q, 1.0, alpha), rel=1e-8)

    @pytest.mark.parametrize("alpha", [0.01, 0.3, 0.9])
    def test_skew_shrinks_kl_by_its_share_at_least(self, alpha):
        assert divergences.discrete(P, Q, 1.0, alpha) <= (1 - alpha) * divergences.discrete(P, Q)

    @pytest.mark.parametrize(
        ("p", "q", "message"),
        [
            ([0.5, 0.6], [0.5, 0.5], "sum to 1, got a sum of 1.1"),
            ([1.5, -0.5], [0.5, 0.5], "must not be negative"),
            ([], [], "sum to 1, got a sum of 0"),
            ([1.0], [0.5, 0.5], r"got shapes \(1,\) and \(2,\)"),
        ],
    )
    def test_errors(self, p, q, message):
        with pytest.raises(ValueError, match=message):
            divergences.discrete(p, q)

    @pytest.mark.parametrize(("gamma", "alpha", "message"), [(0, 0, "gamma"), (1, 1.1, "alpha"), (1, -0.1, "alpha")])
    def test_range(self, gamma, alpha, message):
        with pytest.raises(ValueError, match=message):
            divergences.discrete(P, Q, gamma, alpha)


class TestGaussian:
    @pytest.mark.parametrize("gamma", GAMMAS)
    def test_on_a_line(self, gamma):
        p, q = norm(0.4, 0.8), norm(-0.3, 1.1)
        if gamma == 1:
            expected = quad(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), -12, 12)[0]
        else:
            total = quad(lambda x: math.exp(gamma * p.logpdf(x) + (1 - gamma) * q.logpdf(x)), -40, 40, points=[0])[0]
            expected = math.log(total) / (gamma * (gamma - 1))
        found = divergences.gaussian([0.4], [[0.64]], [-0.3], [[1.21]], gamma)
        assert found == pytest.approx(expected, rel=1e-7)

    @pytest.mark.parametrize("gamma", [0.5, 1.0, 1.5])
    def test_in_a_plane(self, gamma):
        mean_p, mean_q = np.array([0.2, -0.5]), np.array([0.0, 0.3])
        cov_p, cov_q = np.array([[0.7, 0.3], [0.3, 0.6]]), np.array([[1.2, -0.2], [-0.2, 0.9]])
        p, q = multivariate_normal(mean_p, cov_p), multivariate_normal(mean_q, cov_q)

        def integrand(y, x):
            log_p, log_q = p.logpdf((x, y)), q.logpdf((x, y))
            return math.exp(log_p) * (log_p - log_q) if gamma == 1 else math.exp(gamma * log_p + (1 - gamma) * log_q)

        total = dblquad(integrand, -8, 8, -8, 8, epsabs=1e-7)[0]
        expected = total if gamma == 1 else math.log(total) / (gamma * (gamma - 1))
        assert divergences.gaussian(mean_p, cov_p, mean_q, cov_q, gamma) == pytest.approx(expected, rel=1e-5)

    def test_where_it_ends(self):
        wide, narrow = [[2.0]], [[1.0]]
        assert math.isfinite(divergences.gaussian([0], wide, [0], narrow, 1.99))
        assert divergences.gaussian([0], wide, [0], narrow, 2.0) == math.inf  # 2 * 1 - 1 * 2 = 0

    def test_order_one_is_the_limit(self):
        arguments = ([0.1, 0.2], [[1.0, 0.2], [0.2, 0.5]], [0.0, 0.0], [[0.9, 0.0], [0.0, 0.8]])
        near = [divergences.gaussian(*arguments, 1 + step) for step in (-1e-5, 1e-5)]
        assert np.mean(near) == pytest.approx(divergences.gaussian(*arguments), rel=1e-7)

    @pytest.mark.parametrize(
        ("mean_p", "covariance_p", "message"),
        [
            ([0.0, 0.0], [[1.0]], "expected means"),
            ([0.0], [[-1.0]], "positive definite"),
        ],
    )
    def test_errors(self, mean_p, covariance_p, message):
        with pytest.raises(ValueError, match=message):
            divergences.gaussian(mean_p, covariance_p, [0.0], [[1.0]])
