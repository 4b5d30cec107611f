"""Exercises of assignment 0, the rehearsal."""

SECTIONS = {
    "shapes": "Shapes",
    "broadcasting": "Broadcasting",
    "logsumexp": "Softmax and logsumexp",
    "autograd": "Autograd",
    "loop": "One training loop",
    "check": "Reading a failed check",
}


def see(section: str, question: str) -> str:
    """A hint that ends with the section of chapter 0 that explains it.

    Args:
        section: A key of :data:`SECTIONS`; the section's anchor ends with it.
        question: The hint itself.

    Raises:
        KeyError: There is no such section.

    Example:
        >>> see("shapes", "Which axis is summed?")
        'Which axis is summed? Chapter 0 explains this under "Shapes": 00_tools.html#tools-shapes'
    """
    title = SECTIONS[section]
    page = "00_start.html#start" if section == "check" else "00_tools.html#tools"
    return f'{question} Chapter 0 explains this under "{title}": {page}-{section}'
