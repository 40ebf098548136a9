"""The paper's objects: grids, projections, Bellman targets, distributions, distances, risk."""
