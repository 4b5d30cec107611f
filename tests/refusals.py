"""Tables of calls and the words that their errors must have."""

import pytest


def refusals(*cases, error=ValueError, by=None):
    """A test of each ``(call, words)``; the words are a regular expression.

    ``by`` is called with the settings that stand in place of a call.
    """

    @pytest.mark.parametrize("call, words", cases)
    def test(call, words):
        with pytest.raises(error, match=words):
            by(**call) if by else call()

    return test
