"""The nested support vector machine against scikit-learn's grid search, fold by fold."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from lightning_renyicl.evaluation.nested_svm import COSTS, nested_svm, squared_distances


def grid_search(features, target, seed, folds, inner_folds):
    """What a user of scikit-learn would write."""
    x, labels = features.numpy(), target.numpy()
    results = []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(x, labels):
        inner = StratifiedKFold(inner_folds, shuffle=True, random_state=seed)
        search = GridSearchCV(SVC(), {"C": list(COSTS)}, cv=inner).fit(x[train], labels[train])
        results.append((search.best_params_["C"], search.best_score_, test, search.predict(x[test])))
    return results


def assert_same(features, target, seed=3, folds=4, inner_folds=3):
    ours = nested_svm(features, target, seed, folds, inner_folds)
    for fold, (cost, score, test, predicted) in zip(
        ours, grid_search(features, target, seed, folds, inner_folds), strict=True
    ):
        assert fold.cost == cost
        assert fold.validation == pytest.approx(score, abs=1e-12)
        assert np.array_equal(fold.test, test)
        assert np.array_equal(fold.predictions, predicted)
        assert fold.accuracy == (predicted == target.numpy()[test]).mean()
    return ours


def problem(seed, classes, scale=1.0, samples=150):
    x, y = make_classification(
        samples, 12, n_informative=6, n_classes=classes, flip_y=0.2, class_sep=0.7, random_state=seed
    )
    return torch.from_numpy(x * scale).float(), torch.from_numpy(y)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])  # sums over nodes are as large as that
def test_is_grid_search(classes, scale):
    folds = assert_same(*problem(0, classes, scale))
    assert COSTS[0] not in {fold.cost for fold in folds}


def test_is_grid_search_on_counts():
    """Ties everywhere, and integers."""
    pixels, labels = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(labels))[:200]
    assert_same(torch.from_numpy(pixels[rows]).float(), torch.from_numpy(labels[rows]).long())


def test_constant_features_are_the_majority():
    target = torch.tensor([0] * 30 + [1] * 20)
    folds = assert_same(torch.ones(50, 3), target, folds=5)
    assert np.mean([fold.accuracy for fold in folds]) == pytest.approx(0.6)
    assert {fold.cost for fold in folds} == {COSTS[0]}  # the smallest of equals


def test_every_sample_is_tested_once():
    features, target = problem(1, 3)
    folds = nested_svm(features, target, 0, folds=5)
    assert np.array_equal(np.sort(np.concatenate([fold.test for fold in folds])), np.arange(150))


def test_sorted_samples_are_as_good_as_shuffled_ones():
    """The accuracy in inner folds that are blocks of sorted data is far below that of the outer folds, which aren't."""
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(40, 2, generator=generator) * 3
    group = torch.arange(40).repeat_interleave(10)  # as data come that were gathered kind by kind
    features = centres[group] + 0.2 * torch.randn(400, 2, generator=generator)
    folds = nested_svm(features, torch.randint(2, (40,), generator=generator)[group], 0)
    accuracy, validation = (np.mean([getattr(fold, key) for fold in folds]) for key in ("accuracy", "validation"))
    assert accuracy > 0.85
    assert abs(accuracy - validation) < 0.03


def test_test_samples_have_no_part_in_the_choice():
    features, target = problem(2, 2)
    before = nested_svm(features, target, 0, folds=5)
    test = torch.from_numpy(before[2].test)
    changed = features.clone()
    changed[test] = 100 * torch.randn(len(test), 12, generator=torch.Generator().manual_seed(0))
    after = nested_svm(changed, target, 0, folds=5)
    assert after[2].cost == before[2].cost
    assert after[2].validation == before[2].validation


def test_seed():
    features, target = problem(3, 2)
    one, same, other = (nested_svm(features, target, seed, folds=5) for seed in (1, 1, 2))
    assert [fold.accuracy for fold in one] == [fold.accuracy for fold in same]
    assert not np.array_equal(one[0].test, other[0].test)
    nested_svm(features, target, 2**40, folds=5)  # more than NumPy takes


def test_threads_make_no_difference():
    features, target = problem(4, 3)
    threads = torch.get_num_threads()
    try:
        results = []
        for count in (1, 3):
            torch.set_num_threads(count)
            results.append([fold.accuracy for fold in nested_svm(features, target, 0, folds=5)])
    finally:
        torch.set_num_threads(threads)
    assert results[0] == results[1]


def test_leaves_global_random_state_alone():
    before = np.random.get_state()[1].copy(), torch.get_rng_state()
    nested_svm(*problem(5, 2), 0, folds=3)
    assert np.array_equal(np.random.get_state()[1], before[0])
    assert torch.equal(torch.get_rng_state(), before[1])


def test_distances():
    x = np.random.default_rng(0).normal(size=(20, 5))
    expected = ((x[:, None] - x[None]) ** 2).sum(-1)
    np.testing.assert_allclose(squared_distances(x), expected, rtol=1e-10, atol=1e-12)
    assert (np.diag(squared_distances(1e6 * x)) == 0).all()


def test_mistakes():
    features, target = problem(6, 2)
    with pytest.raises(ValueError, match="not finite"):
        nested_svm(features * torch.inf, target, 0)
    for labels, found in (
        (target * 0, "150"),
        (torch.arange(150).clamp(max=1), "149, 1"),
        (torch.arange(18) % 2, "9, 9"),
        (target[:0], "none"),
    ):
        with pytest.raises(ValueError, match=f"10 folds with 5 in each need two classes .* got {found} of each class"):
            nested_svm(features[: len(labels)], labels, 0)


@pytest.mark.parametrize(("folds", "inner_folds", "least"), [(10, 5, 10), (3, 5, 8), (2, 5, 10), (2, 2, 4)])
def test_as_few_samples_as_the_folds_allow(folds, inner_folds, least):
    features = torch.randn(2 * least, 3, generator=torch.Generator().manual_seed(0))
    target = torch.arange(2 * least) % 2
    assert len(nested_svm(features, target, 0, folds, inner_folds)) == folds
    with pytest.raises(ValueError, match=f"at least {least} labelled samples each, got {least}, {least - 1} of"):
        nested_svm(features[:-1], target[:-1], 0, folds, inner_folds)
