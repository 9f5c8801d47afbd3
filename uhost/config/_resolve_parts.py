"""The rules of resolution, part by part: each returns its part and adds its complaints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from uhost.config._findings import check, nearest, not_known
from uhost.config._layers import Keys, Layer, Setting, usable_bytes
from uhost.config._sizes import parse_size
from uhost.config.board import Board, Region
from uhost.config.compilation import EXECUTORS, RUNTIMES, Pool
from uhost.config.pass_context import PassContext
from uhost.config.project import options_of
from uhost.config.target import Target
from uhost.errors import ConfigError
from uhost.kernels._kernel import library_names
from uhost.passes._pass import PASSES
from uhost.passes._pipeline import enabled_passes
from uhost.targets._target import TARGETS

Problems = list[ConfigError]

LIMITS = ("flash_limit", "ram_limit")
"""Keys that hold a size."""


def section(settings: Layer, *prefix: str) -> dict[str, Any]:
    """Returns key → value of the settings right below `prefix`."""
    size = len(prefix)
    return {
        keys[size]: setting.value
        for keys, setting in settings.items()
        if keys[:size] == prefix and len(keys) == size + 1
    }


def refuse_unselected(settings: Layer, selected: Mapping[Keys, tuple[str, ...]]) -> Problems:
    """Returns a complaint for every option of a target, executor or runtime not selected."""
    problems: Problems = []
    for keys, setting in settings.items():
        names = selected.get(keys[:1])
        if names is None or len(keys) < 3 or keys[1] in names or _is_preset(setting):
            continue
        noun = {"targets": "target"}.get(keys[0], keys[0])
        problems.append(
            ConfigError(
                f"'{keys[2]}' is an option of the {noun} '{keys[1]}', which is not selected",
                where=setting.where,
                fix=f"{nearest(keys[1], names)}selected: {', '.join(names)}; "
                f"select the {noun}, or remove the option",
            )
        )
    return problems


def _is_preset(setting: Setting) -> bool:
    return setting.origin.startswith("board ")


def selected_targets(settings: Layer, board: Board, problems: Problems) -> tuple[Target, ...]:
    """Returns the device targets in order: what is not given is the board's, then the kind's."""
    chosen = settings["targets",]
    kinds: tuple[str, ...] = chosen.value
    found: list[Target] = []
    for kind in dict.fromkeys(kinds):
        if kinds.count(kind) > 1:
            problems.append(
                ConfigError(
                    f"the target '{kind}' is given twice", chosen.where, "give each target once"
                )
            )
        if kind not in TARGETS:
            problems.append(not_known("target", kind, TARGETS.names(), chosen.where))
            continue
        if kind not in (kinds[0], board.target.kind) and not TARGETS[kind].accelerator:
            problems.append(_second_cpu(kind, board, chosen))
            continue
        if target := _target(settings, kind, board, chosen, problems):
            found.append(target)
    if board.target.kind != kinds[0]:
        problems.append(
            ConfigError(
                f"the first device target is '{kinds[0]}', but the CPU of the board "
                f"'{board.name}' is the target '{board.target.kind}'",
                where=chosen.where,
                fix=f"give '{board.target.kind}' first",
            )
        )
    return tuple(found)


def unboarded_targets(settings: Layer) -> Problems:
    """Returns the complaints about targets and CPUs that exist nowhere, whatever the board."""
    problems: Problems = []
    chosen = settings.get(("targets",))
    if chosen is None:
        return problems
    for kind in chosen.value:
        if kind not in TARGETS:
            problems.append(not_known("target", kind, TARGETS.names(), chosen.where))
            continue
        cpu = settings.get(("targets", kind, "cpu"))
        if cpu is not None and cpu.value not in TARGETS[kind].cpus:
            known = tuple(TARGETS[kind].cpus)
            problems.append(not_known(f"{kind} CPU", cpu.value, known, cpu.where))
    return problems


def _second_cpu(kind: str, board: Board, chosen: Setting) -> ConfigError:
    """Returns the complaint about a target that nothing on the board could be."""
    accelerators = [name for name in TARGETS.names() if TARGETS[name].accelerator]
    return ConfigError(
        f"the target '{kind}' is a CPU, but the board '{board.name}' has one already, "
        f"'{board.target.kind}': targets after the first are accelerators",
        where=chosen.where,
        fix=f"leave out '{kind}'; accelerators: {', '.join(accelerators) or 'none installed'}",
    )


def _target(
    settings: Layer, kind: str, board: Board, chosen: Setting, problems: Problems
) -> Target | None:
    options = section(settings, "targets", kind)
    where = {name: settings["targets", kind, name].where for name in options}
    for library in options.get("libraries", ()):
        if library not in library_names():
            problems.append(
                not_known("kernel library", library, library_names(), where["libraries"])
            )
    cpu = options.get("cpu", "")
    if kind == board.target.kind and cpu in TARGETS[kind].cpus:
        codes = TARGETS[kind].codes_for(board.target.cpu)
        if cpu not in codes:
            problems.append(
                ConfigError(
                    f"the board '{board.name}' has a {board.target.cpu}, which does not run "
                    f"code for {cpu}",
                    where=where["cpu"],
                    fix=f"give {' or '.join(codes)}, or leave it out",
                )
            )
            return None
    try:
        target = TARGETS[kind].complete(
            options.get("cpu"), options.get("features"), options.get("libraries")
        )
    except ConfigError as error:
        written = [
            where[name] for name in options if not _is_preset(settings["targets", kind, name])
        ]
        place = where.get("features" if "feature" in error.what else "cpu", chosen.where)
        if place.startswith("board ") and written:
            place = written[0]
        problems.append(type(error)(error.what, place, error.fix))
        return None
    lacking = [f for f in target.features if not board.target.has(f)]
    if kind == board.target.kind and lacking:
        place = where["features"]
        problems.append(
            ConfigError(
                f"the board '{board.name}' has no {', '.join(lacking)}",
                where=place,
                fix=f"it has: {', '.join(board.target.features) or 'no features'}",
            )
        )
    return target


def one_of(settings: Layer, what: str, problems: Problems) -> tuple[str, dict[str, Any]]:
    """Returns the selected executor or runtime and its options; the only one by default."""
    known = {"executor": EXECUTORS, "runtime": RUNTIMES}[what]
    chosen = settings.get((what,))
    if chosen is None:
        name = next(iter(known))
    else:
        name = chosen.value[0]
        if len(chosen.value) > 1:
            problems.append(
                ConfigError(
                    f"there is one {what}, not {len(chosen.value)}: {', '.join(chosen.value)}",
                    where=chosen.where,
                    fix="keep one of them",
                )
            )
        if name not in known:
            problems.append(not_known(what, name, tuple(known), chosen.where))
            return name, {}
    return name, section(settings, what, name)


def pools_of(settings: Layer, what: str, board: Board, problems: Problems) -> tuple[Pool, ...]:
    """Returns the workspace or constant pools; one without a size gets its region's."""
    setting = settings.get(("pools", what))
    if setting is None:
        return (Pool("ram" if what == "workspace" else "flash"),)
    pools: list[Pool] = []
    for item in setting.value:
        pool = msgspec.convert(item, type=Pool)
        if board.regions:
            if problem := _pool_problem(pool, what, board):
                problems.append(ConfigError(problem[0], setting.where, problem[1]))
            elif pool.size_bytes is None:
                size = usable_bytes(board, pool.name)
                pool = replace(pool, size_bytes=size)
        pools.append(pool)
    return tuple(pools)


