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
 * One line of outputs of a 3x3 depthwise window, of one channel.
 *
 * The window holds three input lines as halfwords, two elements per word, interleaved:
 * word 0 of lines 0, 1, 2, word 1 of lines 0, 1, 2, ... The lines lie in any rotation, so the
 * rows of weights are loaded in the same one.
 *
 * A channel's record: for each row (w0, w1, w1, w2) as bytes, which SXTB16 turns into the
 * halfword pairs (w0, w1) and (w1, w2); twice the bias; multiplier, addend and shift. Weights
 * are doubled here, so that the sum is 2x, as the doubling high multiply wants it. Weights that
 * take nine bits are halfwords in the record, doubled already:
 * (SMMLAR(2x, multiplier, addend) - (x < 0)) >> shift rounds half away from zero.
 *
 * r0-r5 weights of lines 0, 1, 2     r6, r7 sums of the even and the odd output
 * r8-r10 elements, then scratch      r11 next elements     r12 output     lr twice the bias
 * stack: multiplier, addend, shift, stride, end of output pairs, outputs
 */
struct uhost_dsp_line {
    uint32_t rows[3]; /* offset in the record of the weights for window lines 0, 1, 2 */
    uint32_t stride;  /* bytes from one output to the next */
    uint32_t outputs;
};

UHOST_DSP_ASSEMBLER void
uhost_dsp_depthwise_3x3_stride_1(const uint32_t *window UHOST_DSP_IN_REGISTER,
                                   const uint32_t *record UHOST_DSP_IN_REGISTER,
                                   int8_t *output UHOST_DSP_IN_REGISTER,
                                   const struct uhost_dsp_line *line UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        "push    {r4-r11, lr}\n"
        "sub     sp, sp, #24\n"
        "mov     r11, r0\n"
        "mov     r12, r2\n"
        "ldm     r3, {r6-r10}\n"
        "ldr     r0, [r1, r6]\n"
        "ldr     r2, [r1, r7]\n"
        "ldr     r4, [r1, r8]\n"
        "strd    r9, r10, [sp, #12]\n"
        "str     r10, [sp, #20]\n"
        "add     r1, r1, #12\n"
        "ldm     r1, {r6-r8, r10}\n"
        "mov     lr, r6\n"
        "strd    r7, r8, [sp]\n"
        "str     r10, [sp, #8]\n"
        "sxtb16  r1, r0, ror #8\n"
        "sxtb16  r0, r0\n"
        "sadd16  r1, r1, r1\n"
        "sadd16  r0, r0, r0\n"
        "sxtb16  r3, r2, ror #8\n"
        "sxtb16  r2, r2\n"
        "sadd16  r3, r3, r3\n"
        "sadd16  r2, r2, r2\n"
        "sxtb16  r5, r4, ror #8\n"
        "sxtb16  r4, r4\n"
        "sadd16  r5, r5, r5\n"
        "sadd16  r4, r4, r4\n"
        "ldr     r10, [sp, #20]\n"
        "bic     r10, r10, #1\n"
        "mla     r10, r10, r9, r12\n"
        "str     r10, [sp, #16]\n"
        "cmp     r12, r10\n"
        "beq.w   2f\n"
        "1:\n"
        "ldm     r11!, {r8-r10}\n"
        /* even: x0 w0 + x1 w1 + x2 w2, odd: x1 w0 + x2 w1 + x3 w2 */
        "smlad   r6, r8, r0, lr\n"
        "smlatb  r7, r8, r0, lr\n"
        "smlad   r6, r9, r2, r6\n"
        "smlatb  r7, r9, r2, r7\n"
        "smlad   r6, r10, r4, r6\n"
        "smlatb  r7, r10, r4, r7\n"
        "ldm     r11, {r8-r10}\n"
        "smlabt  r6, r8, r1, r6\n"
        "smlad   r7, r8, r1, r7\n"
        "smlabt  r6, r9, r3, r6\n"
        "smlad   r7, r9, r3, r7\n"
        "smlabt  r6, r10, r5, r6\n"
        "smlad   r7, r10, r5, r7\n"
        "ldrd    r8, r9, [sp]\n"
        "add     r10, r9, r6, asr #31\n"
        "add     r9, r9, r7, asr #31\n"
        "smmlar  r6, r6, r8, r10\n"
        "smmlar  r7, r7, r8, r9\n"
        "ldrd    r8, r9, [sp, #8]\n"
        "asr     r6, r6, r8\n"
        "asr     r7, r7, r8\n"
        "ssat    r6, #8, r6\n"
        "ssat    r7, #8, r7\n"
        "ldr     r10, [sp, #16]\n"
        "strb    r6, [r12]\n"
        "strb    r7, [r12, r9]\n"
        "add     r12, r12, r9, lsl #1\n"
        "cmp     r12, r10\n"
        "bne.w   1b\n"
        /* The last output of an odd number. */
        "2:\n"
        "ldr     r10, [sp, #20]\n"
        "tst     r10, #1\n"
        "beq     3f\n"
        "ldm     r11!, {r8-r10}\n"
        "smlad   r6, r8, r0, lr\n"
        "smlad   r6, r9, r2, r6\n"
        "smlad   r6, r10, r4, r6\n"
        "ldm     r11, {r8-r10}\n"
        "smlabt  r6, r8, r1, r6\n"
        "smlabt  r6, r9, r3, r6\n"
        "smlabt  r6, r10, r5, r6\n"
        "ldm     sp, {r8-r10}\n"
        "add     r9, r9, r6, asr #31\n"
        "smmlar  r6, r6, r8, r9\n"
        "asr     r6, r6, r10\n"
        "ssat    r6, #8, r6\n"
        "strb    r6, [r12]\n"
        "3:\n"
        "add     sp, sp, #24\n"
        "pop     {r4-r11, pc}\n");
}

