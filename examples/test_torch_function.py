import torch

from losslesscheck.testing import assert_lossless


def verify(target, draft, tokens, generator):
    p = target[:, :-1].gather(2, tokens[..., None])[..., 0]
    q = draft.gather(2, tokens[..., None])[..., 0]
    coins = torch.rand(tokens.shape, generator=generator)
    accepted = (coins * q < p).cumprod(1).sum(1)
    rest = target - torch.nn.functional.pad(draft, (0, 0, 0, 1))  # the bonus token has no draft
    weights = rest.relu()[torch.arange(len(tokens)), accepted]
    last = torch.multinomial(weights, 1, generator=generator)
    emitted = torch.nn.functional.pad(tokens, (0, 1)).scatter(1, accepted[:, None], last)
    return emitted, accepted


def test_lossless():
    assert_lossless(verify, rule="chain", array="torch", min_tv=0.01)
