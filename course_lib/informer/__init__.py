"""The Informer: long forecasts by attention that most queries do without."""

from course_lib.informer.baselines import LinearForecast, repeat_last, seasonal_naive
from course_lib.informer.config import InformerConfig
from course_lib.informer.embedding import (
    CalendarEmbedding,
    InformerEmbedding,
    TokenEmbedding,
    calendar_fields,
)
from course_lib.informer.judging import (
    first_in_prefix,
    max_mean_measure,
    sampled_scores,
    sparsity_measure,
)
from course_lib.informer.layers import (
    Distilling,
    InformerAttention,
    InformerDecoderLayer,
    InformerEncoderLayer,
)
from course_lib.informer.model import Informer, informer
from course_lib.informer.places import LayerPositions, PositionVectors
from course_lib.informer.prob_sparse import ProbSparse, SparseRules
from course_lib.informer.rivals import ChannelForecast, Level, Levelled, PatchForecast
from course_lib.informer.sampling import budget, sample_keys
from course_lib.informer.trained import Forecasters, kept_weights, load_forecasters
