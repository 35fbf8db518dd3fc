"""The mechanisms themselves: noise, choices, private keys, quantiles; and what one person can change."""
