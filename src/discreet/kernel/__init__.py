"""The kernel: a small judge that every plan must convince before it is paid for."""
