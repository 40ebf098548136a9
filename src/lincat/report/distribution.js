// Measures of one distribution on a grid, by the rules of ReturnDistribution (core/risk.py).
//
// A distribution holds the CDF at all K + 1 atoms, increasing in [0, 1], the last one being 1.

const LEVEL_TOLERANCE = 1e-12; // F >= u is tested to this much
const ATOM_TOLERANCE = 1e-9; // of the spacing: a number so near to an atom counts as that atom

// The nearest proper distribution, from CDF values as learned, at the first K atoms.
function makeDistribution({low, high, intervals: K}, cdf) {
  const spacing = (high - low) / K;
  const F = Float64Array.from([...proper(cdf), 1]);
  return {low, high, K, spacing, F, mean: low + spacing * F.reduce((sum, value) => sum + (1 - value), 0)};
}

// The L2-nearest values that increase within [0, 1]: neighbours that fall are averaged, and the ends cut.
function proper(cdf) {
  const blocks = [];
  for (const value of cdf) {
    let block = {sum: value, n: 1};
    while (blocks.length && blocks[blocks.length - 1].sum / blocks[blocks.length - 1].n > block.sum / block.n) {
      const before = blocks.pop();
      block = {sum: before.sum + block.sum, n: before.n + block.n};
    }
    blocks.push(block);
  }
  return blocks.flatMap(({sum, n}) => Array(n).fill(Math.min(Math.max(sum / n, 0), 1)));
}

function atom(distribution, k) {
  return k === distribution.K ? distribution.high : distribution.low + k * distribution.spacing;
}

function mass(distribution, k) {
  return distribution.F[k] - (k ? distribution.F[k - 1] : 0);
}

// The smallest atom x with F(x) >= q.
function quantile(distribution, q) {
  let below = 0, above = distribution.K; // binary search for the first index that reaches the level
  while (below < above) {
    const middle = (below + above) >> 1;
    if (distribution.F[middle] >= q - LEVEL_TOLERANCE) above = middle;
    else below = middle + 1;
  }
  return atom(distribution, below);
}

// The mean of the worst `level` share of returns; the atom at the quantile is split.
function cvar(distribution, level) {
  let total = 0, before = 0;
  for (let k = 0; k <= distribution.K && before < level; k++) {
    const reached = Math.min(distribution.F[k], level);
    total += ((reached - before) / level) * atom(distribution, k);
    before = reached;
  }
  return total;
}

function std(distribution) {
  let square = 0;
  for (let k = 0; k <= distribution.K; k++) square += mass(distribution, k) * (atom(distribution, k) - distribution.mean) ** 2;
  return Math.sqrt(Math.max(square, 0));
}

// The index of the last atom <= x; -1 below the grid.
function indexAtOrBelow(distribution, x) {
  const index = Math.floor((x - distribution.low) / distribution.spacing + ATOM_TOLERANCE);
  return Math.min(Math.max(index, -1), distribution.K);
}

// P(G <= x)
function cdfAt(distribution, x) {
  const k = indexAtOrBelow(distribution, x);
  return k < 0 ? 0 : distribution.F[k];
}

// The index of the last atom < x; -1 below the grid.
function indexBelow(distribution, x) {
  const index = Math.ceil((x - distribution.low) / distribution.spacing - ATOM_TOLERANCE) - 1;
  return Math.min(Math.max(index, -1), distribution.K);
}

// P(G < threshold)
function probabilityBelow(distribution, threshold) {
  const k = indexBelow(distribution, threshold);
  return k < 0 ? 0 : distribution.F[k];
}

// What lies between known points, on straight lines; null outside.
function interpolated(xs, ys, x) {
  if (!(x >= xs[0] && x <= xs[xs.length - 1])) return null;
  const k = Math.max(xs.findIndex((one) => one >= x), 1);
  return ys[k - 1] + ((x - xs[k - 1]) / (xs[k] - xs[k - 1])) * (ys[k] - ys[k - 1]);
}
