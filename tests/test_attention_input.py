"""What does not fit is refused in the same words by every function that attends."""

from functools import partial

import pytest
import torch

from course_lib.attention import attention_weights, fused_attention, scaled_dot_product_attention
from course_lib.efficient import (
    RandomFeatureAttention,
    band_weights,
    banded_attention,
    block_sparse_attention,
    fused_banded_attention,
    fused_block_sparse_attention,
    linformer_attention,
    online_attention,
    performer_attention,
    performer_linear_attention,
)
from course_lib.informer import ProbSparse

B, H, T, DH = 2, 2, 8, 4
DIRECTIONS = torch.randn(6, DH, generator=torch.Generator().manual_seed(0))
MIX = torch.randn(3, T, generator=torch.Generator().manual_seed(1))
NO_BLOCKS = torch.zeros(1, 2, 0, dtype=torch.long)

# Those that take a mask of all pairs and a bias, and those that take a mask of keys alone.
PAIRS = {
    "scaled_dot_product_attention": scaled_dot_product_attention,
    "attention_weights": lambda q, k, v, **kw: attention_weights(q, k, **kw),
    "fused_attention": fused_attention,
    "online_attention": online_attention,
    "ProbSparse": ProbSparse(),
    "ProbSparse, causal": ProbSparse(causal=True),
    "ProbSparse, explicit": ProbSparse(fused=False),
}
KEYS = {
    "banded_attention": partial(banded_attention, radius=1),
    "band_weights": lambda q, k, v, **kw: band_weights(q, k, 1, **kw),
    "fused_banded_attention": partial(fused_banded_attention, radius=1),
    "block_sparse_attention": lambda *x, **kw: block_sparse_attention(*x, NO_BLOCKS, **kw),
    "fused_block_sparse_attention": lambda *x, **kw: fused_block_sparse_attention(
        *x, NO_BLOCKS, **kw
    ),
    "linformer_attention": lambda *x, **kw: linformer_attention(*x, MIX, MIX, **kw),
    "performer_attention": lambda *x, **kw: performer_attention(*x, DIRECTIONS, **kw),
    "performer_linear_attention": partial(performer_linear_attention, directions=DIRECTIONS),
    "performer_linear_attention, causal": partial(
        performer_linear_attention, directions=DIRECTIONS, causal=True
    ),
    "RandomFeatureAttention": RandomFeatureAttention(DH, 6),
}
FUNCTIONS = PAIRS | KEYS

# What happens to q, k and v, and a word that the error must hold.
WRONG = {
    "all integers": (lambda q, k, v: (q.long(), k.long(), v.long()), "torch.int64"),
    "all boolean": (lambda q, k, v: (q > 0, k > 0, v > 0), "torch.bool"),
    "all complex": (lambda q, k, v: (q + 0j, k + 0j, v + 0j), "torch.complex64"),
    "q double": (lambda q, k, v: (q.double(), k, v), "torch.float64"),
    "k double": (lambda q, k, v: (q, k.double(), v), "torch.float64"),
    "v double": (lambda q, k, v: (q, k, v.double()), "torch.float64"),
    "q half": (lambda q, k, v: (q.half(), k, v), "torch.float16"),
    "k integers": (lambda q, k, v: (q, k.long(), v), "torch.int64"),
    "v integers": (lambda q, k, v: (q, k, v.long()), "torch.int64"),
    "v boolean": (lambda q, k, v: (q, k, v > 0), "torch.bool"),
    "q elsewhere": (lambda q, k, v: (q.to("meta"), k, v), "meta"),
    "k elsewhere": (lambda q, k, v: (q, k.to("meta"), v), "meta"),
    "v elsewhere": (lambda q, k, v: (q, k, v.to("meta")), "meta"),
    "no channels": (lambda q, k, v: (q[..., :0], k[..., :0], v), r"\(2, 2, 8, 0\)"),
    "other width of q": (lambda q, k, v: (q[..., :3], k, v), r"\(2, 2, 8, 3\)"),
    "other width of k": (lambda q, k, v: (q, k[..., :3], v), r"\(2, 2, 8, 3\)"),
    "other length of v": (lambda q, k, v: (q, k, v[:, :, :7]), r"\(2, 2, 7, 4\)"),
    "other batch of k": (lambda q, k, v: (q, k[:1], v[:1]), r"\(1, 2, 8, 4\)"),
    "other batch of v": (lambda q, k, v: (q, k, v[:1]), r"\(1, 2, 8, 4\)"),
    "other heads of k": (
        lambda q, k, v: (q, *(x.repeat(1, 2, 1, 1) for x in (k, v))),
        r"\(2, 4, 8, 4\)",
    ),
    "q a number": (lambda q, k, v: (q[0, 0, 0, 0], k, v), r"\(\)"),
    "q a vector": (lambda q, k, v: (q[0, 0, 0], k, v), r"\(4,\)"),
    "k a vector": (lambda q, k, v: (q, k[0, 0, 0], v), r"\(4,\)"),
    "v a vector": (lambda q, k, v: (q, k, v[0, 0, 0]), r"\(4,\)"),
    "all vectors": (lambda q, k, v: (q[0, 0, 0], k[0, 0, 0], v[0, 0, 0]), r"\(4,\)"),
    "q without batch": (lambda q, k, v: (q[0], k, v), r"\(2, 8, 4\)"),
}

