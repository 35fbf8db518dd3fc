"""Answers, explanations and bills: what an analyst receives, and how it is displayed."""
