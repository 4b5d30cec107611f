"""Scores taken apart: what token and position each contribute to who attends to whom.

``decomposition`` splits the scores of tokens with added positions into their four terms.
"""

from course_lib.positions.terms.decomposition import (
    TERMS,
    FourTermAttention,
    check_terms,
    four_terms,
    join_terms,
    term_scale,
)
