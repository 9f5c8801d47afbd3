"""The Jinja environment: strict, and with errors that name the template and the line."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import jinja2

from uhost import resources
from uhost.codegen import literals
from uhost.errors import TemplateError
from uhost.kernels._kernel import template_folders


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.FileSystemLoader(resources.folder("templates")), _outside_libraries()]
        ),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["float_literal"] = literals.float_literal
    environment.filters["int_literal"] = literals.int_literal
    environment.filters["hex32"] = lambda value: f"0x{value:08X}u"
    return environment


def _outside_libraries() -> jinja2.BaseLoader:
    """Returns what finds the templates of outside kernel libraries.

    `kernels/LIBRARY/X` is X in the library's folder, `kernels/include/LIBRARY/X` is
    include/X in it. uhost's own templates are looked up before.
    """
    kernels: dict[str, jinja2.BaseLoader] = {}
    includes: dict[str, jinja2.BaseLoader] = {}
    for library, folders in template_folders().items():
        kernels[library] = jinja2.FileSystemLoader(folders)
        includes[library] = jinja2.FileSystemLoader([f / "include" for f in folders])
    kernels["include"] = jinja2.PrefixLoader(includes)
    return jinja2.PrefixLoader({"kernels": jinja2.PrefixLoader(kernels)})


def render(template: str, values: Mapping[str, Any]) -> str:
    """Returns the text of `template` (a path below `templates/`).

    Raises `TemplateError` with template and line for a missing template, a syntax error,
    an undefined name or an operation that fails while printing.
    """
    try:
        return _environment().get_template(template).render(**values)
    except jinja2.TemplateNotFound as error:
        raise TemplateError(
            f"the template '{error.name}' does not exist",
            where=str(resources.folder("templates")),
        ) from error
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(
            f"template syntax: {error.message}", where=f"{error.name}:{error.lineno}"
        ) from error
    except (jinja2.UndefinedError, TypeError, ArithmeticError, LookupError) as error:
        raise TemplateError(f"{error}", where=_place(template, error)) from error


def render_include(include: str) -> str:
    """Returns the shared piece of C that a kernel names: NAME, or NAME:key=integer,key=integer.

    The integers are what `templates/kernels/include/NAME.h.j2` prints; pieces of one NAME
    with different integers define different functions.
    """
    name, _, arguments = include.partition(":")
    pairs = (pair.partition("=") for pair in arguments.split(",") if pair)
    values = {key: int(value) for key, _, value in pairs}
    return render(f"kernels/include/{name}.h.j2", values)


def _place(template: str, error: BaseException) -> str:
    place = template
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.endswith(".j2"):
            place = (
                f"{trace.tb_frame.f_code.co_filename.rpartition('templates/')[2]}:{trace.tb_lineno}"
            )
        trace = trace.tb_next
    return place