def limit_of(settings: Layer, key: str, problems: Problems) -> int | None:
    """Returns the bytes of a limit; None where there is none."""
    setting = settings.get((key,))
    if setting is None:
        return None
    try:
        return parse_size(setting.value, setting.where)
    except ConfigError as error:
        problems.append(error)
        return None


def _pool_problem(pool: Pool, what: str, board: Board) -> tuple[str, str] | None:
    """Returns what is wrong with a pool on this board, and how to mend it; None if nothing."""
    regions = {region.name: region for region in board.regions}
    names = tuple(regions)
    if pool.name not in regions:
        return (
            f"the board '{board.name}' has no memory region '{pool.name}'",
            f"{nearest(pool.name, names)}known: {', '.join(names)}",
        )
    usual = [r.name for r in board.regions if r.kind != "flash" and not _arena_is_null(board, r)]
    if what == "workspace" and pool.name not in usual:
        problem = f"the arena cannot lie in flash, '{pool.name}'"
        if regions[pool.name].kind != "flash":
            problem = (
                f"the arena cannot lie in '{pool.name}', which begins at address 0: to C, a "
                "pointer there is no arena"
            )
        return (problem, f"use {' or '.join(usual)}")
    if what == "constants" and pool.name != board.flash:
        return (
            f"weights are linked into '{board.flash}', not into '{pool.name}'",
            f"use {board.flash}",
        )
    usable = usable_bytes(board, pool.name)
    if pool.size_bytes is not None and pool.size_bytes > usable:
        return (
            f"the pool '{pool.name}' has {pool.size_bytes:,} B, more than the {usable:,} B "
            f"that '{board.name}' has for it",
            f"give at most {usable}, or leave the size out",
        )
    return None


def _arena_is_null(board: Board, region: Region) -> bool:
    """True if an arena in the region has the address 0; in the RAM it lies behind the stack."""
    return region.start == 0 and region.name != board.ram


def context_of(settings: Layer, problems: Problems) -> PassContext:
    """Returns the pass context, without instruments; checks pass names and options."""
    values = section(settings, "passes")
    before = len(problems)
    for key in ("required", "disabled"):
        for name in values.get(key, ()):
            if name not in PASSES:
                where = settings["passes", key].where
                problems.append(not_known("pass", name, PASSES.names(), where))
    options: dict[str, dict[str, object]] = {}
    for keys, setting in _pass_options(settings):
        name, option = keys[2], keys[3]
        options.setdefault(name, {})[option] = setting.value
        if name not in PASSES:
            problems.append(not_known("pass", name, PASSES.names(), setting.where))
            continue
        kind: Any = PASSES[name]
        for found in check({option: setting.value}, options_of(kind)):
            what = f"the pass '{name}' has no option '{option}'"
            problems.append(
                ConfigError(
                    what if found.what.startswith("unknown") else found.what,
                    where=setting.where,
                    fix=found.fix if not found.fix.endswith("known: ") else "it has none",
                )
            )
    given = {key: values[key] for key in ("opt_level",) if key in values}
    context = PassContext(
        **given,
        required_passes=tuple(values.get("required", ())),
        disabled_passes=tuple(values.get("disabled", ())),
        options=options,
    )
    if len(problems) == before:
        try:
            enabled_passes(context)
        except ConfigError as error:
            place = next((s.where for k, s in settings.items() if k[0] == "passes"), "")
            problems.append(ConfigError(error.what, error.where or place, error.fix))
    return context


def _pass_options(settings: Layer) -> Iterator[tuple[Keys, Setting]]:
    for keys, setting in settings.items():
        if keys[:2] == ("passes", "options") and len(keys) == 4:
            yield keys, setting
