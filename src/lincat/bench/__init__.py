"""Speed, shown as ratios measured side by side in one run: ``lincat bench``.

A *section* measures one thing in a process of its own and returns a :class:`results.Result`, rows
and bars. Contenders (C, JAX, PyTorch, NumPy, our own variants) are checked to learn what we learn,
then take turns with us, and a ratio is the median over the rounds of their time over ours. On one
core, time is CPU time, which other work on the machine changes little.
"""
