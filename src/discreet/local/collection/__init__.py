"""Collecting reports: collectors, respondents, memoization and shuffling."""
