"""A course on queries, of one page and one exercise."""
