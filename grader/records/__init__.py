"""Records of a course: the gradebook, the class list, the files beside them."""
