"""Two modalities: towers, fusions, videos, queries."""

from course_tests.parity.peers.multimodal import fusion, query, towers, video

__all__ = ["MECHANISMS"]

MECHANISMS = (
    *towers.MECHANISMS,
    *fusion.MECHANISMS,
    *video.MECHANISMS,
    *query.MECHANISMS,
)