UHOST_DSP_ASSEMBLER void
uhost_dsp_depthwise_3x3_stride_2(const uint32_t *window UHOST_DSP_IN_REGISTER,
                                   const uint32_t *record UHOST_DSP_IN_REGISTER,
                                   int8_t *output UHOST_DSP_IN_REGISTER,
                                   const struct uhost_dsp_line *line UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        "push    {r4-r11, lr}\n"
        "sub     sp, sp, #24\n"
        "mov     r11, r0\n"
        "mov     r12, r2\n"
        "ldm     r3, {r6-r10}\n"
        "ldr     r0, [r1, r6]\n"
        "ldr     r2, [r1, r7]\n"
        "ldr     r4, [r1, r8]\n"
        "strd    r9, r10, [sp, #12]\n"
        "str     r10, [sp, #20]\n"
        "add     r1, r1, #12\n"
        "ldm     r1, {r6-r8, r10}\n"
        "mov     lr, r6\n"
        "strd    r7, r8, [sp]\n"
        "str     r10, [sp, #8]\n"
        "sxtb16  r1, r0, ror #8\n"
        "sxtb16  r0, r0\n"
        "sadd16  r1, r1, r1\n"
        "sadd16  r0, r0, r0\n"
        "sxtb16  r3, r2, ror #8\n"
        "sxtb16  r2, r2\n"
        "sadd16  r3, r3, r3\n"
        "sadd16  r2, r2, r2\n"
        "sxtb16  r5, r4, ror #8\n"
        "sxtb16  r4, r4\n"
        "sadd16  r5, r5, r5\n"
        "sadd16  r4, r4, r4\n"
        "ldr     r10, [sp, #20]\n"
        "bic     r10, r10, #1\n"
        "mla     r10, r10, r9, r12\n"
        "str     r10, [sp, #16]\n"
        "cmp     r12, r10\n"
        "beq.w   2f\n"
        "1:\n"
        "ldm     r11!, {r8-r10}\n"
        /* even: x0 w0 + x1 w1 + x2 w2, odd: x2 w0 + x3 w1 + x4 w2 */
        "smlad   r6, r8, r0, lr\n"
        "smlad   r6, r9, r2, r6\n"
        "smlad   r6, r10, r4, r6\n"
        "ldm     r11!, {r8-r10}\n"
        "smlabt  r6, r8, r1, r6\n"
        "smlad   r7, r8, r0, lr\n"
        "smlabt  r6, r9, r3, r6\n"
        "smlad   r7, r9, r2, r7\n"
        "smlabt  r6, r10, r5, r6\n"
        "smlad   r7, r10, r4, r7\n"
        "ldm     r11, {r8-r10}\n"
        "smlabt  r7, r8, r1, r7\n"
        "smlabt  r7, r9, r3, r7\n"
        "smlabt  r7, r10, r5, r7\n"
        "ldrd    r8, r9, [sp]\n"
        "add     r10, r9, r6, asr #31\n"
        "add     r9, r9, r7, asr #31\n"
        "smmlar  r6, r6, r8, r10\n"
        "smmlar  r7, r7, r8, r9\n"
        "ldrd    r8, r9, [sp, #8]\n"
        "asr     r6, r6, r8\n"
        "asr     r7, r7, r8\n"
        "ssat    r6, #8, r6\n"
        "ssat    r7, #8, r7\n"
        "ldr     r10, [sp, #16]\n"
        "strb    r6, [r12]\n"
        "strb    r7, [r12, r9]\n"
        "add     r12, r12, r9, lsl #1\n"
        "cmp     r12, r10\n"
        "bne.w   1b\n"
        /* The last output of an odd number. */
        "2:\n"
        "ldr     r10, [sp, #20]\n"
        "tst     r10, #1\n"
        "beq     3f\n"
        "ldm     r11!, {r8-r10}\n"
        "smlad   r6, r8, r0, lr\n"
        "smlad   r6, r9, r2, r6\n"
        "smlad   r6, r10, r4, r6\n"
        "ldm     r11, {r8-r10}\n"
        "smlabt  r6, r8, r1, r6\n"
        "smlabt  r6, r9, r3, r6\n"
        "smlabt  r6, r10, r5, r6\n"
        "ldm     sp, {r8-r10}\n"
        "add     r9, r9, r6, asr #31\n"
        "smmlar  r6, r6, r8, r9\n"
        "asr     r6, r6, r10\n"
        "ssat    r6, #8, r6\n"
        "strb    r6, [r12]\n"
        "3:\n"
        "add     sp, sp, #24\n"
        "pop     {r4-r11, pc}\n");
}

