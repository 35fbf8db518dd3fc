"""Attacks: reconstruction, membership, and the defences they are tried on."""
