"""Reading attention: maps, numbers, kinds of map, probes, and whether any of it matters."""

from course_lib.attention_maps.archetypes import (
    ARCHETYPES,
    Archetype,
    archetype,
    archetype_scores,
    synthetic_map,
)
from course_lib.attention_maps.faithfulness import (
    curve_area,
    deletion_curve,
    gradient_importance,
    random_importance,
)
from course_lib.attention_maps.flow import (
    effective_receptive_field,
    layers_to_reach_all,
    reachability,
)
from course_lib.attention_maps.head_ablation import pair_excess, silencing_curve, spare_one_by_one
from course_lib.attention_maps.inside import (
    logit_lens,
    residual_stream,
    restored_share,
    silenced,
)
from course_lib.attention_maps.maps import (
    attention_distance,
    attention_maps,
    attention_rollout,
    grid_distances,
)
from course_lib.attention_maps.metrics import (
    block_score,
    column_score,
    diagonality,
    entropy,
    max_weight,
    mean_relative_position,
    monotonicity,
    offset_score,
    received,
    relation_baseline,
    relation_score,
    stripe_score,
    top_mass,
    uniform_heads,
)
from course_lib.attention_maps.probes import (
    LinearProbe,
    ProbeResult,
    control_labels,
    probe_selectivity,
)
from course_lib.attention_maps.roles import head_roles
