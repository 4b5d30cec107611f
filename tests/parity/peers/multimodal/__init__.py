"""Two modalities: towers and fusions."""

from course_tests.parity.peers.multimodal import fusion, towers

__all__ = ["MECHANISMS"]

MECHANISMS = (
    *towers.MECHANISMS,
    *fusion.MECHANISMS,
)
