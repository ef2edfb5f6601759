"""Plants faults into generated code, and tells which ones the item's own generated tests catch.

    python -m tests.benchmarks.faults --count 300 --seed 0
    python -m tests.benchmarks.faults --items nn/linear optim/adam --count 40
    python -m tests.benchmarks.faults --kinds cast dtype --results faults.jsonl
    python -m tests.benchmarks.faults --operators other --seed 1

With `--results` each verdict is written as it comes, and what is there is not run again.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.benchmarks.faults.equivalents import reason
from tests.benchmarks.faults.mutations import Fault, faults
from tests.benchmarks.faults.planting import Item, items, prepare, verdict

LEAST, LEAST_OF_KIND, LEAST_OF_ITEM, MOST_EXCUSED = 0.97, 0.90, 0.80, 0.03


def choose(
    found: Sequence[tuple[Item, Fault]], count: int, seed: int
) -> list[tuple[Item, Fault]]:
    """So many faults: of each kind as many, and of each item as few as that leaves."""
    chance = random.Random(seed)
    by_kind: dict[str, list[tuple[Item, Fault]]] = defaultdict(list)
    for pair in found:
        by_kind[pair[1].kind].append(pair)
    for pairs in by_kind.values():
        chance.shuffle(pairs)
    taken: Counter[str] = Counter()
    chosen = []
    while len(chosen) < count and any(by_kind.values()):
        for kind in sorted(by_kind):
            pairs = by_kind[kind]
            if pairs and len(chosen) < count:
                best = min(range(len(pairs)), key=lambda i: taken[pairs[i][0].name])
                item, fault = pairs.pop(best)
                taken[item.name] += 1
                chosen.append((item, fault))
    return sorted(chosen, key=lambda pair: (pair[0].name, pair[1].index))


def report(results: Iterable[dict[str, str]]) -> bool:
    """Print what was caught, by kind, and whether it is enough.

    What takes too long is not caught: run again with more `--seconds`, it may be.
    """
    results = list(results)
    excused = [r for r in results if r["verdict"] == "survived" and r["reason"]]
    judged = [r for r in results if r not in excused]
    missed = [r for r in judged if r["verdict"] != "caught"]
    print(f"{'kind':12} planted  excused  missed  caught")
    rates = {}
    for kind in sorted({r["kind"] for r in results}):
        of_kind = [r for r in judged if r["kind"] == kind]
        lost = sum(r["verdict"] != "caught" for r in of_kind)
        out = sum(r["kind"] == kind for r in excused)
        rates[kind] = 1 - lost / max(len(of_kind), 1)
        print(
            f"{kind:12} {len(of_kind) + out:7}  {out:7}  {lost:6}  {rates[kind]:6.1%}"
        )
    total = 1 - len(missed) / max(len(judged), 1)
    print(
        f"{'all':12} {len(results):7}  {len(excused):7}  {len(missed):6}  {total:6.1%}"
    )
    planted, lost = (
        Counter(r["item"] for r in judged),
        Counter(r["item"] for r in missed),
    )
    poor = [n for n in lost if 1 - lost[n] / planted[n] < LEAST_OF_ITEM]
    for result in missed:
        print(f"{result['verdict']}: {result['fault']}")
    for result in excused:
        print(f"excused: {result['fault']}: {result['reason']}")
    for name in poor:
        print(
            f"below {LEAST_OF_ITEM:.0%}: {name}, {lost[name]} of {planted[name]} missed"
        )
    return (
        total >= LEAST
        and min(rates.values(), default=1.0) >= LEAST_OF_KIND
        and not poor
        and len(excused) <= MOST_EXCUSED * len(results)
    )


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=300, help="how many faults")
    parser.add_argument("--seed", type=int, default=0, help="which faults")
    parser.add_argument("--items", nargs="*", help="such as nn/linear; all by default")
    parser.add_argument("--kinds", nargs="*", help="such as cast; all by default")
    parser.add_argument(
        "--operators", choices=("usual", "other"), default="usual", help="which kinds"
    )
    parser.add_argument("--seconds", type=int, default=90, help="limit for one fault")
    parser.add_argument(
        "--results", type=Path, help="a file of verdicts, to go on with"
    )
    parser.add_argument(
        "--list", action="store_true", help="print the faults, run none"
    )
    given = parser.parse_args()
    known = [i for i in items() if not given.items or i.name in given.items]
    if missing := set(given.items or ()) - {i.name for i in known}:
        parser.error(f"no generated tests of {', '.join(sorted(missing))}")
    every = [(i, f) for i in known for f in faults(i.name, i.source, given.operators)]
    every = [p for p in every if not given.kinds or p[1].kind in given.kinds]
    chosen = choose(every, given.count, given.seed)
    if given.list:
        print(*(fault for _, fault in chosen), sep="\n")
        return 0
    done: dict[str, dict[str, str]] = {}
    if given.results and given.results.exists():
        lines = given.results.read_text(encoding="utf-8").splitlines()
        done = {r["fault"]: r for r in map(json.loads, lines)}
    prepare()
    for number, (item, fault) in enumerate(chosen, 1):
        if str(fault) in done:
            continue
        found, took = verdict(item, fault, given.seconds)
        result = {
            "fault": str(fault),
            "item": item.name,
            "kind": fault.kind,
            "verdict": found,
            "reason": reason(fault) if found == "survived" else "",
        }
        done[str(fault)] = result
        print(f"{number}/{len(chosen)} {found:8} {took:5.1f}s {fault}", file=sys.stderr)
        if given.results:
            with given.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
    return 0 if report(done[str(f)] for _, f in chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
