"""Ends an outside program together with whatever it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time

_GLANCE_S = 0.01


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Returns whether the process has ended, without collecting it: its number stays taken."""
    if process.returncode is not None:
        return True
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def exit_reason(process: subprocess.Popen[bytes]) -> str:
    """Returns how a process that has ended did: its exit code or signal, in words."""
    code = process.returncode
    if code is None:
        ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert ended
        code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    return f"signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"exit code {code}"


def end_group(
    process: subprocess.Popen[bytes], patience_s: float = 0.0, *, by_itself: bool = False
) -> None:
    """Ends the session that `process` leads, and collects it.

    The process must have been started with `start_new_session`: a wrapper script and the
    program it runs end together. It has `patience_s` seconds to follow a request to
    terminate, and with `by_itself` as long before that; what is left is killed.
    """
    try:
        if by_itself:
            await_end(process, patience_s)
        if patience_s > 0 and not has_ended(process):
            _signal(process, signal.SIGTERM)
            await_end(process, patience_s)
    finally:
        _signal(process, signal.SIGKILL)
        process.wait()


def await_end(process: subprocess.Popen[bytes], patience_s: float) -> bool:
    """Returns whether the process ends within `patience_s` seconds; it is not collected."""
    deadline = time.monotonic() + patience_s
    while not (ended := has_ended(process)) and time.monotonic() < deadline:
        time.sleep(_GLANCE_S)
    return ended


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signals the group; not once its leader is collected: the number may be another's then."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
