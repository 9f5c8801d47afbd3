"""A target and its kernel library outside uhost, for the tests of partitioning."""
