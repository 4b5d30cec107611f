"""Two modalities: towers, fusions, videos, queries, pages."""

from course_tests.parity.peers.multimodal import fusion, layout, query, towers, video

__all__ = ["MECHANISMS"]

MECHANISMS = (
    *towers.MECHANISMS,
    *fusion.MECHANISMS,
    *video.MECHANISMS,
    *query.MECHANISMS,
    *layout.MECHANISMS,
)
