"""Exercise ``informer.video_attention``."""

import math

import torch
from torch import Tensor

from course_lib.attention import scaled_dot_product_attention
from course_lib.checks.exercise import Exercise
from course_lib.checks.fixtures import normal
from course_lib.checks.protocol import Fixture
from course_lib.checks.trial import Trial
from course_lib.masks import causal_mask


def dense_video_attention(video, causal=False):
    """Attend over time, then over space, under masks over all tokens of the video."""
    n_frames, n_places, d_model = video.shape
    token = torch.arange(n_frames * n_places)
    frame, place = token // n_places, token % n_places
    same_place = place[:, None] == place
    if causal:
        same_place &= frame[:, None] >= frame
    same_frame = frame[:, None] == frame
    x = video.reshape(-1, d_model)
    for mask in (same_place, same_frame):
        scores = (x @ x.T / d_model**0.5).masked_fill(~mask, -torch.inf)
        x = scores.softmax(dim=-1) @ x
    return x.view(n_frames, n_places, d_model)


def reference(video: Tensor, causal: bool = False) -> Tensor:
    """Time at each place, then space in each frame."""
    mask = causal_mask(video.shape[0]) if causal else None
    time = video.transpose(0, 1)
    seen = scaled_dot_product_attention(time, time, time, mask)[0].transpose(0, 1)
    return scaled_dot_product_attention(seen, seen, seen)[0]


exercise = Exercise(
    id="informer.video_attention",
    function="video_attention",
    reference=reference,
    points=5,
    minutes=25,
    difficulty=3,
    chapter="17_forecast.html#informer-video",
    outcomes=("informer.video",),
    severe={
        "space_first": "the second step reads what the first has made, so all outputs differ",
        "reshaped": "tokens attend to others than those of their place and frame",
        "side_by_side": "one step in place of two after each other",
        "unscaled": "all weights are sharper in both steps, so all outputs differ",
    },
    forbidden=("attention",),
    example=lambda t: (t.randn(4, 4, 6),),
)


@exercise.prop(
    "over time at each place, then over space in each frame",
    points=1.5,
    hint="With one frame the second step alone is left, with one place the first. Which is right?",
)
def values(t: Trial) -> None:
    frames = t.integer(3, 6)
    t.same(t.randn(frames, frames + t.integer(1, 3), 4), note="more places than frames")
    t.same(t.randn(5, 3, 6), note="more frames than places")


@exercise.prop(
    "causal: no frame sees a later one",
    points=1.5,
    hint="Change the last frame. Which frames of the result may change, and which must they not?",
)
def causal(t: Trial) -> None:
    video = t.randn(4, t.integer(3, 6), 4)
    out = t.same(video, True)
    changed = video.clone()
    changed[-1] = t.randn(*changed.shape[1:])
    t.close(t.call(changed, True)[:-1], out[:-1], "earlier frames, the last one changed")


@exercise.prop(
    "one frame, one place", points=0.5, hint="Attention over a single token returns that token."
)
def alone(t: Trial) -> None:
    for flag in (False, True):
        t.same(t.randn(1, t.integer(3, 5), 4), flag, note="one frame")
        t.same(t.randn(t.integer(3, 5), 1, 4), flag, note="one place")


@exercise.prop(
    "what is handed in is left as it was", points=0.5, hint="Write into a tensor of your own."
)
def no_side_effect(t: Trial) -> None:
    t.unchanged(t.randn(3, 4, 6), True)


@exercise.prop(
    "only scores of one place or of one frame are ever made",
    points=1,
    hint="Which axis has to be a batch in the first step, and which in the second?",
)
def cheap(t: Trial) -> None:
    frames, places, d_model = 96, 96, 4
    seed = t.integer(0, 10**6)
    shape = [frames, places, d_model]
    want = reference(normal(shape, seed), True)
    places_kept = t.slices((frames, 3), (places, 10))
    t.size_probe(
        Fixture("normal", {"shape": shape, "seed": seed, "dtype": "float32"}),
        True,
        want=[want[place] for place in places_kept],
        keep=places_kept,
        memory=60,  # all pairs: 320 MiB for each of scores and weights; good ways: under 12
        cpu=4,
        why="96 frames of 96 places, with a score for each of 85 million pairs",
    )


@exercise.mistake("How many pairs of tokens have a score in your code, and how many are used?")
def masked(video, causal=False):
    """What a mask hides costs nothing."""
    n_frames, n_places, d_model = video.shape
    frame = torch.arange(n_frames).repeat_interleave(n_places)
    place = torch.arange(n_places).repeat(n_frames)
    x = video.reshape(-1, d_model)
    time = place[:, None] == place
    if causal:
        time = time & (frame[:, None] >= frame)
    for mask in (time, frame[:, None] == frame):
        scores = torch.where(mask, x @ x.T / d_model**0.5, -math.inf)
        x = scores.softmax(-1) @ x
    return x.reshape(video.shape)


