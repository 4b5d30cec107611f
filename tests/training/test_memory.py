import torch
from torch import nn

from course_lib.training import saved_bytes


def test_weights_do_not_count_and_shared_memory_counts_once() -> None:
    layer = nn.Linear(8, 8, bias=False)
    x = torch.ones(4, 8)
    assert saved_bytes(lambda: layer(x).sum()) == 4 * 8 * 4
    assert saved_bytes(lambda: (layer(x) + layer(x)).sum()) == 4 * 8 * 4
    assert saved_bytes(lambda: (layer(x) * 2).exp().sum()) == 2 * 4 * 8 * 4


def test_nothing_is_kept_without_a_gradient() -> None:
    layer = nn.Linear(8, 8)
    with torch.no_grad():
        assert saved_bytes(lambda: layer(torch.ones(4, 8)).sum()) == 0
