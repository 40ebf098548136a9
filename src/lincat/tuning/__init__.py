"""How near the automatic step size comes to the best constant one, on random processes."""
