"""Noise laws on the integers, sampled and evaluated exactly."""
