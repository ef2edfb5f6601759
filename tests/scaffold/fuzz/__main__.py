"""`python tests/scaffold/fuzz --count 10000 --seed 0`: many specs, and what went wrong with any of them."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_run import fuzz, specs


def main() -> int:
    """Print a line of figures, and each kind of failure with one spec; 1 where there is any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="the name of one spec, as a failure gives it")
    parser.add_argument("--show", type=int, default=20, help="failures to show")
    options = parser.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    given = specs(options.count, options.seed)
    if options.only:
        given = (pair for pair in given if pair[0] == options.only)
    start = time.monotonic()
    report = fuzz(given)
    failures = report.failures or []
    kinds = Counter(f.what.strip().splitlines()[-1][:150] for f in failures)
    seen: set[str] = set()
    for failure in failures:
        kind = failure.what.strip().splitlines()[-1][:60]
        if kind not in seen and len(seen) < options.show:
            seen.add(kind)
            print(f"{failure}\n{'-' * 88}")
        else:
            print(f"{failure.name}: {kind}\n{'-' * 88}")
    for kind, number in kinds.most_common():
        print(f"{number:6} {kind}")
    print(
        f"{report.refused} refused, {report.rendered} rendered, of which "
        f"{report.untried} do not import; {len(failures)} failures, "
        f"{time.monotonic() - start:.0f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
