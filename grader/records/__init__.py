"""What a course keeps: the gradebook, the class list, the files beside them."""
