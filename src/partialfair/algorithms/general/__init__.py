"""The general path: any loss, surrogate and constraint family, in double precision."""