UHOST_DSP_ASSEMBLER void
uhost_dsp_depthwise_3x3_stride_1_wide(const uint32_t *window UHOST_DSP_IN_REGISTER,
                                   const uint32_t *record UHOST_DSP_IN_REGISTER,
                                   int8_t *output UHOST_DSP_IN_REGISTER,
                                   const struct uhost_dsp_line *line UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        "push    {r4-r11, lr}\n"
        "sub     sp, sp, #24\n"
        "mov     r11, r0\n"
        "mov     r12, r2\n"
        "ldm     r3, {r6-r10}\n"
        "add     lr, r1, #24\n"
        "add     r6, r6, r1\n"
        "add     r7, r7, r1\n"
        "add     r8, r8, r1\n"
        "ldrd    r0, r1, [r6]\n"
        "ldrd    r2, r3, [r7]\n"
        "ldrd    r4, r5, [r8]\n"
        "strd    r9, r10, [sp, #12]\n"
        "str     r10, [sp, #20]\n"
        "ldm     lr, {r6-r8, r10}\n"
        "mov     lr, r6\n"
        "strd    r7, r8, [sp]\n"
        "str     r10, [sp, #8]\n"
        "ldr     r10, [sp, #20]\n"
        "bic     r10, r10, #1\n"
        "mla     r10, r10, r9, r12\n"
        "str     r10, [sp, #16]\n"
        "cmp     r12, r10\n"
        "beq.w   2f\n"
        "1:\n"
        "ldm     r11!, {r8-r10}\n"
        /* even: x0 w0 + x1 w1 + x2 w2, odd: x1 w0 + x2 w1 + x3 w2 */
        "smlad   r6, r8, r0, lr\n"
        "smlatb  r7, r8, r0, lr\n"
        "smlad   r6, r9, r2, r6\n"
        "smlatb  r7, r9, r2, r7\n"
        "smlad   r6, r10, r4, r6\n"
        "smlatb  r7, r10, r4, r7\n"
        "ldm     r11, {r8-r10}\n"
        "smlabt  r6, r8, r1, r6\n"
        "smlad   r7, r8, r1, r7\n"
        "smlabt  r6, r9, r3, r6\n"
        "smlad   r7, r9, r3, r7\n"
        "smlabt  r6, r10, r5, r6\n"
        "smlad   r7, r10, r5, r7\n"
        "ldrd    r8, r9, [sp]\n"
        "add     r10, r9, r6, asr #31\n"
        "add     r9, r9, r7, asr #31\n"
        "smmlar  r6, r6, r8, r10\n"
        "smmlar  r7, r7, r8, r9\n"
        "ldrd    r8, r9, [sp, #8]\n"
        "asr     r6, r6, r8\n"
        "asr     r7, r7, r8\n"
        "ssat    r6, #8, r6\n"
        "ssat    r7, #8, r7\n"
        "ldr     r10, [sp, #16]\n"
        "strb    r6, [r12]\n"
        "strb    r7, [r12, r9]\n"
        "add     r12, r12, r9, lsl #1\n"
        "cmp     r12, r10\n"
        "bne.w   1b\n"
        /* The last output of an odd number. */
        "2:\n"
        "ldr     r10, [sp, #20]\n"
        "tst     r10, #1\n"
        "beq     3f\n"
        "ldm     r11!, {r8-r10}\n"
        "smlad   r6, r8, r0, lr\n"
        "smlad   r6, r9, r2, r6\n"
        "smlad   r6, r10, r4, r6\n"
        "ldm     r11, {r8-r10}\n"
        "smlabt  r6, r8, r1, r6\n"
        "smlabt  r6, r9, r3, r6\n"
        "smlabt  r6, r10, r5, r6\n"
        "ldm     sp, {r8-r10}\n"
        "add     r9, r9, r6, asr #31\n"
        "smmlar  r6, r6, r8, r9\n"
        "asr     r6, r6, r10\n"
        "ssat    r6, #8, r6\n"
        "strb    r6, [r12]\n"
        "3:\n"
        "add     sp, sp, #24\n"
        "pop     {r4-r11, pc}\n");
}

