from course_lib.bank.prelude import math, torch
from course_lib.bank.transformer.conditioned_block import attend, exercise
from course_lib.transformer.wiring import conditioned_block

reference = exercise.answer(conditioned_block)


@exercise.mistake("LLaVA has no such layer. Where are the image's tokens?")
def llava_cross_attends(architecture, own, memory, gate=0.0):
    """LLaVA's text decoder attends across to the image."""
    T = own.shape[1]
    past = torch.ones(T, T, dtype=torch.bool).tril()
    if architecture not in ("gpt", "bart", "whisper", "stable-diffusion", "flamingo", "llava"):
        raise ValueError(architecture)
    if architecture == "flamingo":
        own = own + math.tanh(gate) * attend(own, memory)
    own = own + attend(own, own, None if architecture == "stable-diffusion" else past)
    if architecture in ("bart", "whisper", "stable-diffusion", "llava"):
        own = own + attend(own, memory)
    return own


@exercise.mistake("Give three words and five frames. Whose shape must come out, and who asks?")
def memory_asks(architecture, own, memory, gate=0.0):
    """What is known asks what is not known yet."""
    T, S = own.shape[1], memory.shape[1]
    past = torch.ones(S + T, S + T, dtype=torch.bool).tril()
    if architecture not in ("gpt", "bart", "whisper", "stable-diffusion", "flamingo", "llava"):
        raise ValueError(architecture)
    if architecture == "llava":
        stream = torch.cat([memory, own], 1)
        return (stream + attend(stream, stream, past))[:, S:]
    if architecture == "flamingo":
        own = own + math.tanh(gate) * attend(memory, own)
    own = own + attend(own, own, None if architecture == "stable-diffusion" else past[:T, :T])
    if architecture in ("bart", "whisper", "stable-diffusion"):
        own = own + attend(memory, own)
    return own


@exercise.mistake("In what order does a diffusion model make the places of its image?")
def pictures_in_reading_order(architecture, own, memory, gate=0.0):
    """Whatever is generated is generated from left to right."""
    T, S = own.shape[1], memory.shape[1]
    past = torch.ones(S + T, S + T, dtype=torch.bool).tril()
    if architecture not in ("gpt", "bart", "whisper", "stable-diffusion", "flamingo", "llava"):
        raise ValueError(architecture)
    if architecture == "llava":
        stream = torch.cat([memory, own], 1)
        return (stream + attend(stream, stream, past))[:, S:]
    if architecture == "flamingo":
        own = own + math.tanh(gate) * attend(own, memory)
    own = own + attend(own, own, past[:T, :T])
    if architecture in ("bart", "whisper", "stable-diffusion"):
        own = own + attend(own, memory)
    return own


@exercise.mistake("When the first word is written, how much of the source is there already?")
def memory_in_step(architecture, own, memory, gate=0.0):
    """A decoder must not look ahead in its memory either."""
    T, S = own.shape[1], memory.shape[1]
    past = torch.ones(S + T, S + T, dtype=torch.bool).tril()
    if architecture not in ("gpt", "bart", "whisper", "stable-diffusion", "flamingo", "llava"):
        raise ValueError(architecture)
    if architecture == "llava":
        stream = torch.cat([memory, own], 1)
        return (stream + attend(stream, stream, past))[:, S:]
    if architecture == "flamingo":
        own = own + math.tanh(gate) * attend(own, memory, past[:T, :S])
    own = own + attend(own, own, None if architecture == "stable-diffusion" else past[:T, :T])
    if architecture in ("bart", "whisper"):
        own = own + attend(own, memory, past[:T, :S])
    if architecture == "stable-diffusion":
        own = own + attend(own, memory)
    return own


@exercise.mistake("At gate 0 your block differs from GPT's. Should it?")
def gate_half_open(architecture, own, memory, gate=0.0):
    """A gate is a sigmoid, between 0 and 1."""
    T, S = own.shape[1], memory.shape[1]
    past = torch.ones(S + T, S + T, dtype=torch.bool).tril()
    if architecture not in ("gpt", "bart", "whisper", "stable-diffusion", "flamingo", "llava"):
        raise ValueError(architecture)
    if architecture == "llava":
        stream = torch.cat([memory, own], 1)
        return (stream + attend(stream, stream, past))[:, S:]
    if architecture == "flamingo":
        own = own + attend(own, memory) / (1 + math.exp(-gate))
    own = own + attend(own, own, None if architecture == "stable-diffusion" else past[:T, :T])
    if architecture in ("bart", "whisper", "stable-diffusion"):
        own = own + attend(own, memory)
    return own


