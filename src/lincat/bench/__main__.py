"""One section in this process, its result as JSON: what ``lincat bench`` starts."""

import json
import sys

from lincat.bench.run import run_here
from lincat.bench.settings import Settings

if __name__ == "__main__":
    name, settings = sys.argv[1:]

    def progress(text: str) -> None:
        """Say on standard error what is being measured."""
        print(f"  {text}", file=sys.stderr, flush=True)

    result = run_here(name, Settings(**json.loads(settings)), progress)
    print(json.dumps(result.as_dict()))
