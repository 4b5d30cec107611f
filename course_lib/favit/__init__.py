"""FaViT: attention factorised into head groups that see a map at different grain."""

from course_lib.favit.attention import FactorisedAttention, split_channels
from course_lib.favit.fusion import (
    CrossWindow,
    Operator,
    average_neighbouring_channels,
    informative_keys,
)
from course_lib.favit.model import PRESETS, FaViT, FaViTBlock, FaViTConfig, favit
from course_lib.favit.sampling import (
    dilated_windows,
    dilation_rate,
    pad_by_reflection,
    pooled_windows,
    reflected,
    unfold_windows,
)
from course_lib.favit.survey import (
    GroupCost,
    factorised_cost,
    group_survey,
    tokens_read,
    window_cost,
)
