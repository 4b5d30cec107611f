"""A block in both orders, its sub-layers and norms with numbers, and a mixture of experts."""

import torch
from torch.nn import functional as F

from course_lib.drawings import Page, Part, Sketch, drawing
from course_lib.drawings.rows import said
from course_lib.layers import FeedForward, layer_norm

# A token whose mean, standard deviation and root mean square are all whole numbers.
TOKEN = torch.tensor([9.0, 3.0, 3.0, 1.0])
MEAN = TOKEN.mean()
CENTRED = TOKEN - MEAN
VARIANCE = CENTRED.square().mean()
SQUARES = TOKEN.square().mean()
NORMED = layer_norm(TOKEN, eps=0.0)
SCALED = TOKEN / SQUARES.sqrt()
# The output of some part, whatever it has read.
OUTPUT = torch.tensor([0.0, 0.0, -2.0, 2.0])
ADDED = TOKEN + OUTPUT
AFTER = layer_norm(ADDED, eps=0.0)

PARTS = (("attention", "between tokens"), ("feed-forward", "each token alone"))
WORDS = ("dog", "bites", "man")
BITES = 1
X = torch.tensor([[1.0, 0.0], [2.0, -1.0], [0.0, 2.0]])
W_1 = torch.tensor([[1.0, -1.0, 0.0, 2.0], [0.0, 1.0, 1.0, -1.0]])
W_2 = torch.tensor([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, -1.0]])
HIDDEN = X @ W_1
OPEN = F.relu(HIDDEN)


def _of_library() -> torch.Tensor:
    """Output of the library's sub-layer for the three tokens with these matrices."""
    part = FeedForward(2, 4, bias=False).requires_grad_(False)
    part.in_proj.weight.copy_(W_1.T)
    part.out_proj.weight.copy_(W_2.T)
    out: torch.Tensor = part(X)
    return out


OUT = _of_library()


@drawing(
    """One block in two orders, side by side, read from below. In both, a thick line, the residual
    stream, carries the tokens of shape T by D upwards. Two thin branches leave it, one through
    attention, one through the feed-forward sub-layer, and come back to it at a plus sign. In
    post-norm a norm is on the thick line after each plus sign. In pre-norm a norm is at the
    beginning of each branch, and nothing but plus signs is on the thick line."""
)
def block_in_two_orders(s: Sketch) -> None:
    p = Page(s)
    panels = []
    for order in ("post-norm", "pre-norm"):
        tokens = p.named(p.text("tokens", kind="strong"), "", "(T, D)", at="below")
        end = p.point(26)
        rows: list[tuple[Part | None, Part | None]] = [(tokens, None)]
        for lines in PARTS:
            box, plus, fork = p.layer(*lines), p.sign("+"), p.point()
            norm = p.layer("norm", role="state")
            p.link(box, plus, bend="y")
            if order == "pre-norm":
                rows = [(plus, None), (None, box), (None, norm), (fork, None), *rows]
                p.link(fork, norm, bend="x")
                p.link(norm, box)
            else:
                rows = [(norm, None), (plus, None), (None, box), (fork, None), *rows]
                p.link(fork, box, bend="x")
        p.link(tokens, end, stream=True, label="to the next block", share=0.95)
        panels.append((order, p.grid((end, None), *rows, gap=(p.of(30, 8), 12), turn=False)))
    p.done(p.panels(*panels, below=False))


