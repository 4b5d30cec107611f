from course_lib.bank.cheaper.choose_blocks import attend, exercise, tokens
from course_lib.bank.prelude import F, Tensor, math, torch


@exercise.answer
def reference(q: Tensor, k: Tensor, v: Tensor, block: int, wanted: int) -> Tensor:
    """Attend to own and chosen blocks; q and k ``(..., T, Dh)``, v ``(..., T, Dv)``."""
    T, n = q.shape[-2], q.shape[-2] // block
    own = torch.arange(T) // block
    means = k[..., : n * block, :].unflatten(-2, (n, block)).mean(-2)
    scores = (q @ means.mT).masked_fill(torch.arange(n) >= own[:, None], -math.inf)
    # Later blocks may be among the best where there are few: the triangle hides them.
    picked = torch.zeros_like(scores, dtype=torch.bool)
    picked = picked.scatter(-1, scores.topk(min(wanted, n)).indices, True)
    return attend(q, k, v, (tokens(picked, block) | (own[:, None] == own)).tril())


@exercise.mistake("A later key is very large. Which queries change their choice?")
def chooses_among_all(q, k, v, block, wanted):
    """All whole blocks may be chosen, because later keys are hidden afterwards."""
    T, n = q.shape[-2], q.shape[-2] // block
    own = torch.arange(T) // block
    scores = q @ k[..., : n * block, :].unflatten(-2, (n, block)).mean(-2).mT
    picked = torch.zeros_like(scores, dtype=torch.bool)
    picked = picked.scatter(-1, scores.topk(min(wanted, n)).indices, True)
    return attend(q, k, v, (tokens(picked, block) | (own[:, None] == own)).tril())


@exercise.mistake("Blocks of three, none chosen: how many keys does the third query read?")
def own_block_competes(q, k, v, block, wanted):
    """The own block has to win a place; otherwise a query reads only its own key of it."""
    T, n = q.shape[-2], q.shape[-2] // block
    own = torch.arange(T) // block
    scores = q @ k[..., : n * block, :].unflatten(-2, (n, block)).mean(-2).mT
    scores = scores.masked_fill(torch.arange(n) > own[:, None], -math.inf)
    picked = torch.zeros_like(scores, dtype=torch.bool)
    picked = picked.scatter(-1, scores.topk(min(wanted, n)).indices, True)
    return attend(q, k, v, tokens(picked, block).tril() | torch.eye(T, dtype=torch.bool))


@exercise.mistake("Count how often each key occurs in the sum of the exponentials.")
def own_block_twice(q, k, v, block, wanted):
    """The own block is read, and may be chosen once more among the others."""
    T, n = q.shape[-2], q.shape[-2] // block
    own = torch.arange(T) // block
    scores = q @ k[..., : n * block, :].unflatten(-2, (n, block)).mean(-2).mT
    scores = scores.masked_fill(torch.arange(n) > own[:, None], -math.inf)
    picked = torch.zeros_like(scores, dtype=torch.bool)
    picked = picked.scatter(-1, scores.topk(min(wanted, n)).indices, True)
    times = (tokens(picked, block).to(q.dtype) + (own[:, None] == own).to(q.dtype)).tril()
    weights = times * (q @ k.mT / math.sqrt(q.shape[-1])).exp()
    return weights / weights.sum(-1, keepdim=True) @ v


@exercise.mistake("Eight tokens in blocks of three: what does the last one read?")
def unfinished_block_lost(q, k, v, block, wanted):
    """Only whole blocks count; of the rest a token reads only itself."""
    T, n = q.shape[-2], q.shape[-2] // block
    own = torch.arange(T) // block
    scores = q @ k[..., : n * block, :].unflatten(-2, (n, block)).mean(-2).mT
    scores = scores.masked_fill(torch.arange(n) >= own[:, None], -math.inf)
    picked = torch.zeros_like(scores, dtype=torch.bool)
    picked = picked.scatter(-1, scores.topk(min(wanted, n)).indices, True)
    whole = (own[:, None] == own) & (own < n) | torch.eye(T, dtype=torch.bool)
    return attend(q, k, v, (tokens(picked, block) | whole).tril())


