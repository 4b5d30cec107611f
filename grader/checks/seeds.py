"""From one grading seed to the seed of every sample."""

import hashlib
import hmac
import os
import secrets

ENVIRONMENT = "COURSE_SEED"


def fresh() -> str:
    """A new 128-bit seed, as 32 hexadecimal digits."""
    return secrets.token_hex(16)


def current() -> str:
    """The seed named by the environment variable ``COURSE_SEED``, else a fresh one."""
    return os.environ.get(ENVIRONMENT) or fresh()


def of_hand_in(secret: str, student: str, content: bytes) -> str:
    """The seed of one hand-in: HMAC-SHA256 of the student and of what was handed in.

    So the same hand-in meets the same samples everywhere, and no page tells of the next one's.
    """
    # The name has no such byte, so that no other pair has the same bytes.
    message = student.encode(errors="surrogateescape") + b"\0" + content
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()[:32]


def sample_seed(seed: str, exercise: str, part: str) -> int:
    """The seed of one property's samples, of no help in guessing that of another property."""
    digest = hmac.new(seed.encode(), f"{exercise}/{part}".encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:8]) >> 1