@drawing(
    f"""One token of four numbers, {said(TOKEN, 0)}, normalised in two ways. LayerNorm subtracts the
    mean {MEAN:.0f}, which leaves {said(CENTRED, 0)}, and divides by the root of the variance
    {VARIANCE:.0f}, which is {VARIANCE.sqrt():.0f}. The result is {said(NORMED)}. RMSNorm subtracts
    nothing. It divides by the root of the mean square {SQUARES:.0f}, which is {SQUARES.sqrt():.0f},
    and the result is {said(SCALED)}.""",
    numbers=lambda: [NORMED, SCALED, CENTRED, float(MEAN)],
)
def norms_by_hand(s: Sketch) -> None:
    p = Page(s)
    x = p.cells(TOKEN, "state", name="token *x*", shape="")
    minus = p.named(p.step(f"− mean {MEAN:.0f}"), "LayerNorm")
    part = p.cells(CENTRED, "state")
    roots, outs = [], []
    for name, squares, mean, result in (
        ("variance", CENTRED.square(), VARIANCE, NORMED),
        ("mean square", TOKEN.square(), SQUARES, SCALED),
    ):
        said = " + ".join(f"{n:.0f}" for n in squares)
        roots.append(p.step(f"÷ √{mean:.0f} = {mean.sqrt():.0f}"))
        outs.append(p.cells(result, "state", thick=True))
        p.named(outs[-1], name, f"({said}) ÷ {TOKEN.numel()} = {mean:.0f}", at="below")
        p.link(roots[-1], outs[-1])
    p.link(x, minus, part, roots[0])
    p.link(x, p.named(roots[1], "RMSNorm"), at=0.1)
    rows = [minus, part, roots[0], outs[0]], [None, None, roots[1], outs[1]]
    p.done(x, p.grid(*rows, gap=(p.of(26, 22), 26)))


@drawing(
    f"""One sub-layer around the token {said(TOKEN, 0)}, in two orders. In pre-norm the token goes
    on along the thick line as it is. A copy of it is normalised to {said(NORMED)}, the sub-layer
    reads this, and its output {said(OUTPUT, 0)} is added: {said(ADDED, 0)}. In
    post-norm the sub-layer reads the token itself. Its output is added, and the sum
    {said(ADDED, 0)} is normalised on the thick line to {said(AFTER)}.""",
    numbers=lambda: [NORMED, AFTER, ADDED],
)
def part_by_hand(s: Sketch) -> None:
    p = Page(s)
    panels = []
    for order in ("pre-norm", "post-norm"):
        pre = order == "pre-norm"
        x, output = p.cells(TOKEN, "state"), p.cells(OUTPUT, "state")
        fork, layer, plus = p.point(), p.layer("f"), p.sign("+", 10)
        norm, total = p.layer("norm", role="state"), p.cells(ADDED, "state", thick=pre)
        branch, then = [layer, output], [plus, total]
        if pre:
            branch = [norm, p.cells(NORMED, "state"), *branch]
        else:
            then += [norm, p.cells(AFTER, "state", thick=True)]
        p.link(fork, *branch)
        p.link(output, plus)
        p.link(x, total, *then[3:], stream=True)
        empty = [None] * len(branch)
        rows = (x, fork, *empty, *then), (None, None, *branch, *([None] * len(then)))
        panels.append((order, p.grid(*rows, gap=(12, 14))))
    p.done(p.panels(*panels, below=True))


@drawing(
    f"""The feed-forward sub-layer on the three tokens dog, bites and man, each a row of two
    numbers. The matrix W1 makes four hidden units of each row, ReLU sets the negative ones to
    0, and the matrix W2 makes two numbers of each row again. The rows never meet. The row of bites
    is {said(X[BITES], 0)}, then {said(HIDDEN[BITES], 0)}, then {said(OPEN[BITES], 0)}, and
    then {said(OUT[BITES], 0)}.""",
    numbers=lambda: [OUT, HIDDEN],
)
def feed_forward_per_token(s: Sketch) -> None:
    p = Page(s)
    x = p.rows(X, "state", words=WORDS, name="tokens *x*")
    first = p.layer("*W*_{1}", "(2, 4)", beside=x)
    hidden = p.rows(HIDDEN, "state", name="hidden")
    pill = p.step("ReLU", beside=x)
    closed = (OPEN == 0).nonzero().tolist()
    words = WORDS if s.narrow else ()
    kept = p.rows(OPEN, "state", words=words, name="after ReLU", hatched=closed)
    second = p.layer("*W*_{2}", "(4, 2)", beside=x)
    out = p.rows(OUT, "state", thick=True, name="output")
    p.each(x, first, hidden)
    p.each(hidden, pill, bend="late")
    p.each(pill, kept, bend="early")
    p.each(kept, second, out)
    p.done(p.row(x, first, hidden, gap=20), pill, p.row(kept, second, out, gap=20))


# A token and the outputs of two sub-layers that are at right angles, each of mean 0 and variance 1.
START = torch.tensor([1.0, 1.0, -1.0, -1.0])
OUTPUTS = torch.tensor([[1.0, -1.0, 1.0, -1.0], [1.0, -1.0, -1.0, 1.0]])
SUMS = (START + OUTPUTS.cumsum(0)).unbind()
_first = layer_norm(START + OUTPUTS[0], eps=0.0)
NORMED_SUMS = (_first, layer_norm(_first + OUTPUTS[1], eps=0.0))


