"""Tiny Shakespeare: a million characters of his plays, on which small language models are compared.

Karpathy (2015), char-rnn. The first 90 % are to train on and the rest to validate, as in nanoGPT.
"""

from course_lib.data import files

SONNET = """Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date:
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;
And every fair from fair sometime declines,
By chance or nature's changing course untrimm'd;
But thy eternal summer shall not fade
Nor lose possession of that fair thou owest;
Nor shall Death brag thou wander'st in his shade,
When in eternal lines to time thou growest:
So long as men can breathe or eyes can see,
So long lives this and this gives life to thee.
"""
"""Sonnet 18 (1609), which is in none of the plays."""

FILE = files.RemoteFile(
    "tinyshakespeare.txt",
    "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
    1_115_394,
    "sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
)


def load_shakespeare(download: bool = True, progress: bool = True) -> tuple[str, str]:
    """Load the text to train on and that to validate on, 1,003,854 and 111,540 characters."""
    text = files.get(FILE, download, progress).read_text(encoding="ascii")
    end = int(0.9 * len(text))
    return text[:end], text[end:]
