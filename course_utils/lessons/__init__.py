"""A room for each notebook: what it alone uses, its exercises among them."""
