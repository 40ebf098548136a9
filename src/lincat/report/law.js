// Measures of one law on a grid, by the rules of ReturnDistribution (core/risk.py).
//
// A law holds the CDF at all K + 1 atoms, increasing in [0, 1], the last one being 1.

const LEVEL_TOLERANCE = 1e-12; // F >= u is tested to this much
const ATOM_TOLERANCE = 1e-9; // of the spacing: a number so near to an atom counts as that atom

function makeLaw(grid, cdf, mean) {
  const F = Float64Array.from([...cdf, 1]);
  return {low: grid.low, high: grid.high, K: F.length - 1, spacing: (grid.high - grid.low) / (F.length - 1), F, mean};
}

function atom(law, k) {
  return k === law.K ? law.high : law.low + k * law.spacing;
}

function mass(law, k) {
  return law.F[k] - (k ? law.F[k - 1] : 0);
}

// The smallest atom x with F(x) >= q.
function quantile(law, q) {
  let below = 0, above = law.K; // binary search for the first index that reaches the level
  while (below < above) {
    const middle = (below + above) >> 1;
    if (law.F[middle] >= q - LEVEL_TOLERANCE) above = middle;
    else below = middle + 1;
  }
  return atom(law, below);
}

// The mean of the worst `level` share of returns; the atom at the quantile is split.
function cvar(law, level) {
  let total = 0, before = 0;
  for (let k = 0; k <= law.K && before < level; k++) {
    const reached = Math.min(law.F[k], level);
    total += ((reached - before) / level) * atom(law, k);
    before = reached;
  }
  return total;
}

function std(law) {
  let mean = 0, square = 0;
  for (let k = 0; k <= law.K; k++) mean += mass(law, k) * atom(law, k);
  for (let k = 0; k <= law.K; k++) square += mass(law, k) * (atom(law, k) - mean) ** 2;
  return Math.sqrt(Math.max(square, 0));
}

// The index of the last atom <= x; -1 below the grid.
function indexAtOrBelow(law, x) {
  const index = Math.floor((x - law.low) / law.spacing + ATOM_TOLERANCE);
  return Math.min(Math.max(index, -1), law.K);
}

// P(G <= x)
function cdfAt(law, x) {
  const k = indexAtOrBelow(law, x);
  return k < 0 ? 0 : law.F[k];
}

// P(G < threshold)
function probabilityBelow(law, threshold) {
  const index = Math.ceil((threshold - law.low) / law.spacing - ATOM_TOLERANCE) - 1;
  const k = Math.min(Math.max(index, -1), law.K);
  return k < 0 ? 0 : law.F[k];
}
