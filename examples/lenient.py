"""A rule of one's own: Leviathan et al. 2023, Sec. A.5, accept more drafts by a lenience factor."""


def lenient(m, p, q, accept, reject, *, lenience=0.8):
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / (q[x] * lenience))):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))
