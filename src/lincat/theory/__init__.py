"""The constants, step sizes and bounds of the paper's analysis."""
