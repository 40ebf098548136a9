"""The paper's numerical experiments: settings, runs that fill a folder with rows, analysis."""
