"""From promises to scales, and from many losses to one."""
