"""The paper's statements, checked by computing and by simulating."""

import math

import numpy as np
import pytest

from lightning_renyicl.mutual_information import divergences, theory

PAIRS = {
    "two outcomes": ([0.7, 0.3], [0.4, 0.6]),
    "some outcomes of Q alone": ([0.5, 0.5, 0.0, 0.0], [0.2, 0.3, 0.1, 0.4]),
    "many outcomes": (np.arange(1, 21) / 210, np.arange(20, 0, -1) / 210),
}
HALF = ([0.5, 0.5, 0.0, 0.0], [0.25] * 4)
JOINT = np.array([[0.25, 0.02, 0.03], [0.01, 0.3, 0.04], [0.05, 0.02, 0.28]])
MARGINALS = np.outer(JOINT.sum(1), JOINT.sum(0))


class TestVarianceOfTheRenyiBound:
    @pytest.mark.parametrize("gamma", [0.5, 1.5, 2.0, 3.0])
    @pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
    def test_simulation_finds_the_limit(self, pair, gamma):
        """Standard error of a variance of 20,000 replicates: 1 %; measured: at most 1.3 % off."""
        found = 10_000 * theory.renyi_estimates(*pair, gamma, 10_000, 10_000, 20_000).var(ddof=1)
        assert found == pytest.approx(theory.renyi_variance(*pair, gamma), rel=0.05)

    def test_with_samples_of_p_fixed_it_has_none(self):
        pair = PAIRS["two outcomes"]
        found = [n * theory.renyi_estimates(*pair, 2.0, 100, n, 20_000).var(ddof=1) for n in (1000, 10_000, 100_000)]
        assert found[1] > 5 * found[0]
        assert found[2] > 5 * found[1]

    @pytest.mark.parametrize("gamma", [1.1, 2.0, 3.0])
    def test_where_the_printed_bound_is_above_it(self, gamma):
        """P uniform on half of Q: r is 2 or 0, KL log 2; the limit is 1 / gamma²."""
        assert theory.renyi_variance(*HALF, gamma) == pytest.approx(1 / gamma**2)
        printed = theory.printed_variance_bound(*HALF, gamma)
        assert printed == pytest.approx((2 ** (gamma**2) - gamma**2) / 2 ** (2 * (gamma - 1)))
        fails = math.log(2) > 2 * math.log(gamma) / (gamma**2 - 1)
        assert fails is (gamma >= 2)
        if fails:
            assert printed > 1 / gamma**2

    def test_it_explodes_all_the_same(self):
        """For P on a share of Q's outcomes the limit grows as e to the power of the divergence."""
        found = []
        for size in (10, 100, 1000):
            p, q = np.zeros(size), np.full(size, 1 / size)
            p[:5] = 0.2
            found.append(theory.renyi_variance(p, q, 2.0))
            assert found[-1] == pytest.approx((math.exp(divergences.discrete(p, q)) - 1) / 4)
        assert found[2] > 9 * found[1] > 81 * found[0]


class TestVarianceOfTheSkewBound:
    P, Q = np.r_[np.full(10, 0.1), np.zeros(990)], np.full(1000, 0.001)

    @pytest.mark.parametrize("alpha", [0.2, 0.02])
    def test_falls_with_samples(self, alpha):
        small, large = (theory.skew_kl_estimates(self.P, self.Q, alpha, n, n, 2000).var(ddof=1) for n in (300, 3000))
        assert large < small / 5

    def test_falls_with_the_skew(self):
        found = [
            theory.skew_kl_estimates(self.P, self.Q, alpha, 2000, 300, 2000).var(ddof=1) for alpha in (0.001, 0.01, 0.1)
        ]
        assert found[0] > 5 * found[1] > 25 * found[2]

    def test_without_skew_it_may_be_infinite(self):
        assert np.isinf(theory.skew_kl_estimates(self.P, self.Q, 0.0, 300, 300, 100)).any()

    @pytest.mark.parametrize("alpha", [0.0, 0.1, 0.9])
    def test_large_samples_find_the_divergence(self, alpha):
        pair = PAIRS["two outcomes"]
        found = theory.skew_kl_estimates(*pair, alpha, 10**6, 10**6, 50)
        assert found.mean() == pytest.approx(divergences.discrete(*pair, 1.0, alpha), rel=5e-3)

    @pytest.mark.parametrize("gamma", [0.5, 2.0])
    def test_skew_renyi_falls_with_the_skew(self, gamma):
        found = [divergences.discrete(JOINT, MARGINALS, gamma, alpha) for alpha in (0.0, 0.01, 0.1, 0.5, 1.0)]
        assert found == sorted(found, reverse=True)


