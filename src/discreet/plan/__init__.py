"""From a question to a plan: the catalogue, bounds, caps, keys, noise, cost; and from released numbers to an answer."""
