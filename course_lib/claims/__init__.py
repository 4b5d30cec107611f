"""What the course's source documents claim, and functions that show whether it holds."""

from course_lib.claims.finding import Finding
from course_lib.claims.ledger import Claim, contradiction, load_claims, shown

__all__ = ["Claim", "Finding", "contradiction", "load_claims", "shown"]