class TestFiniteSamplesOfCPC:
    @pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5, 0.9])
    def test_exceed_the_skew_divergence_at_every_alpha(self, alpha):
        divergence = divergences.discrete(JOINT, MARGINALS, 1.0, alpha)
        for estimates in theory.cpc_estimates(JOINT, alpha, 3, 40_000):
            error = estimates.std(ddof=1) / math.sqrt(len(estimates))
            assert estimates.mean() > divergence + 4 * error

    def test_exceed_the_mutual_information_at_a_small_alpha(self):
        information = divergences.discrete(JOINT, MARGINALS)
        for estimates in theory.cpc_estimates(JOINT, 0.001, 3, 40_000):
            assert estimates.mean() > information + 4 * estimates.std(ddof=1) / 200

    def test_do_not_from_one_in_a_batch_on(self):
        information = divergences.discrete(JOINT, MARGINALS)
        for estimates in theory.cpc_estimates(JOINT, 1 / 4, 3, 40_000):
            assert estimates.mean() < information

    @pytest.mark.slow
    def test_come_closer_with_negatives(self):
        divergence = divergences.discrete(JOINT, MARGINALS, 1.0, 0.1)
        for few, many in zip(*(theory.cpc_estimates(JOINT, 0.1, k, 4000) for k in (2, 100)), strict=True):
            assert abs(many.mean() - divergence) < abs(few.mean() - divergence) / 5

    def test_by_a_loop(self):
        cpc, mlcpc = theory.cpc_estimates(JOINT, 0.3, 2, 2, seed=5)
        drawn = np.random.default_rng(5).choice(9, size=(2, 3), p=JOINT.ravel())
        ratio = JOINT / MARGINALS
        for batch, values in enumerate(drawn):
            pairs = [divmod(value, 3) for value in values]
            total, positives, negatives = 0.0, [], []
            for i, (x, y) in enumerate(pairs):
                others = [ratio[x, pairs[j][1]] for j in range(3) if j != i]
                total += math.log(ratio[x, y] / (0.3 * ratio[x, y] + 0.7 * np.mean(others))) / 3
                positives.append(ratio[x, y] / (0.3 * ratio[x, y] + 0.7))
                negatives += [other / (0.3 * other + 0.7) for other in others]
            assert cpc[batch] == pytest.approx(total)
            denominator = 0.3 * np.mean(positives) + 0.7 * np.mean(negatives)
            assert mlcpc[batch] == pytest.approx(np.mean(np.log(positives)) - math.log(denominator))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.renyi_variance([0.5, 0.5], [1.0, 0.0], 2.0), "every outcome of P"),
        (lambda: theory.renyi_variance([1.0], [0.5, 0.5], 2.0), "same outcomes, got 1 and 2"),
        (lambda: theory.renyi_variance([1.0], [1.0], 1.0), "gamma must not be 1"),
        (lambda: theory.renyi_estimates([1.0], [1.0], 0.0, 1, 1, 1), "gamma must be"),
        (lambda: theory.renyi_estimates([1.0], [1.0], 2.0, 0, 1, 1), "at least 1, got 0, 1 and 1"),
        (lambda: theory.printed_variance_bound([1.0], [1.0], 0.5), "gamma above 1, got 0.5"),
        (lambda: theory.skew_kl_estimates([1.0], [1.0], 2.0, 1, 1, 1), "alpha must be"),
        (lambda: theory.cpc_estimates([1.0], 0.5, 1, 1), "got 1 dimensions"),
        (lambda: theory.cpc_estimates([[1.0]], 1.0, 1, 1), "alpha in"),
        (lambda: theory.cpc_estimates([[1.0]], 0.5, 0, 1), "at least 1 negative"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
