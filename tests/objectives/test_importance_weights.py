"""The gradient equals the importance-weighted form of the paper's Algorithm 1."""

import pytest
import torch
import torch.nn.functional as F

from lightning_renyicl.objectives import MLCPC, RMLCPC, functional

GAMMAS = [1.0, 1.1, 2.0]
SKEWS = [0.0, 1 / 4096, 0.5]


@pytest.mark.parametrize("alpha", SKEWS)
@pytest.mark.parametrize("gamma", GAMMAS)
def test_gradient_of_scores(draw, weighted_loss, alpha, gamma):
    p, n = (scores.requires_grad_() for scores in draw((8, 3), 7))
    actual = torch.autograd.grad(-functional.rmlcpc(p, n, alpha, gamma), (p, n))
    expected = torch.autograd.grad(weighted_loss(p, n, alpha, gamma), (p, n))
    torch.testing.assert_close(actual, expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("momentum", [False, True])
@pytest.mark.parametrize("views", [2, 5])
@pytest.mark.parametrize("gamma", GAMMAS)
def test_gradient_of_embeddings(weighted_loss, gamma, views, momentum):
    alpha, temperature = 1 / 64, 0.3
    generator = torch.Generator().manual_seed(1)
    embeddings = torch.randn(views + 2, 6, 4, generator=generator, dtype=torch.float64)
    online = [e.clone().requires_grad_() for e in embeddings[:views]]
    target = list(embeddings[views:]) if momentum else online[:2]
    objective = MLCPC(alpha, temperature=temperature) if gamma == 1 else RMLCPC(alpha, gamma, temperature=temperature)
    actual = torch.autograd.grad(objective(online, target)[0], online)

    loss = 0.0
    off_diagonal = ~torch.eye(6, dtype=torch.bool)
    for t, key in enumerate(target):
        positives, negatives = [], []
        for v, query in enumerate(online):
            if v != t:
                logits = F.cosine_similarity(query[:, None], key[None], dim=-1) / temperature
                positives.append(logits.diagonal())
                negatives.append(logits[off_diagonal].view(6, 5))
        loss = loss + weighted_loss(torch.stack(positives), torch.stack(negatives), alpha, gamma)
    torch.testing.assert_close(actual, torch.autograd.grad(loss, online), rtol=1e-6, atol=1e-12)
