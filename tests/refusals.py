"""Tables of calls and the words that their errors must have."""

import pytest


def refusals(*cases, error=ValueError):
    """A test of each ``(call, words)``; the words are a regular expression."""

    @pytest.mark.parametrize("call, words", cases)
    def test(call, words):
        with pytest.raises(error, match=words):
            call()

    return test
