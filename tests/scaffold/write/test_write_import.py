"""The writer is quick to import: `check` runs it and nothing heavier."""

import os
import subprocess
import sys

SCRIPT = """
import sys

import mlax_scaffold.write

names = {name.partition(".")[0] for name in sys.modules}
print(sorted(names - set(sys.stdlib_module_names) - {"__main__"}))
"""


def test_importing_it_takes_only_the_standard_library():
    # Without site, whose .pth files may import what they like.
    command = [sys.executable, "-S", "-c", SCRIPT]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    output = subprocess.check_output(command, env=environment, text=True)
    assert output == "['mlax_scaffold']\n"
