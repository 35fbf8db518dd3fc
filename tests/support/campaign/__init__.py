"""A campaign against the curator: hostile names, values, rows and files, asked of pairs of neighbours."""
