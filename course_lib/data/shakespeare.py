"""Tiny Shakespeare: a million characters of his plays, on which small language models are compared.

Karpathy (2015), char-rnn. The first 90 % are to train on and the rest to validate, as in nanoGPT.
"""

from course_lib.data import files

FILE = files.RemoteFile(
    "tinyshakespeare.txt",
    "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
    1_115_394,
    "sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
)


def load_shakespeare(download: bool = True, progress: bool = True) -> tuple[str, str]:
    """Load the text to train on and that to validate on, 1,003,854 and 111,540 characters.

    Raises:
        DataError: If the file is missing, or is not the published one.
    """
    text = files.get(FILE, download, progress).read_text(encoding="ascii")
    end = int(0.9 * len(text))
    return text[:end], text[end:]
