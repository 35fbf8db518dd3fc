"""Calibrate noise to a privacy guarantee, and compose losses."""
