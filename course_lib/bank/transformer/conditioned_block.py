from course_lib.bank.prelude import Exercise, Tensor, Trial, math, torch


def attend(asks: Tensor, searched: Tensor, mask: Tensor | None = None) -> Tensor:
    """Attention without projections: asks (B, T, D), searched (B, S, D) -> (B, T, D).

    mask is boolean and broadcastable to (B, T, S), True = may attend.
    """
    scores = asks @ searched.mT / math.sqrt(asks.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(dim=-1) @ searched


exercise = Exercise(
    id="transformer.conditioned_block",
    points=6.5,
    minutes=20,
    difficulty=2,
    chapter="09_transformer.html#transformer-wiring",
    outcomes=("transformer.wiring",),
    example=lambda t: ("bart", t.randn(1, 3, 4), t.randn(1, 3, 4)),
    given=(attend,),
)


def both(t: Trial, T: int | None = None, S: int | None = None) -> tuple[Tensor, Tensor]:
    """What is being made, and what it is made from, of different lengths."""
    T, S = T or t.integer(3, 4), S or t.integer(5, 6)
    return t.randn(2, T, 4), t.randn(2, S, 4)


@exercise.prop(1, "GPT has no encoder. What could it do with a memory?")
def decoder_alone(t: Trial) -> None:
    """a decoder alone looks at its own past, whatever memory there is"""
    own, memory = both(t)
    t.same("gpt", own, memory)
    t.same("gpt", own, memory + 1, gate=1.0, note="another memory, and a gate")


@exercise.prop(1.5, "The recording is there as a whole before a word is written. Who asks?")
def encoder_decoders(t: Trial) -> None:
    """BART and Whisper look at their own past, then at all of the memory"""
    for name in ("bart", "whisper"):
        t.same(name, *both(t), note=name)
        t.same(name, *both(t, 5, 3), gate=1.0, note=f"{name}, more words than memory, and a gate")


@exercise.prop(1, "Is an image written from left to right?")
def pictures(t: Trial) -> None:
    """Stable Diffusion looks at its whole image, then at all of the caption"""
    t.same("stable-diffusion", *both(t))
    t.same("stable-diffusion", *both(t, 5, 2), gate=1.0, note="and a gate")


@exercise.prop(
    1, "At the start the gate is 0 and the language model speaks as it always did. tanh(0) = 0."
)
def gated(t: Trial) -> None:
    """Flamingo first looks at the image, through its gate, then at its own past"""
    t.same("flamingo", *both(t), note="gate at its default")
    for gate in (0.5, -1.5):
        t.same("flamingo", *both(t), gate=gate, note=f"gate {gate}")


@exercise.prop(1, "Image and words compete in one softmax. Whose places do you return?")
def one_stream(t: Trial) -> None:
    """LLaVA reads one sequence, the image in front"""
    t.same("llava", *both(t))
    t.same("llava", *both(t, 5, 2), gate=1.0, note="a gate means nothing here")


@exercise.prop(0.5, "Change the last word, and see which outputs change.")
def no_future(t: Trial) -> None:
    """whatever writes words never sees a later one"""
    own, memory = both(t, 4)
    later = torch.cat([own[:, :3], own[:, 3:] + 1], dim=1)
    for name in ("gpt", "bart", "whisper", "flamingo", "llava"):
        before = t.a_tensor(t.call(name, own, memory, 0.7), own.shape)
        after = t.a_tensor(t.call(name, later, memory, 0.7), own.shape)
        t.close(after[:, :3], before[:, :3], "the outputs before the changed word", note=name)
        t.expect(
            (after - before)[:, 3].abs().max() > 0.1, f"{name}: the changed word has no effect"
        )


@exercise.prop(0.5, "A ValueError says what came and what was expected.")
def refused(t: Trial) -> None:
    """an unknown name is refused, and nothing is changed in place"""
    own, memory = both(t, 4, 4)
    for name in ("bart", "flamingo", "llava"):
        t.unchanged(name, own, memory, 1.0)
    t.raises("bert", own, memory, why="architecture 'bert'")