@drawing(
    f"""One token, {said(START, 0)}, goes through two sub-layers, in two orders. In both, the first
    adds {said(OUTPUTS[0], 0)} and the second {said(OUTPUTS[1], 0)}. In pre-norm the token becomes
    {said(SUMS[0], 0)} with variance 2 and then {said(SUMS[1], 0)} with variance 3. In post-norm a
    norm on the thick line divides after each plus sign. The token becomes {said(NORMED_SUMS[0])}
    and then {said(NORMED_SUMS[1])}, and its variance stays 1.""",
    numbers=lambda: [SUMS[0], SUMS[1], NORMED_SUMS[1]],
)
def stream_by_hand(s: Sketch) -> None:
    p = Page(s)
    panels = []
    for order, tokens in (("pre-norm", SUMS), ("post-norm", NORMED_SUMS)):

        def shown(token: torch.Tensor, *, last: bool = False) -> Part:
            said = f"variance {token.var(correction=0):.0f}"
            box = p.cells(token, "state", thick=last)
            return p.named(box, "", said, at="below right", free=s.narrow)

        before = shown(START)
        rows: list[tuple[Part, Part | None]] = [(before, None)]
        for i, token in enumerate(tokens):
            plus, norm = p.sign("+", 10), p.layer("norm", role="state")
            output = p.named(
                p.cells(OUTPUTS[i], "state"), "", f"sub-layer {i + 1}", at="right below"
            )
            after = shown(token, last=i == len(tokens) - 1)
            rows += [(plus, p.loose(output)), (norm, None), (after, None)]
            if order == "pre-norm":
                rows.remove((norm, None))
            p.link(output, plus)
            p.link(before, after, stream=True)
            before = after
        panels.append(
            (order, p.grid(*zip(*rows, strict=True), gap=(26 if order == "pre-norm" else 12, 16)))
        )
    p.done(p.panels(*panels, below=True))


# Scores of a router for one token, and what the experts make of the token.
SCORES = torch.tensor([2.0, 0.0, 1.0, -1.0])
EXPERT_OUTPUTS = torch.tensor([[4.0, 0.0], [3.0, 3.0], [0.0, 4.0], [1.0, 1.0]])
BEST, CHOSEN = SCORES.topk(2)
WEIGHTS = BEST.softmax(-1)
MIXED = WEIGHTS @ EXPERT_OUTPUTS[CHOSEN]


@drawing(
    f"""A token goes to a router, which gives four experts the scores {said(SCORES, 0)}. The two
    experts with the largest scores, 1 and 3, are used, with the weights {said(WEIGHTS, 2)}. They
    return {said(EXPERT_OUTPUTS[0], 0)}, and {said(EXPERT_OUTPUTS[2], 0)}. The weighted sum of these
    outputs is {said(MIXED, 2)}. Experts 2 and 4 are not used: they compute
    nothing for this token.""",
    numbers=lambda: [SCORES, WEIGHTS, MIXED],
)
def route_to_experts(s: Sketch) -> None:
    p = Page(s)
    token, router = p.cells([["token *x*"]], "state", w=64), p.layer("router")
    add = p.sign("+")
    out = p.cells([MIXED.tolist()], "state", w=44)
    p.link(token, router)
    columns = []
    for expert, score in enumerate(SCORES.tolist()):
        shown = p.cells([[f"score {score:.0f}".replace("-", "−")]], "weight", w=66)
        layer = p.layer(f"expert {expert + 1}")
        p.link(router, shown, bend="yy")
        used = (CHOSEN == expert).nonzero().flatten().tolist()
        share = (
            p.step(f"× {WEIGHTS[used[0]]:.2f}") if used else p.text("not used", kind="small quiet")
        )
        if used:
            p.link(shown, layer, share)
            p.link(share, add, bend="yy")
        columns.append([shown, layer, share])
    p.link(add, out)
    experts = p.grid(*zip(*columns, strict=True), gap=(12, 22), turn=False)
    p.done(p.column(token, router, experts, add, out, gap=24))
