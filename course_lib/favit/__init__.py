"""FaViT: attention factorised into head groups that see a map at different grain."""

from course_lib.favit.attention import FactorisedAttention, split_channels
from course_lib.favit.fusion import (
    CrossWindow,
    Operator,
    average_neighbouring_channels,
    informative_keys,
)
from course_lib.favit.model import (
    FaViT,
    FaViTBlock,
    FaViTConfig,
    favit_b0,
    favit_b1,
    favit_b2,
    favit_b3,
)
from course_lib.favit.sampling import (
    dilated_windows,
    dilation_rate,
    pad_by_reflection,
    pooled_windows,
    reflected,
    unfold_windows,
)

__all__ = [
    "CrossWindow",
    "FaViT",
    "FaViTBlock",
    "FaViTConfig",
    "FactorisedAttention",
    "Operator",
    "average_neighbouring_channels",
    "dilated_windows",
    "dilation_rate",
    "favit_b0",
    "favit_b1",
    "favit_b2",
    "favit_b3",
    "informative_keys",
    "pad_by_reflection",
    "pooled_windows",
    "reflected",
    "split_channels",
    "unfold_windows",
]
