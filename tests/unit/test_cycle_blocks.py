"""Cycles of basic blocks, against sums done by hand from the cores' manuals."""

from __future__ import annotations

import pytest
from thumb_code import assemble

from uhost.targets._block_cycles import BlockCycles
from uhost.targets._cycles import CycleModel, cycle_model
from uhost.targets._instruction import work_of
from uhost.targets._work import Work

pytestmark = pytest.mark.needs("arm_gcc")


def model_of(cpu: str) -> CycleModel:
    model = cycle_model(cpu)
    assert model is not None
    return model


@pytest.mark.parametrize(
    ("cpu", "text", "taken", "untaken"),
    [
        # Cortex-M4: a load is 2, one behind it 1 less.
        ("cortex-m4", "ldr r0, [r1]\nldr r2, [r3]\nldr r4, [r3, #4]", 4, 4),
        ("cortex-m4", "ldr r0, [r1]\nadds r2, #1\nldr r4, [r3, #4]", 5, 5),
        # The second address comes from the first load.
        ("cortex-m4", "ldr r0, [r1]\nldr r2, [r0]", 4, 4),
        # The address comes from the ALU: one cycle more.
        ("cortex-m4", "adds r1, #4\nldr r0, [r1]", 4, 4),
        ("cortex-m4", "adds r1, #4\nmovs r2, #0\nldr r0, [r1]", 4, 4),
        # Stores: immediate 1; register 2, or 1 behind a load, and nothing overlaps a store.
        ("cortex-m4", "ldr r0, [r1]\nstr r0, [r3, #20]\nldr r2, [r3]", 2 + 1 + 2, 5),
        ("cortex-m4", "ldr r0, [r1, r2]\nstr r1, [r3, r2]", 3, 3),
        ("cortex-m4", "str r1, [r3, r2]", 2, 2),
        ("cortex-m4", "ldm r0!, {r1, r2, r3}\nldrd r4, r5, [r6]\npush {r4, lr}", 4 + 3 + 3, 10),
        ("cortex-m4", "smlad r0, r1, r2, r0\nsmlal r0, r1, r2, r3\nmul r0, r1, r2", 3, 3),
        ("cortex-m4", "sdiv r0, r1, r2", 7, 7),
        ("cortex-m4", "1: subs r0, #1\nbne 1b", 1 + 3, 2),
        ("cortex-m4", "pop {r4, pc}", 1 + 2 + 2, 3),
        # FPU: a sum needed by the next instruction is a cycle late, but not as an addend.
        ("cortex-m4", "vadd.f32 s0, s1, s2\nvmul.f32 s3, s0, s1", 3, 3),
        ("cortex-m4", "vadd.f32 s0, s1, s2\nvfma.f32 s0, s3, s4", 4, 4),
        ("cortex-m4", "vldr s0, [r0]\nvdiv.f32 s1, s2, s3\nvstr s1, [r0]", 2 + 14 + 1 + 2, 19),
        ("cortex-m33", "ldr r0, [r1]\nldr r2, [r3]\n1: b 1b", 3 + 3, 4),
        ("cortex-m3", "mla r0, r1, r2, r3\nmul r0, r1, r2\numull r0, r1, r2, r3", 7, 7),
        # Cortex-M0+ and M0: two-cycle loads and stores, branches of 2 and 3.
        ("cortex-m0plus", "ldr r0, [r1]\nldr r2, [r3]\nstr r2, [r1]", 6, 6),
        ("cortex-m0plus", "1: subs r0, #1\nbne 1b", 1 + 2, 2),
        ("cortex-m0plus", "muls r0, r1, r0\nldm r2!, {r3, r4}\nbl 1f\n1:", 1 + 3 + 3, 5),
        ("cortex-m0plus", "pop {r4, pc}", 3 + 2, 3),
        ("cortex-m0", "1: subs r0, #1\nbne 1b", 1 + 3, 2),
        ("cortex-m0", "bl 1f\n1:", 4, 1),
        # Cortex-M7: two ALUs, unless one needs the other's result.
        ("cortex-m7", "adds r0, r1, r2\nadds r3, r4, r5", 1, 1),
        ("cortex-m7", "adds r0, r1, r2\nadds r3, r0, r5", 2, 2),
        # One MAC pipe; the addend is needed a cycle after the factors, the result two later.
        ("cortex-m7", "smlad r0, r1, r2, r0\nsmlad r3, r1, r2, r3", 2, 2),
        ("cortex-m7", "smlad r0, r1, r2, r0\nldr r3, [r4]", 1, 1),
        ("cortex-m7", "smlad r0, r1, r2, r0\nsmlad r0, r3, r4, r0", 2, 2),
        ("cortex-m7", "mul r0, r1, r2\nadds r3, r0, r1", 3, 3),
        # SIMD goes first in its cycle: beside what comes after it, not what came before.
        ("cortex-m7", "sxtb16 r0, r1\nsmlad r2, r3, r4, r2", 1, 1),
        ("cortex-m7", "smlad r2, r3, r4, r2\nsxtb16 r0, r1", 2, 2),
        # Two loads in a cycle; LDRD and LDM alone, two words a cycle.
        ("cortex-m7", "ldr r0, [r1]\nldr r2, [r3]", 1, 1),
        ("cortex-m7", "ldrd r0, r1, [r2]\nadds r3, r4, r5", 2, 2),
        ("cortex-m7", "ldm r0, {r1, r2, r3, r4}\nadds r5, r6, r7", 3, 3),
        # A loaded word is there a cycle later, a byte two; an address is needed one earlier.
        ("cortex-m7", "ldr r0, [r1]\nadds r2, r0, r3", 2, 2),
        ("cortex-m7", "ldrb r0, [r1]\nadds r2, r0, r3", 3, 3),
        ("cortex-m7", "adds r0, r1, r2\nldr r3, [r0]", 3, 3),
        ("cortex-m7", "str r0, [r1]\nstr r2, [r1, #4]", 2, 2),
        ("cortex-m7", "sdiv r0, r1, r2\nadds r3, r0, r1", 8, 8),
    ],
)
def test_block(cpu: str, text: str, taken: int, untaken: int) -> None:
    block = model_of(cpu).block(assemble(text, cpu))
    assert (block.taken, block.untaken) == (taken, untaken)


