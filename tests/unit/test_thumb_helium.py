"""Decoding of Helium and low-overhead loops, on encodings of the architecture manual."""

from __future__ import annotations

import pytest

from uhost.targets._thumb_v81 import decode

# Halfwords in the order of the manual, what they are, and which pipe they take.
VECTORS = {
    "ed901e00 vldrb.u8 q0, [r0]": "vector_load",
    "fd900e80 vldrb.u16 q0, [r0]": "vector_load",
    "fd921e01 vldrw.u32 q0, [q1, #4]": "vector_load",
    "fcb01f61 vld43.32 {q0-q3}, [r0]!": "vector_load",
    "ec800e02 vstrb.8 q0, [r0, q1]": "vector_store",
    "ed800e80 vstrb.16 q0, [r0]": "vector_store",
    "eef00f02 vmladav.s8 r0, q0, q1": "vector_multiply",
    "ee800f02 vrmlaldavh.s32 r0, r1, q0, q1": "vector_multiply",
    "ee890f00 vaddlv.s32 r0, r1, q0": "vector_multiply",
    "ee800f03 vabav.s8 r0, q0, q1": "vector_alu",
    "eee20f00 vmaxv.s8 r0, q0": "vector_alu",
    "ee231e60 vmul.i32 q0, q1, r0": "vector_multiply",
    "ef020954 vmul.i8 q0, q1, q2": "vector_multiply",
    "ff220b44 vqrdmulh.s32 q0, q1, q2": "vector_multiply",
    "ee320f05 vqdmullb.s16 q0, q1, q2": "vector_multiply",
    "fe330f05 vpsel q0, q1, q2": "vector_alu",
    "ee230f40 vadd.i32 q0, q1, r0": "vector_alu",
    "ee320f40 vadd.f32 q0, q1, r0": "vector_multiply",
    "ef020844 vadd.i8 q0, q1, q2": "vector_alu",
    "ef020d44 vadd.f32 q0, q1, q2": "vector_multiply",
    "fe031e60 vbrsr.8 q0, q1, r0": "vector_alu",
    "ee391e60 vshl.s32 q0, r0": "vector_alu",
    "ee370e03 vqmovnb.s32 q0, q1": "vector_alu",
    "ee8d0fc3 vshrnb.i16 q0, q1, #3": "vector_alu",
    "ffbb0742 vcvt.s32.f32 q0, q1": "vector_multiply",
    "ffb90742 vabs.f32 q0, q1": "vector_multiply",
    "ffb10342 vabs.s8 q0, q1": "vector_alu",
    "ef800051 vmov.i32 q0, #1": "vector_multiply",
    "ef800151 vorr.i32 q0, #1": "vector_alu",
    "fe011f02 vcmp.s8 ge, q0, q1": "vector_multiply",
    "f000e801 vctp.8 r0": "vector_alu",
    "fe710f4d vpst": "alu",
    "f040e001 dls lr, r0": "alu",
}
OTHERS = ("ed900a00", "ee300a81", "ec510b10", "ed2d8b04", "f000f800", "ea518002", "e89f0003")


def words(code: str) -> bytes:
    return bytes.fromhex(code[2:4] + code[0:2] + code[6:8] + code[4:6])


@pytest.mark.parametrize("text", VECTORS)
def test_vectors_take_their_pipes(text: str) -> None:
    found = decode(words(text[:8]), 0x100)
    assert found is not None
    assert found.kind == VECTORS[text]


def test_registers_of_the_core() -> None:
    accumulates = decode(words("eef4ee26"), 0)  # vmladava.s16 lr, q2, q3
    moves = decode(words("ec110f00"), 0)  # vmov q0[2], q0[0], r0, r1
    lane = decode(words("ee300b10"), 0)  # vmov.32 r0, q0[1]
    after = decode(words("ecb00f04"), 0)  # vldrb.s32 q0, [r0], #4
    assert accumulates is not None
    assert moves is not None
    assert lane is not None
    assert after is not None
    assert [set(accumulates.reads), set(accumulates.writes)] == [{"lr"}, {"lr"}]
    assert [set(moves.reads), set(moves.writes)] == [{"r0", "r1"}, set()]
    assert [set(lane.reads), set(lane.writes)] == [set(), {"r0"}]
    assert [set(after.address_of), set(after.based)] == [{"r0"}, {"r0"}]


@pytest.mark.parametrize("code", OTHERS)
def test_what_capstone_knows_is_left_to_it(code: str) -> None:
    assert decode(words(code), 0) is None
