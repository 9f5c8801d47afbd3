/* The SIMD instructions of Armv7E-M that C has no operator for. */

#define UHOST_DSP_INLINE __attribute__((unused)) static inline

/*
 * A function that is assembler from its first instruction to its return. The compiler sees no use
 * of its parameters and no access to memory, so it must not reason about it across calls.
 */
#if defined(__clang__)
#define UHOST_DSP_ASSEMBLER __attribute__((unused, naked, noinline)) static
#else
#define UHOST_DSP_ASSEMBLER __attribute__((unused, naked, noipa)) static
#endif

/* A parameter that only assembler reads. */
#define UHOST_DSP_IN_REGISTER __attribute__((unused))

/* Returns the four bytes at source, which may have any alignment. */
UHOST_DSP_INLINE uint32_t uhost_dsp_load(const void *source)
{
    uint32_t word;

    __builtin_memcpy(&word, source, sizeof word);
    return word;
}

/* Returns bytes 0 and 2 of word, sign-extended to halfwords. */
UHOST_DSP_INLINE uint32_t uhost_dsp_sxtb16(uint32_t word)
{
    uint32_t result;

    __asm__("sxtb16 %0, %1" : "=r"(result) : "r"(word));
    return result;
}

/* Returns bytes 1 and 3 of word, sign-extended to halfwords. */
UHOST_DSP_INLINE uint32_t uhost_dsp_sxtb16_odd(uint32_t word)
{
    uint32_t result;

    __asm__("sxtb16 %0, %1, ror #8" : "=r"(result) : "r"(word));
    return result;
}

/* Returns the low halfword of low, and above it the low halfword of high. */
UHOST_DSP_INLINE uint32_t uhost_dsp_pack_low(uint32_t low, uint32_t high)
{
    uint32_t result;

    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(result) : "r"(low), "r"(high));
    return result;
}

/* Returns the high halfword of low, and above it the high halfword of high. */
UHOST_DSP_INLINE uint32_t uhost_dsp_pack_high(uint32_t low, uint32_t high)
{
    uint32_t result;

    __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(result) : "r"(high), "r"(low));
    return result;
}

