"""How often intervals hold, and how wide they are, on processes whose fixed points are known."""
