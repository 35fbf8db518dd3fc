"""The mechanisms: noise, selection, private keys, quantiles; and the sensitivity of common queries."""
