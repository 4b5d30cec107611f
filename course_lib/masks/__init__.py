"""Masks: who may attend to whom.

One convention holds everywhere in the course: a mask is a boolean tensor, ``True`` means *may
attend*, it broadcasts to the scores ``(B, H, T, S)``, and masks are combined with ``&``.

A mask chooses between numbers, so padding has to hold some. What is NaN stays within its own
example on every path; whether a mask keeps it from the other queries there is not promised, for
0 times NaN is NaN, and a fused kernel adds the mask where the formula replaces scores.
"""

from course_lib.masks.building import (
    block_mask,
    causal_mask,
    combine_masks,
    dilated_window_mask,
    longformer_mask,
    padding_mask,
    sliding_window_mask,
)
from course_lib.masks.conventions import (
    from_additive,
    from_blocked,
    from_integers,
    to_additive,
    to_blocked,
    to_integers,
    to_lengths,
)
from course_lib.masks.softmax import check_bias, check_broadcastable, check_mask, masked_softmax
