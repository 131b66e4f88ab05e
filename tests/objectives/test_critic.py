"""The cosine critic: its scores, its two targets, its logs and its errors."""

import math

import pytest
import torch
import torch.nn.functional as F

from lightning_renyicl.objectives import MLCPC, RMLCPC, CosineCritic, functional

TAU = 0.3


def embed(views, samples=5, width=4, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(samples, width, generator=generator, dtype=dtype).requires_grad_() for _ in range(views)]


def loop_scores(online, target, temperature):
    """Cosine similarities entry by entry."""

    def score(x, y):
        dot = sum(a * b for a, b in zip(x, y, strict=True))
        return dot / math.hypot(*x) / math.hypot(*y) / temperature

    views, keys = [view.tolist() for view in online], target.tolist()
    samples = range(len(keys))
    p = [[score(view[i], keys[i]) for view in views] for i in samples]
    n = [[[score(view[i], keys[j]) for j in samples if j != i] for view in views] for i in samples]
    return torch.tensor(p, dtype=torch.float64), torch.tensor(n, dtype=torch.float64)


@pytest.mark.parametrize("views", [1, 4])
@pytest.mark.parametrize("samples", [2, 5])
def test_scores_against_a_loop(views, samples):
    *online, target = embed(views + 1, samples)
    p, n = MLCPC(temperature=TAU).scores(online, target)
    assert p.shape == (samples, views)
    assert n.shape == (samples, views, samples - 1)
    torch.testing.assert_close((p, n), loop_scores(online, target, TAU), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("views", [2, 5], ids=["two views", "2 global + 3 local"])
@pytest.mark.parametrize("momentum", [False, True])
def test_loss_sums_over_both_targets(representative, momentum, views):
    online = embed(views)
    target = [t.detach() for t in embed(2, seed=1)] if momentum else online[:2]
    loss, logs = representative.critic(temperature=TAU)(online, target)
    pairs = [loop_scores(online[1:], target[0], TAU), loop_scores([online[0], *online[2:]], target[1], TAU)]
    bounds = torch.stack([representative(p, n) for p, n in pairs])
    torch.testing.assert_close(loss, -bounds.sum())
    torch.testing.assert_close(logs["bound"], bounds.mean())
    torch.testing.assert_close(logs["positive_score"], torch.stack([p.mean() for p, _ in pairs]).mean())
    torch.testing.assert_close(logs["negative_score"], torch.stack([n.mean() for _, n in pairs]).mean())
    if momentum or views > 2 or representative.row.normalises_per_anchor:  # else one direction stands for both
        estimates = torch.stack([functional.mutual_information(p, n) for p, n in pairs])
        torch.testing.assert_close(logs["mutual_information"], estimates.mean())


@pytest.mark.parametrize("views", [2, 3])
def test_without_symmetry_the_first_view_meets_the_second(trained, views):
    online = embed(views)
    objective = trained.objective(temperature=TAU, symmetric=False)
    loss, logs = objective(online, online[:2])
    expected = objective.bound(*loop_scores([online[0], *online[2:]], online[1], TAU), None)
    torch.testing.assert_close(loss, -expected)
    torch.testing.assert_close(logs["bound"], expected)


@pytest.fixture
def scored(monkeypatch):
    """The targets that objectives score from here on."""
    targets, scores = [], CosineCritic.scores

    def noted(self, online, target):
        targets.append(target)
        return scores(self, online, target)

    monkeypatch.setattr(CosineCritic, "scores", noted)
    return targets


def test_identical_terms_are_computed_once(representative, scored):
    objective, online = representative.critic(), embed(2)
    once, logs = objective(online, online)
    terms = 2 if objective.normalises_per_anchor else 1
    assert len(scored) == terms
    # Copies are the same numbers, but other tensors.
    twice, both = objective(online, [view.clone() for view in online])
    assert len(scored) == terms + 2
    torch.testing.assert_close(once, twice)
    torch.testing.assert_close(logs["bound"], both["bound"])
    torch.testing.assert_close(torch.autograd.grad(once, online), torch.autograd.grad(twice, online))


@pytest.mark.parametrize(("views", "momentum"), [(2, True), (3, False)])
def test_different_terms_are_all_computed(trained, views, momentum, scored):
    online = embed(views)
    trained.objective()(online, embed(2, seed=1) if momentum else online[:2])
    assert len(scored) == 2


def test_bound_does_not_depend_on_the_number_of_views(trained):
    view = embed(1)[0]
    values = [trained.objective()([view] * views, [view.detach()] * 2)[1]["bound"] for views in (2, 3, 8)]
    torch.testing.assert_close(values[1:], values[:1] * 2)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_embeddings_that_are_not_finite_are_not_hidden(value):
    online = list(embed(2, dtype=torch.float32))
    online[0] = online[0].detach().index_fill(0, torch.tensor([1]), value)
    assert RMLCPC()(online, online)[0].isnan()


def test_zero_embeddings_have_finite_loss_and_no_gradient(trained):
    online = [view.detach().clone() for view in embed(2, dtype=torch.float32)]
    online[0][1] = 0
    online[1].zero_()
    online = [view.requires_grad_() for view in online]
    loss, logs = trained.objective()(online, online)
    assert loss.isfinite()
    gradients = torch.autograd.grad(loss, online)
    assert all(g.isfinite().all() for g in gradients)
    assert not gradients[0][1].any()
    assert not gradients[1].any()
    assert logs["positive_score"] == 0


@pytest.mark.parametrize("momentum", [False, True])
def test_logs_are_detached_scalars(trained, momentum):
    online = embed(3)
    _, logs = trained.objective()(online, embed(2, seed=1) if momentum else online[:2])
    assert set(logs) == {"bound", "mutual_information", "positive_score", "negative_score"}
    assert all(value.shape == () and not value.requires_grad for value in logs.values())


@pytest.mark.parametrize("momentum", [False, True])
@pytest.mark.parametrize("symmetric", [True, False])
def test_negatives_of_the_own_view(representative, momentum, symmetric):
    online = embed(2)
    target = [t.detach() for t in embed(2, seed=1)] if momentum else online
    loss, logs = representative.critic(temperature=TAU, same_view=True, symmetric=symmetric)(online, target)
    bounds = []
    for t in (1, 0) if symmetric else (1,):
        p, n = loop_scores([online[1 - t]], target[t], TAU)
        _, own = loop_scores([online[1 - t]], target[1 - t], TAU)
        bounds.append(representative(p, torch.cat([n, own], -1)))
    torch.testing.assert_close(loss, -sum(bounds))
    torch.testing.assert_close(logs["bound"], torch.stack(bounds).mean())
    # what is known of the other view doesn't change
    without = representative.critic(temperature=TAU, symmetric=symmetric)(online, [t.clone() for t in target])[1]
    for name in ("mutual_information", "positive_score", "negative_score"):
        torch.testing.assert_close(logs[name], without[name])


def test_local_views_have_no_negatives_of_their_own(trained):
    with pytest.raises(ValueError, match="same_view true is for two views, got 3"):
        trained.objective(same_view=True)(embed(3), embed(2))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast(trained, dtype):
    inputs, layer = torch.randn(8, 6, generator=torch.Generator().manual_seed(0)), torch.nn.Linear(6, 5)
    with torch.no_grad():
        layer.weight.copy_(torch.randn(5, 6, generator=torch.Generator().manual_seed(1)))
    views = [inputs, inputs + 0.3]
    full, _ = trained.objective(temperature=0.2)(*[[layer(x) for x in views]] * 2)
    with torch.autocast("cpu", dtype=dtype):
        online = [layer(x) for x in views]
        assert online[0].dtype == dtype
        loss, logs = trained.objective(temperature=0.2)(online, online)
    assert loss.dtype == torch.float32
    assert all(value.dtype == torch.float32 for value in logs.values())
    # What half-precision embeddings lose they lose before the critic.
    exact, _ = trained.objective(temperature=0.2)(*[[view.float() for view in online]] * 2)
    torch.testing.assert_close(loss, exact, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(loss, full, rtol=0.05, atol=0.05)
    assert all(g.isfinite().all() for g in torch.autograd.grad(loss, layer.parameters()))


@pytest.mark.parametrize("samples", [0, 1])
def test_fewer_than_two_samples(trained, samples):
    online = embed(2, samples)
    with pytest.raises(ValueError, match=f"at least 2 samples, got {samples}"):
        trained.objective()(online, online)


@pytest.mark.parametrize(("online", "target"), [(1, 1), (1, 2), (2, 1), (2, 3), (3, 3), (0, 2)])
def test_wrong_numbers_of_views(online, target):
    with pytest.raises(ValueError, match=f"exactly 2 target views, got {online}, {target}"):
        MLCPC()(embed(online), embed(target))


@pytest.mark.parametrize("temperature", [0.0, -0.1, math.inf, math.nan])
def test_temperature_out_of_range(trained, temperature):
    with pytest.raises(ValueError, match="temperature must be a finite number above 0, got"):
        trained.objective(temperature=temperature)


@pytest.mark.parametrize("alpha", [-1e-9, 1.5, math.nan])
def test_alpha_out_of_range(skewed, alpha):
    with pytest.raises(ValueError, match=r"alpha must be in \[0, 1\], got"):
        skewed.objective(alpha=alpha)


@pytest.mark.parametrize("gamma", [0.0, -2.0, math.inf, math.nan])
def test_gamma_out_of_range(of_order, gamma):
    with pytest.raises(ValueError, match="gamma must be a finite number above 0, got"):
        of_order.objective(gamma=gamma)


def test_defaults(trained):
    objective = trained.objective()
    for name, value in {**trained.defaults, "temperature": 0.5, "symmetric": True}.items():
        assert getattr(objective, name) == value
    assert trained.defaults.keys() == {name for name in ("alpha", "gamma") if hasattr(objective, name)}


def test_a_critic_without_a_bound():
    with pytest.raises(NotImplementedError):
        CosineCritic(0.5, True)(embed(2), embed(2))


def test_scores_do_not_depend_on_the_length_of_embeddings():
    online = embed(2)
    longer = [view * F.softplus(torch.arange(5.0, dtype=torch.float64))[:, None] for view in online]
    torch.testing.assert_close(RMLCPC()(longer, longer)[0], RMLCPC()(online, online)[0])
