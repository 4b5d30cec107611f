"""References of the block's exercises, which stand in no other module, against the library."""

import torch

from course_lib.bank.block import depth_mixtures_answers as depth_mixtures
from course_lib.transformer.over_depth import attend_over_depth


def test_each_reader_mixes_as_one_alone_would():
    outputs, queries = torch.randn(4, 2, 3, 8), torch.randn(4, 8)
    mixtures, weights = depth_mixtures.reference(outputs, queries)
    for last, query in enumerate(queries):
        wanted, wanted_weights = attend_over_depth(outputs[: last + 1], query)
        torch.testing.assert_close(mixtures[last], wanted)
        torch.testing.assert_close(weights[last, : last + 1], wanted_weights)
        assert not weights[last, last + 1 :].any()