@exercise.mistake("The order of the two steps matters. Which one comes first in the given code?")
def space_first(video, causal=False):
    """The two steps may be exchanged."""
    scale = video.shape[-1] ** -0.5
    x = (scale * video @ video.mT).softmax(-1) @ video
    x = x.transpose(0, 1)
    scores = scale * x @ x.mT
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -math.inf)
    return (scores.softmax(-1) @ x).transpose(0, 1)


@exercise.mistake("Number the tokens of a small video. Are rows of your first step places?")
def reshaped(video, causal=False):
    """A reshape exchanges two axes."""
    scale = video.shape[-1] ** -0.5
    x = video.reshape(video.shape[1], video.shape[0], video.shape[2])
    scores = scale * x @ x.mT
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -math.inf)
    x = (scores.softmax(-1) @ x).reshape(video.shape)
    return (scale * x @ x.mT).softmax(-1) @ x


@exercise.mistake("What does the second step read: the video, or what the first one has made?")
def side_by_side(video, causal=False):
    """Both steps read the video, and the results are averaged."""
    scale = video.shape[-1] ** -0.5
    x = video.transpose(0, 1)
    scores = scale * x @ x.mT
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -math.inf)
    over_time = (scores.softmax(-1) @ x).transpose(0, 1)
    over_space = (scale * video @ video.mT).softmax(-1) @ video
    return (over_time + over_space) / 2


@exercise.mistake("Is there an earlier and a later place in a frame?")
def causal_in_space_too(video, causal=False):
    """A causal model has a causal mask in every step."""
    scale = video.shape[-1] ** -0.5
    for _ in range(2):
        x = video.transpose(0, 1)
        scores = scale * x @ x.mT
        if causal:
            scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -math.inf)
        video = (scores.softmax(-1) @ x).transpose(0, 1)
        video = video.transpose(0, 1)
    return video


@exercise.mistake("Change the last frame and look at the first. Then look at your triangle.")
def mask_upside_down(video, causal=False):
    """A causal mask is an upper triangle."""
    scale = video.shape[-1] ** -0.5
    x = video.transpose(0, 1)
    scores = scale * x @ x.mT
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).triu() == 0, -math.inf)
    x = (scores.softmax(-1) @ x).transpose(0, 1)
    return (scale * x @ x.mT).softmax(-1) @ x


@exercise.mistake(
    "Once every token has seen its frame, what has it seen of the other frames' future?"
)
def causal_in_space_alone(video, causal=False):
    """The mask belongs to the step that looks at whole frames."""
    scale = video.shape[-1] ** -0.5
    x = video.transpose(0, 1)
    x = ((scale * x @ x.mT).softmax(-1) @ x).transpose(0, 1)
    scores = scale * x @ x.mT
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -math.inf)
    return scores.softmax(-1) @ x


@exercise.mistake("By what are the scores of the given code divided?")
def unscaled(video, causal=False):
    """Tokens that ask each other need no scale."""
    x = video.transpose(0, 1)
    scores = x @ x.mT
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -math.inf)
    x = (scores.softmax(-1) @ x).transpose(0, 1)
    return (x @ x.mT).softmax(-1) @ x


@exercise.alternative
def named_axes(video, causal=False):
    """Writes both steps with einsum; prints to stderr."""
    import sys

    print("einsum", file=sys.stderr)
    root = math.sqrt(video.size(-1))
    scores = torch.einsum("fnd,gnd->nfg", video, video) / root
    if causal:
        later = torch.ones(len(video), len(video), dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    x = torch.einsum("nfg,gnd->fnd", scores.softmax(-1), video)
    weights = (torch.einsum("fnd,fmd->fnm", x, x) / root).softmax(-1)
    return torch.einsum("fnm,fmd->fnd", weights, x)


@exercise.alternative
def loops(video, causal=False):
    """Place by place and frame by frame, and earlier frames by slicing."""
    n_frames, n_places, d_model = video.shape
    x = torch.empty_like(video)
    for n in range(n_places):
        for f in range(n_frames):
            known = video[: f + 1, n] if causal else video[:, n]
            x[f, n] = (known @ video[f, n] / d_model**0.5).softmax(0) @ known
    return torch.stack([(frame @ frame.T / d_model**0.5).softmax(1) @ frame for frame in x])