@exercise.mistake("Two queries of one block look for different things. Do they read the same?")
def one_choice_for_a_block(q, k, v, block, wanted):
    """The first query of a block chooses for all queries of the block."""
    T, n = q.shape[-2], q.shape[-2] // block
    own = torch.arange(T) // block
    first = q[..., own * block, :]
    scores = first @ k[..., : n * block, :].unflatten(-2, (n, block)).mean(-2).mT
    scores = scores.masked_fill(torch.arange(n) >= own[:, None], -math.inf)
    picked = torch.zeros_like(scores, dtype=torch.bool)
    picked = picked.scatter(-1, scores.topk(min(wanted, n)).indices, True)
    return attend(q, k, v, (tokens(picked, block) | (own[:, None] == own)).tril())


@exercise.mistake("Which vector stands for all keys of a block?")
def as_good_as_its_best_key(q, k, v, block, wanted):
    """A block is as good as its best key, so all scores are computed after all."""
    T, n = q.shape[-2], q.shape[-2] // block
    own = torch.arange(T) // block
    scores = (q @ k.mT)[..., : n * block].unflatten(-1, (n, block)).amax(-1)
    scores = scores.masked_fill(torch.arange(n) >= own[:, None], -math.inf)
    picked = torch.zeros_like(scores, dtype=torch.bool)
    picked = picked.scatter(-1, scores.topk(min(wanted, n)).indices, True)
    return attend(q, k, v, (tokens(picked, block) | (own[:, None] == own)).tril())


@exercise.mistake("The third token of a block: may it read the fourth?")
def reads_its_block_to_the_end(q, k, v, block, wanted):
    """The own block is read as a whole."""
    T, n = q.shape[-2], q.shape[-2] // block
    own = torch.arange(T) // block
    scores = q @ k[..., : n * block, :].unflatten(-2, (n, block)).mean(-2).mT
    scores = scores.masked_fill(torch.arange(n) >= own[:, None], -math.inf)
    picked = torch.zeros_like(scores, dtype=torch.bool)
    picked = picked.scatter(-1, scores.topk(min(wanted, n)).indices, True)
    earlier = tokens(picked, block) & (own < own[:, None])
    return attend(q, k, v, earlier | (own[:, None] == own))


@exercise.alternative
def query_by_query(q, k, v, block, wanted):
    """A loop over queries and a list of keys for each; prints to stderr."""
    import sys

    print("one query at a time", file=sys.stderr)
    rows = []
    for Q, K, V in zip(*(x.reshape(-1, *x.shape[-2:]) for x in (q, k, v)), strict=True):
        for i, query in enumerate(Q):
            start = i // block * block
            means = [(K[j : j + block].mean(0) @ query).item() for j in range(0, start, block)]
            places = list(range(start, i + 1))
            for j in sorted(range(len(means)), key=lambda j: -means[j])[:wanted]:
                places += range(j * block, (j + 1) * block)
            rows.append((K[places] @ query / K.shape[-1] ** 0.5).softmax(0) @ V[places])
    return torch.stack(rows).reshape(v.shape)


@exercise.alternative
def by_the_mean_score(q, k, v, block, wanted):
    """The score of a mean key is the mean of the scores, and ranks count the better blocks."""
    T, n = q.shape[-2], q.shape[-2] // block
    own = torch.arange(T) // block
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    means = scores[..., : n * block].unflatten(-1, (n, block)).sum(-1)
    means = means.masked_fill(torch.arange(n) >= own[:, None], -math.inf)
    rank = (means.unsqueeze(-1) < means.unsqueeze(-2)).sum(-1)
    good = ((rank < wanted) & (means > -math.inf)).repeat_interleave(block, -1)
    mask = F.pad(good, (0, T - n * block)) | (
        (own[:, None] == own) & torch.ones(T, T).bool().tril()
    )
    return scores.masked_fill(~mask, -math.inf).softmax(-1) @ v
