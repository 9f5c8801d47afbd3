"""A stand-in for Renode: its command line, its Monitor, a console on a pty or a port.

`RENODE_RECORD` names the file that argv goes to. What stands behind the console is the
program `RENODE_FIRMWARE`, else an echo. `RENODE_DOES` makes it misbehave: `die` before the
machine starts, `complain`, `hang`, `die_later` once the console has received something,
`ignore` requests to end.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tty
from pathlib import Path

DOES = os.environ.get("RENODE_DOES", "")


def main() -> None:
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print(os.environ.get("RENODE_VERSION", "Renode v1.16.0.1525"))
        return
    Path(os.environ["RENODE_RECORD"]).write_text(json.dumps([os.getpid(), arguments]))
    if DOES == "ignore":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    assert {"--disable-xwt", "--console", "--plain", "--hide-log"} <= set(arguments)
    orders = [two for one, two in itertools.pairwise(arguments) if one == "-e"]
    variables: dict[str, str] = {}
    console = -1
    print(f"(monitor) {'; '.join(orders)}", flush=True)
    for order in orders:
        verb, _, rest = order.partition(" ")
        if verb == "logFile":
            Path(rest.removeprefix("@")).write_text("12:00:00 [WARNING] sysbus: a remark\n")
        elif verb == "include":
            script = Path(rest.removeprefix("@").replace("\\ ", " ")).read_text()
            macros = dict(re.findall(r'macro (\w+)\n"""\n(.*?)"""', script, re.DOTALL))
        elif verb == "set":
            name, _, value = rest.partition(" ")
            variables[name] = value.strip('"')
        elif verb == "runMacro":
            if DOES == "die":
                print("Unhandled exception: out of memory", flush=True)
                os._exit(3)
            if DOES == "hang":
                signal.pause()
            if DOES == "complain":
                print("There was an error executing command 'machine LoadPlatformDescription'")
                print("Could not find file 'platforms/none.repl'", flush=True)
                continue
            console = run_macro(macros[rest.removeprefix("$")], variables)
        else:
            raise AssertionError(order)
    talk(console)


def run_macro(macro: str, variables: dict[str, str]) -> int:
    """Carries out the macro that starts the machine; returns the console's other end."""
    lines = [line.strip() for line in macro.splitlines()]
    assert lines[1:] == [
        "connector Connect sysbus.usart1 uhost_console",
        "start",
        'echo "uhost: started"',
    ]
    if lines[0] == 'emulation CreateUartPtyTerminal "uhost_console" $pty true':
        console, other = os.openpty()
        tty.setraw(console)
        os.symlink(os.ttyname(other), variables["pty"])
        print("uhost: started", flush=True)
        return console
    assert lines[0] == 'emulation CreateServerSocketTerminal $port "uhost_console" false'
    server = socket.create_server(("127.0.0.1", int(variables["port"])))
    print("uhost: started", flush=True)
    return server.accept()[0].detach()


def talk(console: int) -> None:
    """Passes bytes between console and firmware, and answers the Monitor."""
    program = os.environ.get("RENODE_FIRMWARE")
    firmware = (
        subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if program
        else None
    )
    if firmware:
        assert firmware.stdout
        with Path(os.environ["RENODE_RECORD"]).open("a") as record:
            record.write(f"\n{firmware.pid}")
    sources = [0, *([console] if console >= 0 else [])]
    if firmware and firmware.stdout:
        sources.append(firmware.stdout.fileno())
    while True:
        for source in select.select(sources, [], [])[0]:
            received = os.read(source, 65536)
            if source == 0:
                if not received or (b"quit" in received and DOES != "ignore"):
                    if DOES == "ignore":
                        sources.remove(0)
                        continue
                    os._exit(0)
                if b"cpu ExecutedInstructions\n" in received:
                    print("(machine) cpu ExecutedInstructions\n0x000000020001E240", flush=True)
                    print("(machine) ", end="", flush=True)
            elif source == console:
                if DOES == "die_later":
                    print("CPU abort [PC=0x0]", flush=True)
                    os.kill(os.getpid(), signal.SIGKILL)
                if not received:
                    os._exit(0)
                if firmware and firmware.stdin:
                    firmware.stdin.write(received)
                    firmware.stdin.flush()
                else:
                    os.write(console, received)
            else:
                os.write(console, received)


main()
