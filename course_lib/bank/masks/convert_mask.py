from course_lib.bank.prelude import Exercise, Tensor, Trial, math, torch

CONVENTIONS = ("keep", "blocked", "additive", "integers", "lengths")


exercise = Exercise(
    id="masks.convert_mask",
    points=6,
    minutes=25,
    difficulty=3,
    chapter="05_libraries.html#masks-conventions",
    outcomes=("masks.convert",),
    example=lambda t: (torch.tensor([[True, True, False]]), "keep", "integers", 3),
)


def _right_padded(t: Trial, B: int, S: int) -> Tensor:
    """A keep-mask with an empty and a full row, and more real tokens than padding."""
    lengths = torch.cat([torch.tensor([0, S, S - 1]), t.integers(S // 2 + 1, S, B - 3)])
    return torch.arange(S) < lengths[:, None]


@exercise.prop(0.5, "Write both tables down for a causal mask of two tokens.")
def booleans(t: Trial) -> None:
    """between the two boolean conventions, for masks of any shape"""
    keep = t.keep_mask(2, 1, 3, 5, keep=0.8)
    t.same(keep, "keep", "blocked", 5)
    t.same(~keep, "blocked", "keep", 5)


@exercise.prop(
    0.5, "A tokenizer hands out attention_mask = [1, 1, 1, 0]: how many tokens are real?"
)
def integers(t: Trial) -> None:
    """from and to integers, 1 = may attend"""
    keep = t.keep_mask(3, t.integer(4, 6), keep=0.8)
    t.same(keep, "keep", "integers", keep.shape[1], exact=True)
    t.same(keep.long(), "integers", "blocked", keep.shape[1])


@exercise.prop(1, "What is 0 times infinity? Print the result for one True and one False.")
def to_additive_mask(t: Trial) -> None:
    """to the additive convention: exactly 0 or -inf, never NaN"""
    keep = t.keep_mask(2, 1, 4, 4)
    t.same(keep, "keep", "additive", 4)
    t.same(~keep, "blocked", "additive", 4)


@exercise.prop(
    1, "Libraries block with -100, -10000, -1e9 or the smallest number there is: try each."
)
def from_additive_mask(t: Trial) -> None:
    """from the additive convention: -inf, and any finite number of -100 or less, is blocked"""
    keep = t.keep_mask(3, 6)
    for dtype, fill in (
        (torch.float32, -math.inf),
        (torch.float32, -1e9),
        (torch.float32, -100.0),
        (torch.float16, torch.finfo(torch.float16).min),
        (torch.float64, -1e4),
    ):
        additive = torch.zeros(3, 6, dtype=dtype).masked_fill(~keep, fill)
        t.same(additive, "additive", "keep", 6, note=f"blocked by {fill:g}")


@exercise.prop(
    1,
    "A sequence of length 3 has its last token at which index? And how wide is the mask of lengths"
    " 1 and 2, if `max_len` is 4?",
)
def lengths(t: Trial) -> None:
    """from and to lengths, (B,) for (B, S), empty and full sequences too; S is `max_len`"""
    S = t.integer(5, 7)
    keep = _right_padded(t, 5, S)
    t.same(keep, "keep", "lengths", S)
    t.same(keep.sum(-1), "lengths", "keep", S)
    t.same(t.integers(0, S - 2, 3), "lengths", "keep", S, note="no sequence of full length")
    t.unchanged(keep.sum(-1), "lengths", "keep", S)


@exercise.prop(0.5, "Convert your lengths back: is the mask still the one that came?")
def not_a_length(t: Trial) -> None:
    """what no length can say raises a ValueError"""
    S = t.integer(5, 7)
    keep = _right_padded(t, 4, S)
    t.same(keep, "keep", "lengths", S)
    t.raises(keep.flip(-1), "keep", "lengths", S, why="padding on the left, as lengths")
    hole = keep.clone()
    hole[1, 2] = False
    t.raises(hole, "keep", "lengths", S, why="a hole in the middle, as lengths")


@exercise.prop(
    0.5, "A number between -100 and 0 moves scores without blocking: what would become of it?"
)
def not_a_mask(t: Trial) -> None:
    """an additive tensor that holds a bias, too, raises a ValueError"""
    keep = t.keep_mask(2, 5)
    additive = torch.zeros(2, 5).masked_fill(~keep, -math.inf)
    t.same(additive, "additive", "keep", 5)
    slope = -0.5 * torch.arange(5.0).expand(2, 5)
    t.raises(additive + slope, "additive", "keep", 5, why="a mask with a bias added")
    almost = additive.masked_fill(~keep, -99.5)
    t.raises(almost, "additive", "keep", 5, why="a penalty of -99.5")


@exercise.prop(1, "Two steps are enough for every pair: into one convention, and out of it.")
def pairs(t: Trial) -> None:
    """every pair of conventions, and there and back again"""
    S = t.integer(4, 6)
    keep = _right_padded(t, 4, S)
    for source in CONVENTIONS:
        mask = t.want(keep, "keep", source, S)
        for target in CONVENTIONS:
            there = t.same(mask, source, target, S, note=f"{source} to {target}")
            back = t.call(there, target, source, S)
            t.close(back, mask, note=f"{source} to {target} and back")