UHOST_DSP_ASSEMBLER void
uhost_dsp_depthwise_3x3_stride_2_wide(const uint32_t *window UHOST_DSP_IN_REGISTER,
                                   const uint32_t *record UHOST_DSP_IN_REGISTER,
                                   int8_t *output UHOST_DSP_IN_REGISTER,
                                   const struct uhost_dsp_line *line UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        "push    {r4-r11, lr}\n"
        "sub     sp, sp, #24\n"
        "mov     r11, r0\n"
        "mov     r12, r2\n"
        "ldm     r3, {r6-r10}\n"
        "add     lr, r1, #24\n"
        "add     r6, r6, r1\n"
        "add     r7, r7, r1\n"
        "add     r8, r8, r1\n"
        "ldrd    r0, r1, [r6]\n"
        "ldrd    r2, r3, [r7]\n"
        "ldrd    r4, r5, [r8]\n"
        "strd    r9, r10, [sp, #12]\n"
        "str     r10, [sp, #20]\n"
        "ldm     lr, {r6-r8, r10}\n"
        "mov     lr, r6\n"
        "strd    r7, r8, [sp]\n"
        "str     r10, [sp, #8]\n"
        "ldr     r10, [sp, #20]\n"
        "bic     r10, r10, #1\n"
        "mla     r10, r10, r9, r12\n"
        "str     r10, [sp, #16]\n"
        "cmp     r12, r10\n"
        "beq.w   2f\n"
        "1:\n"
        "ldm     r11!, {r8-r10}\n"
        /* even: x0 w0 + x1 w1 + x2 w2, odd: x2 w0 + x3 w1 + x4 w2 */
        "smlad   r6, r8, r0, lr\n"
        "smlad   r6, r9, r2, r6\n"
        "smlad   r6, r10, r4, r6\n"
        "ldm     r11!, {r8-r10}\n"
        "smlabt  r6, r8, r1, r6\n"
        "smlad   r7, r8, r0, lr\n"
        "smlabt  r6, r9, r3, r6\n"
        "smlad   r7, r9, r2, r7\n"
        "smlabt  r6, r10, r5, r6\n"
        "smlad   r7, r10, r4, r7\n"
        "ldm     r11, {r8-r10}\n"
        "smlabt  r7, r8, r1, r7\n"
        "smlabt  r7, r9, r3, r7\n"
        "smlabt  r7, r10, r5, r7\n"
        "ldrd    r8, r9, [sp]\n"
        "add     r10, r9, r6, asr #31\n"
        "add     r9, r9, r7, asr #31\n"
        "smmlar  r6, r6, r8, r10\n"
        "smmlar  r7, r7, r8, r9\n"
        "ldrd    r8, r9, [sp, #8]\n"
        "asr     r6, r6, r8\n"
        "asr     r7, r7, r8\n"
        "ssat    r6, #8, r6\n"
        "ssat    r7, #8, r7\n"
        "ldr     r10, [sp, #16]\n"
        "strb    r6, [r12]\n"
        "strb    r7, [r12, r9]\n"
        "add     r12, r12, r9, lsl #1\n"
        "cmp     r12, r10\n"
        "bne.w   1b\n"
        /* The last output of an odd number. */
        "2:\n"
        "ldr     r10, [sp, #20]\n"
        "tst     r10, #1\n"
        "beq     3f\n"
        "ldm     r11!, {r8-r10}\n"
        "smlad   r6, r8, r0, lr\n"
        "smlad   r6, r9, r2, r6\n"
        "smlad   r6, r10, r4, r6\n"
        "ldm     r11, {r8-r10}\n"
        "smlabt  r6, r8, r1, r6\n"
        "smlabt  r6, r9, r3, r6\n"
        "smlabt  r6, r10, r5, r6\n"
        "ldm     sp, {r8-r10}\n"
        "add     r9, r9, r6, asr #31\n"
        "smmlar  r6, r6, r8, r9\n"
        "asr     r6, r6, r10\n"
        "ssat    r6, #8, r6\n"
        "strb    r6, [r12]\n"
        "3:\n"
        "add     sp, sp, #24\n"
        "pop     {r4-r11, pc}\n");
}

