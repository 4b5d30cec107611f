"""Zeros of the right shape earn nothing, whatever they raise beside."""

from grader.checks.exercise import find
from grader.checks.grading import grade_source

NO_WEIGHTS = """
def cross_attention(x, memory, w_q, w_k, w_v, w_out, lengths=None):
    weights = torch.zeros(*x.shape[:2], memory.shape[1])
    return {out}, weights
"""
ZERO_PATCHES = """
def patchify(images, patch_size):
    B, C, H, W = images.shape
    if H % patch_size or W % patch_size:
        raise ValueError("no whole number of patches")
    return torch.zeros(B, H * W // patch_size**2, C * patch_size**2)
"""


def passed(identifier, source):
    return [row.name for row in grade_source(find(identifier), source, "1").rows if row.passed]


def test_to_fail_at_some_widths_makes_no_work_of_zeros():
    fails = NO_WEIGHTS.format(out="x @ w_q @ w_out * 0")
    assert "shapes" in str(grade_source(find("block.cross_attention"), fails, "1").transcript)
    assert not passed("block.cross_attention", fails)


def test_to_refuse_what_is_to_be_refused_is_work():
    assert passed("vit.patchify", ZERO_PATCHES) == ["refused"]


def test_a_function_whose_weights_are_zeros_has_not_hidden_its_padding():
    found = passed("block.cross_attention", NO_WEIGHTS.format(out="2 * x"))
    assert "padding" not in found


def test_a_stack_without_parts_has_dropped_none():
    source = "def residual_stack(x, *_):\n    return F.layer_norm(x, x.shape[-1:])"
    assert "dropout" not in passed("block.residual_stack", source)
