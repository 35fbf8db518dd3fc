"""The kernel: what a plan means, independent of who compiled it and of the engine that runs it."""
