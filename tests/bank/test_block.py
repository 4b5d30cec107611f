"""References of the block's exercises, which stand in no other module, against the library."""

import pytest
import torch

from course_lib.bank.block import depth_mixtures_answers as depth_mixtures
from course_lib.transformer.over_depth import attend_over_depth
from grader.checks.exercise import find
from grader.checks.grading import grade_source


def test_each_reader_mixes_as_one_alone_would():
    outputs, queries = torch.randn(4, 2, 3, 8), torch.randn(4, 8)
    mixtures, weights = depth_mixtures.reference(outputs, queries)
    for last, query in enumerate(queries):
        wanted, wanted_weights = attend_over_depth(outputs[: last + 1], query)
        torch.testing.assert_close(mixtures[last], wanted)
        torch.testing.assert_close(weights[last, : last + 1], wanted_weights)
        assert not weights[last, last + 1 :].any()


OF_MODULES = """
from torch import nn

def encoder_block(x, state, n_heads, norm="pre", mask=None):
    d_ff, d = state["feed_forward.in_proj.weight"].shape
    parts = {"attention_norm": nn.LayerNorm(d), "feed_forward_norm": nn.LayerNorm(d)}
    parts |= {"feed_forward.in_proj": nn.Linear(d, d_ff),
              "feed_forward.out_proj": nn.Linear(d_ff, d)}
    for name, part in parts.items():
        part.load_state_dict({key: state[f"{name}.{key}"] for key in ("weight", "bias")})
    before, between, wide, narrow = parts.values()
    forward = lambda y: narrow(F.gelu(wide(y)))
    if norm == "pre":
        x = x + multi_head(before(x), state, n_heads, mask)
        return x + forward(between(x))
    x = before(x + multi_head(x, state, n_heads, mask))
    return between(x + forward(x))
"""


@pytest.mark.parametrize("seed", range(5))
def test_a_block_of_modules_has_all_its_points(seed):
    """Loaded, they have single precision: no text asks for another."""
    exercise = find("block.encoder_block")
    report = grade_source(exercise, OF_MODULES, str(seed))
    assert report.full, [(row.name, row.why) for row in report.rows if not row.passed]
