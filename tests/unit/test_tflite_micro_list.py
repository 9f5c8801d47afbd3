"""Every operator that TensorFlow Lite Micro registers is imported, or refused by its name.

The lists are those of its micro_mutable_op_resolver.h in October 2026.
"""

from __future__ import annotations

from uhost.frontends._tflite_variables import CALL_ONCE, VAR_HANDLE
from uhost.frontends._unsupported import why_absent
from uhost.ops._op import OPERATORS
from uhost.report.operators import document

BUILTIN = """
ABS ADD ADD_N ARG_MAX ARG_MIN ASSIGN_VARIABLE AVERAGE_POOL_2D BATCH_MATMUL BATCH_TO_SPACE_ND
BROADCAST_ARGS BROADCAST_TO CALL_ONCE CAST CEIL CONCATENATION CONV_2D COS CUMSUM DEPTHWISE_CONV_2D
DEPTH_TO_SPACE DEQUANTIZE DIV DYNAMIC_UPDATE_SLICE ELU EMBEDDING_LOOKUP EQUAL EXP EXPAND_DIMS FILL
FLOOR FLOOR_DIV FLOOR_MOD FULLY_CONNECTED GATHER GATHER_ND GREATER GREATER_EQUAL HARD_SWISH IF
L2_NORMALIZATION L2_POOL_2D LEAKY_RELU LESS LESS_EQUAL LOG LOGICAL_AND LOGICAL_NOT LOGICAL_OR
LOGISTIC LOG_SOFTMAX MAXIMUM MAX_POOL_2D MEAN MINIMUM MIRROR_PAD MUL NEG NOT_EQUAL PACK PAD PADV2
PRELU QUANTIZE READ_VARIABLE REDUCE_ALL REDUCE_MAX REDUCE_MIN RELU RELU6 RESHAPE RESIZE_BILINEAR
RESIZE_NEAREST_NEIGHBOR REVERSE_V2 ROUND RSQRT SELECT_V2 SHAPE SIN SLICE SOFTMAX SPACE_TO_BATCH_ND
SPACE_TO_DEPTH SPLIT SPLIT_V SQRT SQUARE SQUARED_DIFFERENCE SQUEEZE STRIDED_SLICE SUB SUM SVDF
TANH TRANSPOSE TRANSPOSE_CONV UNIDIRECTIONAL_SEQUENCE_LSTM UNPACK VAR_HANDLE WHILE ZEROS_LIKE
""".split()
CUSTOM = """
CIRCULAR_BUFFER ETHOSU SignalDelay SignalEnergy SignalFftAutoScale SignalFilterBank
SignalFilterBankLog SignalFilterBankSpectralSubtraction SignalFilterBankSquareRoot SignalFramer
SignalIrfft SignalOverlapAdd SignalPCAN SignalRfft SignalStacker SignalWindow TFLM_DECODE
TFLite_Detection_PostProcess
""".split()
FOLDED = {CALL_ONCE, VAR_HANDLE}
"""What the frontend resolves when it reads a file."""
CODES = {"ETHOSU": "ethos-u"}
"""Custom operators whose name in files is another."""
REFUSED = {"ETHOSU"}


def imported() -> dict[str, str]:
    """Returns name in the file → operator kind."""
    return {
        name.removeprefix("CUSTOM:"): kind.name
        for kind in OPERATORS
        for name in kind.importers.get("tflite", {})
    }


def test_the_list_is_whole() -> None:
    assert (len(BUILTIN), len(CUSTOM)) == (100, 18)
    assert len({*BUILTIN, *CUSTOM}) == 118


def test_every_operator_of_the_list_is_imported() -> None:
    missing = {*BUILTIN, *CUSTOM} - imported().keys() - FOLDED
    assert missing == REFUSED, f"no file of uhost/ops imports {sorted(missing - REFUSED)}"


def test_every_imported_operator_has_a_row_in_the_table() -> None:
    kinds = {kind for name, kind in imported().items() if name in {*BUILTIN, *CUSTOM}}
    rows = {line.split("`")[1] for line in document().splitlines() if line.startswith("| `")}
    assert kinds <= rows, f"`uhost ops` lacks {sorted(kinds - rows)}"


def test_what_is_refused_is_refused_by_its_name() -> None:
    absent = why_absent("there is no such name")
    for name in (*REFUSED, "CONV_3D"):
        code = f"CUSTOM:{CODES[name]}" if name in CODES else name
        assert why_absent(code) != absent
