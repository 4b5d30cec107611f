"""Claims of the course's source documents, and functions that show whether they hold."""

from course_lib.claims.finding import Finding
from course_lib.claims.ledger import Claim, contradiction, load_claims, shown