MASKS = {
    "of numbers": (torch.ones(T), "torch.float32"),
    "of integers": (torch.ones(T, dtype=torch.long), "torch.int64"),
    "elsewhere": (torch.ones(T, dtype=torch.bool, device="meta"), "meta"),
    "too short": (torch.ones(T - 1, dtype=torch.bool), r"\(7,\)"),
    "without heads": (torch.ones(B, 1, T, dtype=torch.bool), r"\(2, 1, 8\)"),
}
BIASES = {
    "boolean": (torch.ones(T, T, dtype=torch.bool), "torch.bool"),
    "integers": (torch.ones(T, T, dtype=torch.long), "torch.int64"),
    "complex": (torch.ones(T, T, dtype=torch.complex64), "torch.complex64"),
    "elsewhere": (torch.ones(T, T, device="meta"), "meta"),
    "too short": (torch.ones(T, T - 1), r"\(8, 7\), which does not broadcast to scores"),
    "without heads": (torch.ones(B, T, T), r"\(2, 8, 8\), wanted 2 or 4 .*insert an axis"),
}


def qkv():
    return torch.randn(3, B, H, T, DH, generator=torch.Generator().manual_seed(2)).unbind()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("case", WRONG)
def test_q_k_and_v_that_cannot_meet_are_refused(name, case):
    change, text = WRONG[case]
    attend = FUNCTIONS[name]
    attend(*qkv())
    if "weights" in name and (case.startswith("v ") or "of v" in case):
        return  # what has no values cannot refuse them
    with pytest.raises(ValueError, match=text) as error:
        attend(*change(*qkv()))
    assert "wanted" in str(error.value)


@pytest.mark.parametrize("case", MASKS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_masks_that_do_not_fit_are_refused(name, case):
    attend, keyword = FUNCTIONS[name], "mask" if name in PAIRS else "key_mask"
    mask, text = MASKS[case]
    attend(*qkv(), **{keyword: torch.ones(T, dtype=torch.bool)})
    with pytest.raises(ValueError, match=text):
        attend(*qkv(), **{keyword: mask})


@pytest.mark.parametrize("case", BIASES)
@pytest.mark.parametrize("name", PAIRS)
def test_biases_that_do_not_fit_are_refused(name, case):
    attend = FUNCTIONS[name]
    bias, text = BIASES[case]
    attend(*qkv(), bias=torch.zeros(T, T))
    with pytest.raises(ValueError, match=text):
        attend(*qkv(), bias=bias)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_under_autocast_the_precision_may_differ(name):
    attend = FUNCTIONS[name]
    q, k, v = qkv()
    with torch.autocast("cpu", torch.bfloat16):
        for given in ((q, k, v), (q.bfloat16(), k, v), (q, k, v.bfloat16())):
            out = attend(*given)
            out = out[0] if isinstance(out, tuple) else out
            assert out.isfinite().all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_empty_batch_has_an_empty_result(name):
    attend = FUNCTIONS[name]
    x = torch.randn(3, 0, H, T, DH, requires_grad=True)
    out = attend(*x)
    out = out[0] if isinstance(out, tuple) else out
    assert out.shape[:3] == (0, H, T)
    out.sum().backward()
    assert x.grad.shape == x.shape


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_tokens_give_nothing_or_are_refused(name):
    attend = FUNCTIONS[name]
    refusal = None
    try:
        out = attend(*torch.randn(3, B, H, 0, DH))
    except ValueError as error:
        refusal = str(error)
    if refusal is not None:
        assert "(2, 2, 0, 4)" in refusal or "length 0" in refusal
    else:
        out = out[0] if isinstance(out, tuple) else out
        assert out.shape[:3] == (B, H, 0)
