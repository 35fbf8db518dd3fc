"""What tests share. Nothing imports a test module."""