def test_a_predictor_misses_the_rarer_way() -> None:
    loop = model_of("cortex-m7").block(assemble("1: subs r0, #1\nbne 1b"))
    assert loop == BlockCycles(taken=1, untaken=1, mispredicted=6)
    assert loop.total(executed=100, taken=99) == 100 + 6
    assert loop.total(executed=100, taken=1) == 100 + 6
    always = model_of("cortex-m7").block(assemble("adds r0, #1\nbx lr"))
    assert always.total(executed=10, taken=10) == 10
    m4 = model_of("cortex-m4").block(assemble("1: subs r0, #1\nbne 1b", "cortex-m4"))
    assert m4.total(executed=100, taken=99) == 99 * 4 + 2


def mac(sums: str, pixels: str, weights: str) -> str:
    """One SMLAD for each pair of a pixel register and a sum, with one register of weights."""
    pairs = zip(sums.split(), pixels.split(), strict=True)
    return "".join(f"smlad {s}, {p}, {weights}, {s}\n" for s, p in pairs)


def halves(sums: str, pixels: str, weights: str) -> str:
    """The pair of channels in one word: the high ones as they are, then widened the low ones."""
    high, low = sums.split("/")
    widen = f"sxtb16 {weights}, {weights}\n"
    return mac(high, pixels, weights) + widen + mac(low, pixels, weights)