@exercise.mistake("Which comes first in Flamingo: the image, or the language model's own layer?")
def flamingo_like_bart(architecture, own, memory, gate=0.0):
    """Cross-attention always comes after self-attention."""
    T, S = own.shape[1], memory.shape[1]
    past = torch.ones(S + T, S + T, dtype=torch.bool).tril()
    if architecture not in ("gpt", "bart", "whisper", "stable-diffusion", "flamingo", "llava"):
        raise ValueError(architecture)
    if architecture == "llava":
        stream = torch.cat([memory, own], 1)
        return (stream + attend(stream, stream, past))[:, S:]
    own = own + attend(own, own, None if architecture == "stable-diffusion" else past[:T, :T])
    if architecture in ("bart", "whisper", "stable-diffusion"):
        own = own + attend(own, memory)
    if architecture == "flamingo":
        own = own + math.tanh(gate) * attend(own, memory)
    return own


@exercise.mistake("Your LLaVA sees words that are not written yet. Where does its mask begin?")
def one_stream_unmasked(architecture, own, memory, gate=0.0):
    """Where an image is part of the sequence, everything sees everything."""
    T, S = own.shape[1], memory.shape[1]
    past = torch.ones(T, T, dtype=torch.bool).tril()
    if architecture not in ("gpt", "bart", "whisper", "stable-diffusion", "flamingo", "llava"):
        raise ValueError(architecture)
    if architecture == "llava":
        stream = torch.cat([memory, own], 1)
        return (stream + attend(stream, stream))[:, S:]
    if architecture == "flamingo":
        own = own + math.tanh(gate) * attend(own, memory)
    own = own + attend(own, own, None if architecture == "stable-diffusion" else past)
    if architecture in ("bart", "whisper", "stable-diffusion"):
        own = own + attend(own, memory)
    return own


@exercise.alternative
def table_of_steps(architecture, own, memory, gate=0.0):
    """Looks the steps of each architecture up in a table; warns."""
    import warnings

    steps = {
        "gpt": ("past",),
        "bart": ("past", "memory"),
        "whisper": ("past", "memory"),
        "stable-diffusion": ("all", "memory"),
        "flamingo": ("gate", "past"),
        "llava": ("stream",),
    }
    if architecture not in steps:
        raise ValueError(f"unknown architecture {architecture}")
    warnings.warn("a table", stacklevel=1)
    for step in steps[architecture]:
        length = own.shape[1]
        if step == "stream":
            own = torch.cat((memory, own), dim=1)
        now = torch.arange(own.shape[1])
        mask = None if step == "all" else now[None, :] <= now[:, None]
        if step == "memory":
            own = own + attend(own, memory)
        elif step == "gate":
            own = own + torch.tanh(torch.tensor(gate)) * attend(own, memory)
        else:
            own = own + attend(own, own, mask)
        own = own[:, -length:]
    return own


@exercise.alternative
def always_one_stream(architecture, own, memory, gate=0.0):
    """Puts both into one sequence every time and lets masks decide who sees what."""
    if architecture not in {"gpt", "bart", "whisper", "stable-diffusion", "flamingo", "llava"}:
        raise ValueError("unknown")
    S, T = memory.shape[1], own.shape[1]
    rows, columns = torch.arange(T)[:, None], torch.arange(S + T)[None, :] - S
    words, picture = (columns >= 0) & (columns <= rows), (columns >= 0).expand(T, -1)

    def look(x, mask):
        return attend(x, torch.cat([memory, x], dim=1), mask)

    other = (columns < 0).expand(T, -1)
    if architecture == "flamingo":
        own = own + math.tanh(gate) * look(own, other)
    elif architecture == "llava":
        return own + look(own, other | words)
    own = own + look(own, picture if architecture == "stable-diffusion" else words)
    return own if architecture in ("gpt", "flamingo") else own + look(own, other)