/*
 * Lines of halfwords, one per channel, two elements per word, out of pixels with channels last.
 *
 * The words of a line lie `pitch` words apart, the lines of neighbouring channels `plane` words.
 * With `odd` the first pixel is the high half of the first word. Halves that no pixel fills are
 * left as they are.
 */

UHOST_DSP_INLINE void uhost_dsp_store_half(uint32_t *word, uint32_t high, uint32_t value)
{
    const uint32_t shift = 16u * high;

    *word = (*word & ~(0xFFFFu << shift)) | ((value & 0xFFFFu) << shift);
}

/* Stores one pixel of four channels into one half of a word of each line. */
UHOST_DSP_INLINE void uhost_dsp_split_pixel(uint32_t *line, uint32_t plane, uint32_t high,
                                            const int8_t *pixel)
{
    const uint32_t word = uhost_dsp_load(pixel);
    const uint32_t even = uhost_dsp_sxtb16(word);
    const uint32_t odd = uhost_dsp_sxtb16_odd(word);

    uhost_dsp_store_half(line, high, even);
    uhost_dsp_store_half(line + plane, high, odd);
    uhost_dsp_store_half(line + 2 * plane, high, even >> 16);
    uhost_dsp_store_half(line + 3 * plane, high, odd >> 16);
}

/* Splits count pixels, `step` bytes apart, into the lines of four channels. */
UHOST_DSP_INLINE void uhost_dsp_split_four(uint32_t *line, uint32_t pitch, uint32_t plane,
                                           uint32_t odd, const int8_t *pixel, uint32_t step,
                                           uint32_t count)
{
    if (odd) {
        uhost_dsp_split_pixel(line, plane, 1, pixel);
        line += pitch;
        pixel += step;
        count--;
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        const uint32_t first = uhost_dsp_load(pixel);
        const uint32_t second = uhost_dsp_load(pixel + step);
        const uint32_t first_even = uhost_dsp_sxtb16(first);
        const uint32_t second_even = uhost_dsp_sxtb16(second);
        const uint32_t first_odd = uhost_dsp_sxtb16_odd(first);
        const uint32_t second_odd = uhost_dsp_sxtb16_odd(second);

        line[0] = uhost_dsp_pack_low(first_even, second_even);
        line[plane] = uhost_dsp_pack_low(first_odd, second_odd);
        line[2 * plane] = uhost_dsp_pack_high(first_even, second_even);
        line[3 * plane] = uhost_dsp_pack_high(first_odd, second_odd);
        line += pitch;
        pixel += 2 * step;
    }
    if (count % 2) {
        uhost_dsp_split_pixel(line, plane, 0, pixel);
    }
}

