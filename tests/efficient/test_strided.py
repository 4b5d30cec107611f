"""The pattern of the Sparse Transformer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.efficient import strided_mask


@settings(max_examples=40, deadline=None)
@given(T=st.integers(1, 20), stride=st.integers(1, 9))
def test_the_mask_is_the_papers_set(T, stride):
    strided = strided_mask(T, stride)
    for i in range(T):
        near = set(range(max(0, i - stride), i + 1))
        column = {j for j in range(i + 1) if (i - j) % stride == 0}
        assert set(strided[i].nonzero().flatten().tolist()) == near | column


def test_two_steps_reach_everything_before_with_few_keys_each():
    T = 100
    visible = strided_mask(T, 10)
    assert (visible.int() @ visible.int() > 0).tril().sum() == T * (T + 1) // 2
    assert visible.sum(dim=1).max() <= 20


def test_a_stride_of_0_is_refused():
    with pytest.raises(ValueError, match="stride is 0"):
        strided_mask(6, 0)
