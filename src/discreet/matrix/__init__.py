"""The matrix mechanism: strategies, their designs and the planner that chooses among them."""
