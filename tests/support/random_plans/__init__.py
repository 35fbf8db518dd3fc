"""Random plans, drawn in the algebra and not from SQL: worlds, plans, what spoils them, and who judges them."""
