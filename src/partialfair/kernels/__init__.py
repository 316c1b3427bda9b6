"""Every compiled loop, the sums in a stated order and the functions that they share."""
