"""Private quantiles, extremes, and bounds."""
