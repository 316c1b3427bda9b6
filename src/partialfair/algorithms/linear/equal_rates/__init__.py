"""Equal rates of decisions without the group: cost-sensitive fits, and the best mixture of their decisions."""