TWO_BY_FOUR = (
    mac("r0 r1", "r8 r9", "r11")
    + mac("r2 r3", "r8 r9", "r12")
    + "sxtb16 r11, r11\n"
    + mac("r4 r5", "r8 r9", "r11")
    + "sxtb16 r12, r12\n"
    + mac("r6 r7", "r8 r9", "r12")
)
# Inner loops by name: the text of one step, its MACs, and instructions and cycles per MAC.
LOOPS = {
    "2x2, half-widened weights": (
        "ldm r12!, {r4, r5, r6, r7}\nldrd r8, r9, [r10], #8\n"
        + halves("r0 r1/r2 r3", "r4 r5", "r8")
        + halves("r0 r1/r2 r3", "r6 r7", "r9"),
        16,
        0.750,
        1.125,
    ),
    "2x2, int16 weights": (
        "ldm r12!, {r4, r5, r6, r7}\nldm lr!, {r8, r9, r10, r11}\n"
        + mac("r0 r1", "r4 r5", "r8")
        + mac("r2 r3", "r4 r5", "r9")
        + mac("r0 r1", "r6 r7", "r10")
        + mac("r2 r3", "r6 r7", "r11"),
        16,
        0.625,
        1.125,
    ),
    "2x4, half-widened weights, LDRD": (
        "ldrd r8, r9, [sp, #8]\nldrd r11, r12, [r10], #8\n" + TWO_BY_FOUR,
        16,
        0.750,
        1.000,
    ),
    "2x4, half-widened weights, grouped LDR": (
        "ldr r8, [sp, #8]\nldr r9, [sp, #12]\nldr r11, [r10, #8]\nldr r12, [r10, #12]\n"
        + TWO_BY_FOUR,
        16,
        0.875,
        0.938,
    ),
    "fully connected, four rows": (
        "ldm lr!, {r4, r5, r6, r7}\n"
        + 2
        * (
            "ldm r12!, {r8, r9, r10, r11}\n"
            + 4 * "smlad r0, r4, r8, r0\n"
            + 4 * "sxtb16 r8, r8\n"
            + 4 * "smlad r1, r4, r8, r1\n"
        ),
        32,
        0.844,
        1.219,
    ),
    "Winograd's products": (
        "ldm r12!, {r4, r5, r6, r7}\nldm lr!, {r8, r9, r10, r11}\n"
        + mac("r0 r1", "r4 r5", "r8")
        + mac("r2 r3", "r6 r7", "r9")
        + mac("r0 r1", "r4 r5", "r10")
        + mac("r2 r3", "r6 r7", "r11"),
        16,
        0.625,
        1.125,
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_inner_loops_on_cortex_m4(name: str) -> None:
    text, macs, instructions_per_mac, cycles_per_mac = LOOPS[name]
    step = assemble(text, "cortex-m4")
    assert round(len(step) / macs, 3) == instructions_per_mac
    assert round(model_of("cortex-m4").block(step).untaken / macs, 3) == cycles_per_mac


# One step of the loop in the order that suits the M7: every other instruction is a product.
M7_ORDER = (
    "smlad r0, r8, r11, r0\nldr r12, [r10, #4]\n"
    "smlad r1, r9, r11, r1\n"
    "sxtb16 r11, r11\nsmlad r2, r8, r12, r2\n"
    "smlad r3, r9, r12, r3\n"
    "sxtb16 r12, r12\nsmlad r4, r8, r11, r4\n"
    "smlad r5, r9, r11, r5\nldr r11, [r10, #8]\n"
    "smlad r6, r8, r12, r6\nldr r8, [sp, #8]\n"
    "smlad r7, r9, r12, r7\nldr r9, [sp, #12]\n"
)


def steady(cpu: str, text: str) -> int:
    """Returns what one more step adds to sixteen."""
    model = model_of(cpu)
    return (
        model.block(assemble(17 * text, cpu)).untaken
        - model.block(assemble(16 * text, cpu)).untaken
    )


def test_order_matters_on_cortex_m7() -> None:
    assert steady("cortex-m7", M7_ORDER) == 8  # half a cycle for a MAC: the MAC pipe's limit
    assert steady("cortex-m4", M7_ORDER) == 14 + 4
    assert steady("cortex-m7", LOOPS["2x4, half-widened weights, LDRD"][0]) == 12


def test_work_of_a_block() -> None:
    block = assemble("1: ldrd r0, r1, [r2], #8\nldr r3, [r2]\nsmlad r4, r0, r1, r4\nbne 1b")
    assert work_of(block, executed=10, taken=9) == Work(
        multiply=10, load=10, load_many=10, words=20, branch=9, untaken=1
    )
