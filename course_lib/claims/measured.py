"""Claims that an experiment decides: what its rule says of the records that ship with the book."""

from course_lib.claims.finding import Finding


def bottleneck_costs_accuracy() -> Finding:
    """Exact translations of short and of long sentences, with and without attention."""
    keys = ("long-sentences", "attention", "bottleneck")
    return Finding.of_rule(*(("seq2seq-bottleneck", key) for key in keys))


def rows_pack_better() -> Finding:
    """What zlib leaves of photographs row after row, and in the order of other scans."""
    others = ("column", "hilbert", "zigzag", "spiral")
    return Finding.of_rule(*(("scan-orders", f"raster/{other}") for other in others))


def causal_models_lose_a_third() -> Finding:
    """Next words guessed by a model that reads forwards, with positions and without."""
    return Finding.of_rule(("no-positions", "collapse"))