/* Splits count pixels, `step` bytes apart, into the line of one channel. */
UHOST_DSP_INLINE void uhost_dsp_split_one(uint32_t *line, uint32_t pitch, uint32_t odd,
                                          const int8_t *pixel, uint32_t step, uint32_t count)
{
    for (uint32_t i = odd; i < count + odd; i++) {
        uhost_dsp_store_half(line + i / 2 * pitch, i % 2, (uint32_t)*pixel);
        pixel += step;
    }
}

/* Fills a line of `words` words with a pair of equal halfwords. */
UHOST_DSP_INLINE void uhost_dsp_fill(uint32_t *line, uint32_t pitch, uint32_t words, uint32_t pair)
{
    for (uint32_t i = 0; i < words; i++) {
        line[i * pitch] = pair;
    }
}

/*
 * 3x3 depthwise window over 5 lines of 5 elements, 6 channels. Of four channels at a time,
 * three lines are kept in the window as halfwords, in a ring.
 */
static void depthwise_conv_2d_3x3(const int8_t *input, const uint32_t *records, int8_t *output, uint32_t *window)
{
    struct uhost_dsp_line shape = { { 0 }, 6, 5 };

    uhost_dsp_fill(window, 1, 48, 0xFFFBFFFBu);
    for (uint32_t group = 0; group < 4; group += 4) {
        int32_t next = -1;
        uint32_t slot = 0;
        uint32_t first = 0;
        int8_t *outputs = output + group;

        for (int32_t line = 0; line < 5; line++) {
            for (; next < line * 1 + 2; next++) {
                uint32_t *const lines = window + slot;

                slot = slot == 2 ? 0 : slot + 1;
                if (next >= 0 && next < 5) {
                    const int8_t *const pixels = input + next * 30 + group;
                    const uint32_t odd = 1;

                    uhost_dsp_split_four(lines, 3, 12, odd, pixels, 6, 5);
                } else {
                    for (uint32_t channel = 0; channel < 4; channel++) {
                        uhost_dsp_fill(lines + channel * 12, 3, 4, 0xFFFBFFFBu);
                    }
                }
            }
            shape.rows[first] = 0;
            shape.rows[(first + 1) % 3] = 4;
            shape.rows[(first + 2) % 3] = 8;
            for (uint32_t channel = 0; channel < 4; channel++) {
                const uint32_t *const record = records + (group + channel) * 7;
                const uint32_t *const lines = window + channel * 12;

                uhost_dsp_depthwise_3x3_stride_1(lines, record, outputs + channel, &shape);
            }
            first = (first + 1) % 3;
            outputs += 30;
        }
    }
    for (uint32_t group = 4; group < 6; group += 2) {
        int32_t next = -1;
        uint32_t slot = 0;
        uint32_t first = 0;
        int8_t *outputs = output + group;

        for (int32_t line = 0; line < 5; line++) {
            for (; next < line * 1 + 2; next++) {
                uint32_t *const lines = window + slot;

                slot = slot == 2 ? 0 : slot + 1;
                if (next >= 0 && next < 5) {
                    const int8_t *const pixels = input + next * 30 + group;
                    const uint32_t odd = 1;

                    for (uint32_t channel = 0; channel < 2; channel++) {
                        uhost_dsp_split_one(lines + channel * 12, 3, odd, pixels + channel,
                                            6, 5);
                    }
                } else {
                    for (uint32_t channel = 0; channel < 2; channel++) {
                        uhost_dsp_fill(lines + channel * 12, 3, 4, 0xFFFBFFFBu);
                    }
                }
            }
            shape.rows[first] = 0;
            shape.rows[(first + 1) % 3] = 4;
            shape.rows[(first + 2) % 3] = 8;
            for (uint32_t channel = 0; channel < 2; channel++) {
                const uint32_t *const record = records + (group + channel) * 7;
                const uint32_t *const lines = window + channel * 12;

                uhost_dsp_depthwise_3x3_stride_1(lines, record, outputs + channel, &shape);
            }
            first = (first + 1) % 3;
            outputs += 30;
        }
    }
}
