"""Laws of noise, exact to the last bit."""
