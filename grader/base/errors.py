"""The one error that ends a command in a line instead of a traceback."""


class Refused(ValueError):
    """A request that cannot be carried out: what came, what was wanted, what to do.

    Whatever else is raised is a fault of the program, and keeps its traceback.
    """

    def _render_traceback_(self) -> list[str]:
        """Text that IPython shows in place of a traceback."""
        return [str(self)]