/* Returns sum plus the two products of the signed halfwords of a and b, modulo 2^32. */
UHOST_DSP_INLINE int32_t uhost_dsp_smlad(uint32_t a, uint32_t b, int32_t sum)
{
    int32_t result;

    __asm__("smlad %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
}

/* Returns addend + value * multiplier / 2^32, the quotient rounded to nearest, ties upward. */
UHOST_DSP_INLINE int32_t uhost_dsp_smmlar(int32_t value, int32_t multiplier, int32_t addend)
{
    int32_t result;

    __asm__("smmlar %0, %1, %2, %3" : "=r"(result) : "r"(value), "r"(multiplier), "r"(addend));
    return result;
}

/* Returns value, or the end of [-128, 127] that is nearest to it. */
UHOST_DSP_INLINE int32_t uhost_dsp_ssat8(int32_t value)
{
    int32_t result;

    __asm__("ssat %0, #8, %1" : "=r"(result) : "r"(value));
    return result;
}

/*
 * Returns the int8 output of a sum below 2^30 in size. factor is multiplier, addend and shift; see
 * uhost_dsp_product for how they make the result exact.
 */
UHOST_DSP_INLINE int8_t uhost_dsp_requantize(int32_t sum, const uint32_t *factor)
{
    const int32_t scaled = uhost_dsp_smmlar(2 * sum, (int32_t)factor[0], (int32_t)factor[1]);

    return (int8_t)uhost_dsp_ssat8((scaled + (sum >> 31)) >> factor[2]);
}

/*
 * 1x1 window over 8 channels, which stay in registers for all 6 outputs; for layers with a
 * fused ReLU. Two pixels are at work at once.
 *
 * Weights of an output channel: 256 times the bias; pairs of weights, 256-fold, in the order of
 * uhost_dsp_widen; multiplier; addend. So sums are 256-fold, which the last shift undoes; see
 * uhost_dsp_product for SMMLA and SSAT.
 *
 * r0-r3, r4-r7 K pairs of pixel 0, of pixel 1     r8, r9 their sums     r10, r11 weights
 * r12 next weight     lr next output
 * stack: input, weights, output, rounds left, end of the outputs
 */
UHOST_DSP_ASSEMBLER void
uhost_dsp_pointwise_8x6_shift_6(const int8_t *input UHOST_DSP_IN_REGISTER,
    const uint32_t *weights UHOST_DSP_IN_REGISTER, int8_t *output UHOST_DSP_IN_REGISTER,
    uint32_t rounds UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        "push    {r4-r11, lr}\n"
        "sub     sp, sp, #20\n"
        "stm     sp, {r0-r3}\n"
        "mov     r12, r0\n"
        "1:\n"
        "ldm     r12!, {r0, r2, r4, r6}\n"
        "str     r12, [sp]\n"
        "sxtb16  r1, r0, ror #8\n"
        "sxtb16  r0, r0\n"
        "sxtb16  r3, r2, ror #8\n"
        "sxtb16  r2, r2\n"
        "sxtb16  r5, r4, ror #8\n"
        "sxtb16  r4, r4\n"
        "sxtb16  r7, r6, ror #8\n"
        "sxtb16  r6, r6\n"
        "ldrd    r12, lr, [sp, #4]\n"
        "add     r8, lr, #6\n"
        "str     r8, [sp, #16]\n"
        "2:\n"
        "ldm     r12!, {r9-r11}\n"
        "smlad   r8, r0, r10, r9\n"
        "smlad   r9, r4, r10, r9\n"
        "smlad   r8, r1, r11, r8\n"
        "smlad   r9, r5, r11, r9\n"
        "ldm     r12!, {r10, r11}\n"
        "smlad   r8, r2, r10, r8\n"
        "smlad   r9, r6, r10, r9\n"
        "smlad   r8, r3, r11, r8\n"
        "smlad   r9, r7, r11, r9\n"
        "ldm     r12!, {r10, r11}\n"
        "smmla   r8, r8, r10, r11\n"
        "smmla   r9, r9, r10, r11\n"
        "ssat    r8, #8, r8, asr #14\n"
        "ssat    r9, #8, r9, asr #14\n"
        "strb    r9, [lr, #6]\n"
        "strb    r8, [lr], #1\n"
        "ldm     r12!, {r9-r11}\n"
        "smlad   r8, r0, r10, r9\n"
        "smlad   r9, r4, r10, r9\n"
        "smlad   r8, r1, r11, r8\n"
        "smlad   r9, r5, r11, r9\n"
        "ldm     r12!, {r10, r11}\n"
        "smlad   r8, r2, r10, r8\n"
        "smlad   r9, r6, r10, r9\n"
        "smlad   r8, r3, r11, r8\n"
        "smlad   r9, r7, r11, r9\n"
        "ldm     r12!, {r10, r11}\n"
        "smmla   r8, r8, r10, r11\n"
        "smmla   r9, r9, r10, r11\n"
        "ssat    r8, #8, r8, asr #14\n"
        "ssat    r9, #8, r9, asr #14\n"
        "strb    r9, [lr, #6]\n"
        "strb    r8, [lr], #1\n"
        "ldm     r12!, {r9-r11}\n"
        "smlad   r8, r0, r10, r9\n"
        "smlad   r9, r4, r10, r9\n"
        "smlad   r8, r1, r11, r8\n"
        "smlad   r9, r5, r11, r9\n"
        "ldm     r12!, {r10, r11}\n"
        "smlad   r8, r2, r10, r8\n"
        "smlad   r9, r6, r10, r9\n"
        "smlad   r8, r3, r11, r8\n"
        "smlad   r9, r7, r11, r9\n"
        "ldm     r12!, {r10, r11}\n"
        "smmla   r8, r8, r10, r11\n"
        "smmla   r9, r9, r10, r11\n"
        "ssat    r8, #8, r8, asr #14\n"
        "ssat    r9, #8, r9, asr #14\n"
        "strb    r9, [lr, #6]\n"
        "strb    r8, [lr], #1\n"
        "ldr     r8, [sp, #16]\n"
        "cmp     lr, r8\n"
        "bne.w   2b\n"
        "ldr     r8, [sp, #12]\n"
        "add     lr, lr, #6\n"
        "ldr     r12, [sp]\n"
        "str     lr, [sp, #8]\n"
        "subs    r8, r8, #1\n"
        "str     r8, [sp, #12]\n"
        "bne.w   1b\n"
        "add     sp, sp, #20\n"
        "pop     {r4-r11, pc}\n");
}

/*
 * 9 pixels of 8 channels to 6, two pixels at a time.
 */
static void conv_2d_pointwise_small(const int8_t *input, const uint32_t *weights, int8_t *output)
{
    uhost_dsp_pointwise_8x6_shift_6(input, weights, output, 4);
    /* The last pixel, with the one before again. */
    uhost_dsp_pointwise_8x6_shift_6(input + 56, weights, output + 42, 1);
}
