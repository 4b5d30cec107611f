import pytest
import torch
import torch.nn.functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.transformer.over_depth import attend_over_depth


def test_it_is_attention_with_the_layers_as_keys():
    outputs, query = torch.randn(5, 2, 3, 8), torch.randn(8)
    mixture, weights = attend_over_depth(outputs, query)
    layers = outputs.permute(1, 2, 0, 3)  # (B, T, L, D)
    keys = F.rms_norm(layers, (8,))
    asks = query.expand(2, 3, 1, 8)
    wanted, wanted_weights = scaled_dot_product_attention(asks, keys, layers, scale=1.0)
    torch.testing.assert_close(mixture, wanted[:, :, 0])
    torch.testing.assert_close(weights.permute(1, 2, 0), wanted_weights[:, :, 0])


def test_large_outputs_are_not_looked_for_more_and_a_query_of_zeros_takes_the_mean():
    outputs, query = torch.randn(4, 2, 3, 8), torch.randn(8)
    larger = outputs * torch.tensor([100.0, 1, 1, 1])[:, None, None, None]
    torch.testing.assert_close(
        attend_over_depth(larger, query)[1], attend_over_depth(outputs, query)[1], atol=1e-4, rtol=0
    )
    torch.testing.assert_close(attend_over_depth(outputs, 0 * query)[0], outputs.mean(0))


@pytest.mark.parametrize("shapes", [((0, 1, 2, 4), (4,)), ((3, 2, 4), (4,)), ((3, 1, 2, 4), (5,))])
def test_other_shapes_are_refused(shapes):
    outputs, query = map(torch.zeros, shapes)
    with pytest.raises(ValueError, match="wanted"):
        attend_over_depth(outputs, query)
