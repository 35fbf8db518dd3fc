"""The curator: opens data, answers questions, and is the only one who spends and looks."""
