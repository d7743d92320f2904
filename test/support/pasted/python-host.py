"""Runs the code that each line of its input holds, as a program of its own would, and prints what it wrote and its exit code.

Names, environment and folder are fresh each time. What was imported stays, which is most of what a program takes.
"""
import contextlib
import io
import json
import os
import sys
import traceback

own = sys.stdout
for line in sys.stdin:
    asked = json.loads(line)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    sys.path[0] = ""
    stdout, stderr, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        try:
            exec(compile(asked["code"], "<pasted>", "exec"), {"__name__": "__main__"})
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        except BaseException:
            traceback.print_exc()
            code = 1
    print(json.dumps({"code": code, "stdout": stdout.getvalue(), "stderr": stderr.getvalue()}), file=own, flush=True)
