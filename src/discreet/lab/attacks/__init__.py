"""Attacks: reconstruction and membership inference, and the defences they are tried on."""
