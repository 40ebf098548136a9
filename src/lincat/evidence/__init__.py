"""What the paper's theorems say beside what is measured: bounds, the barrier, tails, plans."""
