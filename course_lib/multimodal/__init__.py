"""Words and images in one model: towers apart, one sequence for both, and what lies between."""

from course_lib.multimodal.contrastive import (
    Temperature,
    contrastive_loss,
    pair_similarities,
    retrieval_accuracy,
)
from course_lib.multimodal.fusion import (
    GatedCrossAttention,
    preceding_image_mask,
    search_scores,
)
from course_lib.multimodal.interleaved import (
    InterleavedConfig,
    InterleavedDecoder,
    Segment,
    interleaved_mask,
    interleaved_positions,
    token_count,
)
from course_lib.multimodal.pairs import (
    CAPTIONS,
    KEPT_BACK,
    CaptionedShapes,
    all_captions,
    close_ups,
    train_towers,
)
from course_lib.multimodal.towers import (
    DualEncoder,
    DualEncoderConfig,
    ImageTower,
    TextTower,
)
from course_lib.multimodal.unified import UnifiedConfig, UnifiedEncoder, unified_positions
from course_lib.multimodal.video import factorised_mask, video_positions
