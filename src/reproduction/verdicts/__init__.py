"""Published numbers and claims, each with a verdict by a test stated beforehand."""
