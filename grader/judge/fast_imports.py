"""Gets from three packages what grading needs, and not what else they bring along.

``import nbgrader`` loads a web server and four extensions of it, ``import jupytext`` a server's
file manager, and ``import jsonschema`` builds a grammar of international web addresses: two and a
half seconds together, for things that no notebook's schema and no gradebook uses.
"""

import gc
import importlib
import importlib.metadata
import sys
from types import ModuleType
from unittest.mock import Mock

# The version that was looked into: another one is imported whole, and keeps its own functions.
NBGRADER = "0.9.6"
# Of each package: what is absent while it is imported, and comes whole to who imports it later.
# None raises ImportError, which the package expects; where it does not, it gets a stand-in.
_WITHOUT: dict[str, dict[str, ModuleType | Mock | None]] = {
    "jsonschema": {"rfc3987_syntax": None},
    "jupytext": {"jupytext.sync_contentsmanager": None, "jupytext.async_contentsmanager": None},
    "nbgrader": {
        f"nbgrader.server_extensions.{name}": Mock()
        for name in ("assignment_list", "course_list", "validate_assignment", "formgrader")
    },
}


def load(module: str) -> None:
    """Import the packages, and then the module of the course that is to grade with them."""
    known = importlib.metadata.version("nbgrader") == NBGRADER
    gc.disable()  # nothing that an import makes is garbage
    try:
        for package, absent in _WITHOUT.items():
            if package not in sys.modules and (package != "nbgrader" or known):
                _import_without(package, absent)
        importlib.import_module(module)
        # Present objects stay: judges that are forked need not look at them, or copy them.
        gc.freeze()
    finally:
        gc.enable()


def newest_schema() -> str:
    """The version of a new gradebook, for which nbgrader would start another program."""
    from alembic.script import ScriptDirectory
    from nbgrader.dbutil import ALEMBIC_DIR

    return str(ScriptDirectory(ALEMBIC_DIR).get_current_head())


def _import_without(package: str, absent: dict[str, ModuleType | Mock | None]) -> None:
    absent = {name: stand_in for name, stand_in in absent.items() if name not in sys.modules}
    sys.modules.update(absent)  # type: ignore[arg-type]
    try:
        importlib.import_module(package)
    finally:
        for name in absent:
            del sys.modules[name]
