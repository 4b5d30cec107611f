from course_lib.attention import scaled_dot_product_attention
from course_lib.bank.informer.video_attention import exercise
from course_lib.bank.prelude import Tensor, math, torch
from course_lib.masks import causal_mask


@exercise.answer
def reference(video: Tensor, causal: bool = False) -> Tensor:
    """Time at each place, then space in each frame."""
    mask = causal_mask(video.shape[0]) if causal else None
    time = video.transpose(0, 1)
    seen = scaled_dot_product_attention(time, time, time, mask)[0].transpose(0, 1)
    return scaled_dot_product_attention(seen, seen, seen)[0]


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
