from course_lib.bank.prelude import Exercise, Trial, torch
from grader.checks.protocol import Fixture


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


exercise = Exercise(
    id="informer.video_attention",
    points=5,
    minutes=25,
    difficulty=3,
    chapter="15_stages.html#informer-video",
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
    1.5, "With one frame the second step alone is left, with one place the first. Which is right?"
)
def values(t: Trial) -> None:
    """over time at each place, then over space in each frame"""
    frames = t.integer(3, 6)
    t.same(t.randn(frames, frames + t.integer(1, 3), 4), note="more places than frames")
    t.same(t.randn(5, 3, 6), note="more frames than places")


@exercise.prop(
    1.5, "Change the last frame. Which frames of the result may change, and which must they not?"
)
def causal(t: Trial) -> None:
    """causal: no frame sees a later one"""
    video = t.randn(4, t.integer(3, 6), 4)
    out = t.same(video, True)
    changed = video.clone()
    changed[-1] = t.randn(*changed.shape[1:])
    t.close(t.call(changed, True)[:-1], out[:-1], "earlier frames, the last one changed")
    t.same(1e4 * video, True, note="very large scores")


@exercise.prop(0.5, "Attention over a single token returns that token.")
def alone(t: Trial) -> None:
    """one frame, one place"""
    for flag in (False, True):
        t.same(t.randn(1, t.integer(3, 5), 4), flag, note="one frame")
        t.same(t.randn(t.integer(3, 5), 1, 4), flag, note="one place")


@exercise.prop(0.5, "Write into a tensor of your own.")
def no_side_effect(t: Trial) -> None:
    """what is handed in is left as it was"""
    t.unchanged(t.randn(3, 4, 6), True)


@exercise.prop(1, "Which axis has to be a batch in the first step, and which in the second?")
def cheap(t: Trial) -> None:
    """only scores of one place or of one frame are ever made"""
    frames, places, d_model = 96, 96, 4
    seed = t.integer(0, 10**6)
    shape = [frames, places, d_model]
    t.size_probe(
        Fixture("normal", {"shape": shape, "seed": seed, "dtype": "float32"}),
        True,
        keep=t.slices((frames, 3), (places, 10)),
        memory=60,  # all pairs: 320 MiB for each of scores and weights; good ways: under 12
        cpu=4,
        why="96 frames of 96 places, with a score for each of 85 million pairs",
    )
