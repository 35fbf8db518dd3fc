"""The kernel: a small judge that every plan must convince, and the meaning of every plan over plain rows."""
