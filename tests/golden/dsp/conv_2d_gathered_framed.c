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
 * Columns of two pixels, as uhost_dsp_product reads them, from windows of 4 rows of 3 bytes.
 * The bytes of all rows are joined in pairs.
 *
 * r0 columns     r1, r2 rows of the two windows     r3, r12 from row to row     r4-r9 bytes
 * lr first column     r10, r11 bytes left over, a pair of each window
 */
UHOST_DSP_ASSEMBLER void uhost_dsp_gather_4x3(uint32_t *columns UHOST_DSP_IN_REGISTER,
                                        const int8_t *const *windows UHOST_DSP_IN_REGISTER,
                                        const uint32_t *steps UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        "push    {r4-r11, lr}\n"
        "ldrd    r3, r12, [r2]\n"
        "ldrd    r1, r2, [r1]\n"
        "mov     lr, r0\n"
        "ldrsb   r10, [r1, #0]\n"
        "ldrsb   r11, [r2, #0]\n"
        "ldrsb   r4, [r1, #1]\n"
        "ldrsb   r5, [r2, #1]\n"
        "pkhbt   r10, r10, r4, lsl #16\n"
        "pkhbt   r11, r11, r5, lsl #16\n"
        "strd    r10, r11, [lr, #0]\n"
        "ldrsb   r10, [r1, #2]\n"
        "ldrsb   r11, [r2, #2]\n"
        "add     r1, r1, r3\n"
        "add     r2, r2, r12\n"
        "ldrsb   r4, [r1, #0]\n"
        "ldrsb   r5, [r2, #0]\n"
        "pkhbt   r10, r10, r4, lsl #16\n"
        "pkhbt   r11, r11, r5, lsl #16\n"
        "strd    r10, r11, [lr, #8]\n"
        "ldrsb   r10, [r1, #1]\n"
        "ldrsb   r11, [r2, #1]\n"
        "ldrsb   r4, [r1, #2]\n"
        "ldrsb   r5, [r2, #2]\n"
        "pkhbt   r10, r10, r4, lsl #16\n"
        "pkhbt   r11, r11, r5, lsl #16\n"
        "strd    r10, r11, [lr, #16]\n"
        "add     r1, r1, r3\n"
        "add     r2, r2, r12\n"
        "ldrsb   r10, [r1, #0]\n"
        "ldrsb   r11, [r2, #0]\n"
        "ldrsb   r4, [r1, #1]\n"
        "ldrsb   r5, [r2, #1]\n"
        "pkhbt   r10, r10, r4, lsl #16\n"
        "pkhbt   r11, r11, r5, lsl #16\n"
        "strd    r10, r11, [lr, #24]\n"
        "ldrsb   r10, [r1, #2]\n"
        "ldrsb   r11, [r2, #2]\n"
        "add     r1, r1, r3\n"
        "add     r2, r2, r12\n"
        "ldrsb   r4, [r1, #0]\n"
        "ldrsb   r5, [r2, #0]\n"
        "pkhbt   r10, r10, r4, lsl #16\n"
        "pkhbt   r11, r11, r5, lsl #16\n"
        "strd    r10, r11, [lr, #32]\n"
        "ldrsb   r10, [r1, #1]\n"
        "ldrsb   r11, [r2, #1]\n"
        "ldrsb   r4, [r1, #2]\n"
        "ldrsb   r5, [r2, #2]\n"
        "pkhbt   r10, r10, r4, lsl #16\n"
        "pkhbt   r11, r11, r5, lsl #16\n"
        "strd    r10, r11, [lr, #40]\n"
        "pop     {r4-r11, pc}\n");
}

/*
 * Dot products of int8 columns with the weights of four output channels at a time.
 *
 * A column holds the inputs of one output pixel as halfwords, two per word: a "K pair".
 * Weights are half-widened: for a K pair and a channel pair (A, B) one word has the
 * halfwords 256 * wB + wA. SMLAD with that word sums 256 * SB + SA. SXTB16 of it leaves
 * exactly wA, and SMLAD with that sums SA. The difference of both sums is 256 * SB, so one
 * unpacking serves two channels and weights take one byte each.
 *
 * The stream for four channels (A0, B0, A1, B1):
 *     bA0, 256 * bB0 + bA0, bA1, 256 * bB1 + bA1          folded biases
 *     word(A0, B0), word(A1, B1)                           for each K pair
 *     requantisation                                       of A0, B0, A1, B1
 *
 * Requantisation of the sum x, in general, from multiplier, addend and shift:
 * SMMLAR(2x, multiplier, addend) is the rounding doubling high multiply, with half of the
 * divisor and the output's zero point in units of it added on top. Subtracting 1 where x is
 * negative makes the following shift round half away from zero. SSAT saturates to int8.
 *
 * Of layers with a fused ReLU, from multiplier and addend: SMMLA, then SSAT with the layer's
 * shift, which is part of the functions' names. The compiler has chosen the numbers, and
 * changed biases by a little, such that the result is the same for every sum that the
 * weights can give. Sums of B are used as they are, times 256.
 */
struct uhost_dsp_product {
    uint32_t pairs;    /* K pairs of a column */
    uint32_t channels; /* output channels, a multiple of 4 */
    uint32_t stride;   /* bytes from one pixel's outputs to the next one's */
};

/* Products of two pixels, or one, by four channels; requantisation of layers with a fused ReLU. */

/*
 * Two pixels by four channels. `columns` has the K pairs of both pixels interleaved:
 * pair 0 of pixel 0, pair 0 of pixel 1, pair 1 of pixel 0, ...
 *
 * r0-r3 sums of pixel 0 (A0, B0, A1, B1)     r4-r7 sums of pixel 1
 * r8, r9 a K pair of pixel 0 and 1           r11, r12 weights of (A0, B0) and (A1, B1)
 * r10 next weight                            lr next K pair
 * stack: columns, their end, entry of the loop, output, stride, end of output
 */
UHOST_DSP_ASSEMBLER void
uhost_dsp_product_2x4_shift_6(const uint32_t *columns UHOST_DSP_IN_REGISTER,
                      const uint32_t *weights UHOST_DSP_IN_REGISTER,
                      int8_t *output UHOST_DSP_IN_REGISTER,
                      const struct uhost_dsp_product *product UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        "push    {r4-r11, lr}\n"
        "sub     sp, sp, #24\n"
        "ldm     r3, {r4-r6}\n"
        "add     r7, r0, r4, lsl #3\n"
        /* The loop body has 8 steps of 48 bytes; the first round skips -pairs mod 8. */
        "rsb     r8, r4, #0\n"
        "and     r8, r8, #7\n"
        "mov     r9, #48\n"
        "adr.w   r12, 2f\n"
        "mla     r8, r8, r9, r12\n"
        "orr     r8, r8, #1\n"
        "add     r9, r2, r5\n"
        "mov     r10, r1\n"
        "stm     sp, {r0, r7, r8}\n"
        "strd    r2, r6, [sp, #12]\n"
        "str     r9, [sp, #20]\n"
        "1:\n"
        "ldm     r10, {r0-r3}\n"
        "ldm     r10!, {r4-r7}\n"
        "ldr     lr, [sp]\n"
        "ldr     pc, [sp, #8]\n"
        ".balign 4\n"
        "2:\n"
        "ldrd    r8, r9, [lr], #8\n"
        "ldrd    r11, r12, [r10], #8\n"
        "smlad   r1, r8, r11, r1\n"
        "smlad   r5, r9, r11, r5\n"
        "smlad   r3, r8, r12, r3\n"
        "smlad   r7, r9, r12, r7\n"
        "sxtb16  r11, r11\n"
        "sxtb16  r12, r12\n"
        "smlad   r0, r8, r11, r0\n"
        "smlad   r4, r9, r11, r4\n"
        "smlad   r2, r8, r12, r2\n"
        "smlad   r6, r9, r12, r6\n"
        "ldrd    r8, r9, [lr], #8\n"
        "ldrd    r11, r12, [r10], #8\n"
        "smlad   r1, r8, r11, r1\n"
        "smlad   r5, r9, r11, r5\n"
        "smlad   r3, r8, r12, r3\n"
        "smlad   r7, r9, r12, r7\n"
        "sxtb16  r11, r11\n"
        "sxtb16  r12, r12\n"
        "smlad   r0, r8, r11, r0\n"
        "smlad   r4, r9, r11, r4\n"
        "smlad   r2, r8, r12, r2\n"
        "smlad   r6, r9, r12, r6\n"
        "ldrd    r8, r9, [lr], #8\n"
        "ldrd    r11, r12, [r10], #8\n"
        "smlad   r1, r8, r11, r1\n"
        "smlad   r5, r9, r11, r5\n"
        "smlad   r3, r8, r12, r3\n"
        "smlad   r7, r9, r12, r7\n"
        "sxtb16  r11, r11\n"
        "sxtb16  r12, r12\n"
        "smlad   r0, r8, r11, r0\n"
        "smlad   r4, r9, r11, r4\n"
        "smlad   r2, r8, r12, r2\n"
        "smlad   r6, r9, r12, r6\n"
        "ldrd    r8, r9, [lr], #8\n"
        "ldrd    r11, r12, [r10], #8\n"
        "smlad   r1, r8, r11, r1\n"
        "smlad   r5, r9, r11, r5\n"
        "smlad   r3, r8, r12, r3\n"
        "smlad   r7, r9, r12, r7\n"
        "sxtb16  r11, r11\n"
        "sxtb16  r12, r12\n"
        "smlad   r0, r8, r11, r0\n"
        "smlad   r4, r9, r11, r4\n"
        "smlad   r2, r8, r12, r2\n"
        "smlad   r6, r9, r12, r6\n"
        "ldrd    r8, r9, [lr], #8\n"
        "ldrd    r11, r12, [r10], #8\n"
        "smlad   r1, r8, r11, r1\n"
        "smlad   r5, r9, r11, r5\n"
        "smlad   r3, r8, r12, r3\n"
        "smlad   r7, r9, r12, r7\n"
        "sxtb16  r11, r11\n"
        "sxtb16  r12, r12\n"
        "smlad   r0, r8, r11, r0\n"
        "smlad   r4, r9, r11, r4\n"
        "smlad   r2, r8, r12, r2\n"
        "smlad   r6, r9, r12, r6\n"
        "ldrd    r8, r9, [lr], #8\n"
        "ldrd    r11, r12, [r10], #8\n"
        "smlad   r1, r8, r11, r1\n"
        "smlad   r5, r9, r11, r5\n"
        "smlad   r3, r8, r12, r3\n"
        "smlad   r7, r9, r12, r7\n"
        "sxtb16  r11, r11\n"
        "sxtb16  r12, r12\n"
        "smlad   r0, r8, r11, r0\n"
        "smlad   r4, r9, r11, r4\n"
        "smlad   r2, r8, r12, r2\n"
        "smlad   r6, r9, r12, r6\n"
        "ldrd    r8, r9, [lr], #8\n"
        "ldrd    r11, r12, [r10], #8\n"
        "smlad   r1, r8, r11, r1\n"
        "smlad   r5, r9, r11, r5\n"
        "smlad   r3, r8, r12, r3\n"
        "smlad   r7, r9, r12, r7\n"
        "sxtb16  r11, r11\n"
        "sxtb16  r12, r12\n"
        "smlad   r0, r8, r11, r0\n"
        "smlad   r4, r9, r11, r4\n"
        "smlad   r2, r8, r12, r2\n"
        "smlad   r6, r9, r12, r6\n"
        "ldrd    r8, r9, [lr], #8\n"
        "ldrd    r11, r12, [r10], #8\n"
        "smlad   r1, r8, r11, r1\n"
        "smlad   r5, r9, r11, r5\n"
        "smlad   r3, r8, r12, r3\n"
        "smlad   r7, r9, r12, r7\n"
        "sxtb16  r11, r11\n"
        "sxtb16  r12, r12\n"
        "smlad   r0, r8, r11, r0\n"
        "smlad   r4, r9, r11, r4\n"
        "smlad   r2, r8, r12, r2\n"
        "smlad   r6, r9, r12, r6\n"
        "ldr     r8, [sp, #4]\n"
        "cmp     lr, r8\n"
        "bne.w   2b\n"
        /* 256 * SB. */
        "sub     r1, r1, r0\n"
        "sub     r5, r5, r4\n"
        "sub     r3, r3, r2\n"
        "sub     r7, r7, r6\n"
        "ldm     r10!, {r8, r9, r11, r12}\n"
        "smmla   r0, r0, r8, r9\n"
        "smmla   r4, r4, r8, r9\n"
        "smmla   r1, r1, r11, r12\n"
        "smmla   r5, r5, r11, r12\n"
        "ssat    r0, #8, r0, asr #6\n"
        "ssat    r4, #8, r4, asr #6\n"
        "ssat    r1, #8, r1, asr #14\n"
        "ssat    r5, #8, r5, asr #14\n"
        "ldm     r10!, {r8, r9, r11, r12}\n"
        "smmla   r2, r2, r8, r9\n"
        "smmla   r6, r6, r8, r9\n"
        "smmla   r3, r3, r11, r12\n"
        "smmla   r7, r7, r11, r12\n"
        "ssat    r2, #8, r2, asr #6\n"
        "ssat    r6, #8, r6, asr #6\n"
        "ssat    r3, #8, r3, asr #14\n"
        "ssat    r7, #8, r7, asr #14\n"
        "ldrd    lr, r8, [sp, #12]\n"
        "bfi     r0, r1, #8, #8\n"
        "bfi     r0, r2, #16, #8\n"
        "bfi     r0, r3, #24, #8\n"
        "bfi     r4, r5, #8, #8\n"
        "bfi     r4, r6, #16, #8\n"
        "bfi     r4, r7, #24, #8\n"
        "str     r4, [lr, r8]\n"
        "str     r0, [lr], #4\n"
        "ldr     r8, [sp, #20]\n"
        "str     lr, [sp, #12]\n"
        "cmp     lr, r8\n"
        "bne.w   1b\n"
        "add     sp, sp, #24\n"
        "pop     {r4-r11, pc}\n");
}

/*
 * One pixel by four channels, for the last pixel of an odd number and for vectors.
 * The number of K pairs is even; the stride is not used.
 *
 * r0-r3 sums (A0, B0, A1, B1)                r4, r5 two K pairs
 * r8, r9 weights of K pair 0                 r10, r11 weights of K pair 1
 * r12 next weight                            lr next K pair
 * stack: columns, their end, entry of the loop, output, end of output
 */
UHOST_DSP_ASSEMBLER void
uhost_dsp_product_1x4_shift_6(const uint32_t *columns UHOST_DSP_IN_REGISTER,
                      const uint32_t *weights UHOST_DSP_IN_REGISTER,
                      int8_t *output UHOST_DSP_IN_REGISTER,
                      const struct uhost_dsp_product *product UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        "push    {r4-r11, lr}\n"
        "sub     sp, sp, #20\n"
        "ldm     r3, {r4, r5}\n"
        "add     r7, r0, r4, lsl #2\n"
        /* The loop body has 8 steps of 56 bytes and 2 K pairs; the first round skips some. */
        "rsb     r8, r4, #0\n"
        "ubfx    r8, r8, #1, #3\n"
        "mov     r9, #56\n"
        "adr.w   r12, 2f\n"
        "mla     r8, r8, r9, r12\n"
        "orr     r8, r8, #1\n"
        "add     r9, r2, r5\n"
        "mov     r12, r1\n"
        "stm     sp, {r0, r7, r8}\n"
        "strd    r2, r9, [sp, #12]\n"
        "1:\n"
        "ldm     r12!, {r0-r3}\n"
        "ldr     lr, [sp]\n"
        "ldr     pc, [sp, #8]\n"
        ".balign 4\n"
        "2:\n"
        "ldm     lr!, {r4, r5}\n"
        "ldm     r12!, {r8-r11}\n"
        "smlad   r1, r4, r8, r1\n"
        "smlad   r3, r4, r9, r3\n"
        "smlad   r1, r5, r10, r1\n"
        "smlad   r3, r5, r11, r3\n"
        "sxtb16  r8, r8\n"
        "sxtb16  r9, r9\n"
        "sxtb16  r10, r10\n"
        "sxtb16  r11, r11\n"
        "smlad   r0, r4, r8, r0\n"
        "smlad   r2, r4, r9, r2\n"
        "smlad   r0, r5, r10, r0\n"
        "smlad   r2, r5, r11, r2\n"
        "ldm     lr!, {r4, r5}\n"
        "ldm     r12!, {r8-r11}\n"
        "smlad   r1, r4, r8, r1\n"
        "smlad   r3, r4, r9, r3\n"
        "smlad   r1, r5, r10, r1\n"
        "smlad   r3, r5, r11, r3\n"
        "sxtb16  r8, r8\n"
        "sxtb16  r9, r9\n"
        "sxtb16  r10, r10\n"
        "sxtb16  r11, r11\n"
        "smlad   r0, r4, r8, r0\n"
        "smlad   r2, r4, r9, r2\n"
        "smlad   r0, r5, r10, r0\n"
        "smlad   r2, r5, r11, r2\n"
        "ldm     lr!, {r4, r5}\n"
        "ldm     r12!, {r8-r11}\n"
        "smlad   r1, r4, r8, r1\n"
        "smlad   r3, r4, r9, r3\n"
        "smlad   r1, r5, r10, r1\n"
        "smlad   r3, r5, r11, r3\n"
        "sxtb16  r8, r8\n"
        "sxtb16  r9, r9\n"
        "sxtb16  r10, r10\n"
        "sxtb16  r11, r11\n"
        "smlad   r0, r4, r8, r0\n"
        "smlad   r2, r4, r9, r2\n"
        "smlad   r0, r5, r10, r0\n"
        "smlad   r2, r5, r11, r2\n"
        "ldm     lr!, {r4, r5}\n"
        "ldm     r12!, {r8-r11}\n"
        "smlad   r1, r4, r8, r1\n"
        "smlad   r3, r4, r9, r3\n"
        "smlad   r1, r5, r10, r1\n"
        "smlad   r3, r5, r11, r3\n"
        "sxtb16  r8, r8\n"
        "sxtb16  r9, r9\n"
        "sxtb16  r10, r10\n"
        "sxtb16  r11, r11\n"
        "smlad   r0, r4, r8, r0\n"
        "smlad   r2, r4, r9, r2\n"
        "smlad   r0, r5, r10, r0\n"
        "smlad   r2, r5, r11, r2\n"
        "ldm     lr!, {r4, r5}\n"
        "ldm     r12!, {r8-r11}\n"
        "smlad   r1, r4, r8, r1\n"
        "smlad   r3, r4, r9, r3\n"
        "smlad   r1, r5, r10, r1\n"
        "smlad   r3, r5, r11, r3\n"
        "sxtb16  r8, r8\n"
        "sxtb16  r9, r9\n"
        "sxtb16  r10, r10\n"
        "sxtb16  r11, r11\n"
        "smlad   r0, r4, r8, r0\n"
        "smlad   r2, r4, r9, r2\n"
        "smlad   r0, r5, r10, r0\n"
        "smlad   r2, r5, r11, r2\n"
        "ldm     lr!, {r4, r5}\n"
        "ldm     r12!, {r8-r11}\n"
        "smlad   r1, r4, r8, r1\n"
        "smlad   r3, r4, r9, r3\n"
        "smlad   r1, r5, r10, r1\n"
        "smlad   r3, r5, r11, r3\n"
        "sxtb16  r8, r8\n"
        "sxtb16  r9, r9\n"
        "sxtb16  r10, r10\n"
        "sxtb16  r11, r11\n"
        "smlad   r0, r4, r8, r0\n"
        "smlad   r2, r4, r9, r2\n"
        "smlad   r0, r5, r10, r0\n"
        "smlad   r2, r5, r11, r2\n"
        "ldm     lr!, {r4, r5}\n"
        "ldm     r12!, {r8-r11}\n"
        "smlad   r1, r4, r8, r1\n"
        "smlad   r3, r4, r9, r3\n"
        "smlad   r1, r5, r10, r1\n"
        "smlad   r3, r5, r11, r3\n"
        "sxtb16  r8, r8\n"
        "sxtb16  r9, r9\n"
        "sxtb16  r10, r10\n"
        "sxtb16  r11, r11\n"
        "smlad   r0, r4, r8, r0\n"
        "smlad   r2, r4, r9, r2\n"
        "smlad   r0, r5, r10, r0\n"
        "smlad   r2, r5, r11, r2\n"
        "ldm     lr!, {r4, r5}\n"
        "ldm     r12!, {r8-r11}\n"
        "smlad   r1, r4, r8, r1\n"
        "smlad   r3, r4, r9, r3\n"
        "smlad   r1, r5, r10, r1\n"
        "smlad   r3, r5, r11, r3\n"
        "sxtb16  r8, r8\n"
        "sxtb16  r9, r9\n"
        "sxtb16  r10, r10\n"
        "sxtb16  r11, r11\n"
        "smlad   r0, r4, r8, r0\n"
        "smlad   r2, r4, r9, r2\n"
        "smlad   r0, r5, r10, r0\n"
        "smlad   r2, r5, r11, r2\n"
        "ldr     r8, [sp, #4]\n"
        "cmp     lr, r8\n"
        "bne.w   2b\n"
        /* 256 * SB. */
        "sub     r1, r1, r0\n"
        "sub     r3, r3, r2\n"
        "ldm     r12!, {r4-r11}\n"
        "smmla   r0, r0, r4, r5\n"
        "smmla   r1, r1, r6, r7\n"
        "smmla   r2, r2, r8, r9\n"
        "smmla   r3, r3, r10, r11\n"
        "ssat    r0, #8, r0, asr #6\n"
        "ssat    r1, #8, r1, asr #14\n"
        "ssat    r2, #8, r2, asr #6\n"
        "ssat    r3, #8, r3, asr #14\n"
        "ldrd    lr, r8, [sp, #12]\n"
        "bfi     r0, r1, #8, #8\n"
        "bfi     r0, r2, #16, #8\n"
        "bfi     r0, r3, #24, #8\n"
        "str     r0, [lr], #4\n"
        "str     lr, [sp, #12]\n"
        "cmp     lr, r8\n"
        "bne.w   1b\n"
        "add     sp, sp, #20\n"
        "pop     {r4-r11, pc}\n");
}

/* Rows of bytes to be copied, and the bytes from row to row. */
struct uhost_dsp_rows {
    uint32_t rows;
    uint32_t bytes; /* of a row */
    uint32_t source_step;
    uint32_t target_step;
};

/* Copies rows, which may begin at any address, by words and then by bytes. */
UHOST_DSP_INLINE void uhost_dsp_copy_rows(int8_t *target, const int8_t *source,
                                          const struct uhost_dsp_rows *shape)
{
    for (uint32_t row = 0; row < shape->rows; row++) {
        uint32_t i = 0;

        for (; i + 4 <= shape->bytes; i += 4) {
            const uint32_t word = uhost_dsp_load(source + i);

            __builtin_memcpy(target + i, &word, sizeof word);
        }
        for (; i < shape->bytes; i++) {
            target[i] = source[i];
        }
        source += shape->source_step;
        target += shape->target_step;
    }
}

/*
 * Columns for uhost_dsp_product: int8 elements widened to halfwords, two per word.
 *
 * Every four bytes x0..x3 become the K pairs (x0, x2) and (x1, x3), as SXTB16 leaves them. Of a
 * remainder, one byte becomes (x0, 0), two become (x0, x1), three (x0, x1) and (x2, 0).
 */

/* Returns a K pair of two elements. */
UHOST_DSP_INLINE uint32_t uhost_dsp_pair(const int8_t *source)
{
    return uhost_dsp_pack_low((uint32_t)source[0], (uint32_t)source[1]);
}

/* Returns a K pair of one element and 0. */
UHOST_DSP_INLINE uint32_t uhost_dsp_half_pair(const int8_t *source)
{
    return (uint16_t)source[0];
}

/* Appends size elements to the column of one pixel; returns the end of the column. */
UHOST_DSP_INLINE uint32_t *uhost_dsp_widen(uint32_t *column, const int8_t *source, uint32_t size)
{
    const int8_t *const end = source + (size & ~3u);

    while (source != end) {
        const uint32_t word = uhost_dsp_load(source);

        source += 4;
        *column++ = uhost_dsp_sxtb16(word);
        *column++ = uhost_dsp_sxtb16_odd(word);
    }
    if (size & 2u) {
        *column++ = uhost_dsp_pair(source);
        source += 2;
    }
    if (size & 1u) {
        *column++ = uhost_dsp_half_pair(source);
    }
    return column;
}

/* Appends size elements to the interleaved columns of two pixels; returns their end. */
UHOST_DSP_INLINE uint32_t *uhost_dsp_widen_two(uint32_t *columns, const int8_t *first,
                                               const int8_t *second, uint32_t size)
{
    const int8_t *const end = first + (size & ~3u);

    while (first != end) {
        const uint32_t a = uhost_dsp_load(first);
        const uint32_t b = uhost_dsp_load(second);

        first += 4;
        second += 4;
        *columns++ = uhost_dsp_sxtb16(a);
        *columns++ = uhost_dsp_sxtb16(b);
        *columns++ = uhost_dsp_sxtb16_odd(a);
        *columns++ = uhost_dsp_sxtb16_odd(b);
    }
    if (size & 2u) {
        *columns++ = uhost_dsp_pair(first);
        *columns++ = uhost_dsp_pair(second);
        first += 2;
        second += 2;
    }
    if (size & 1u) {
        *columns++ = uhost_dsp_half_pair(first);
        *columns++ = uhost_dsp_half_pair(second);
    }
    return columns;
}

/*
 * uhost_dsp_widen_two for sources aligned to 4 bytes and a size that is a positive multiple of 8.
 *
 * r0 columns   r1, r2 sources   r3 end of the first source   r4-r7 bytes   r8-r11 K pairs
 */
UHOST_DSP_ASSEMBLER uint32_t *
uhost_dsp_widen_two_aligned(uint32_t *columns UHOST_DSP_IN_REGISTER,
                            const int8_t *first UHOST_DSP_IN_REGISTER,
                            const int8_t *second UHOST_DSP_IN_REGISTER,
                            uint32_t size UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        "push    {r4-r11}\n"
        "add     r3, r1, r3\n"
        "1:\n"
        "ldrd    r4, r5, [r1], #8\n"
        "ldrd    r6, r7, [r2], #8\n"
        "sxtb16  r8, r4\n"
        "sxtb16  r9, r6\n"
        "sxtb16  r10, r4, ror #8\n"
        "sxtb16  r11, r6, ror #8\n"
        "stm     r0!, {r8-r11}\n"
        "sxtb16  r8, r5\n"
        "sxtb16  r9, r7\n"
        "sxtb16  r10, r5, ror #8\n"
        "sxtb16  r11, r7, ror #8\n"
        "stm     r0!, {r8-r11}\n"
        "cmp     r1, r3\n"
        "bne     1b\n"
        "pop     {r4-r11}\n"
        "bx      lr\n");
}

/*
 * 4x3 window over 7x3x1, 6x3x6 outputs. The image is copied into a frame of padding; then the
 * windows of two output pixels are widened into columns at once, which are multiplied by the weights of
 * four channels at a time.
 */
static void conv_2d_gathered_framed(const int8_t *input, const uint32_t *weights, int8_t *output, uint32_t *columns)
{
    static const struct uhost_dsp_rows image = { 7u, 3u, 3u, 5u };
    static const struct uhost_dsp_product product = { 6u, 4u, 6u };
    static const struct uhost_dsp_product rest = { 6u, 4u, 4u };
    static const uint32_t steps[2] = { 5, 5 };
    int8_t *const frame = (int8_t *)(columns + 12);
    const int8_t *windows[2];
    uint32_t y = 0;
    uint32_t x = 0;

    for (uint32_t i = 0; i < 45; i++) {
        frame[i] = -5;
    }
    uhost_dsp_copy_rows(frame + 6, input, &image);
    for (uint32_t pixel = 0; pixel < 18; pixel += 2) {
        windows[0] = frame + y * 5 + x;
        x += 1;
        if (x == 3) {
            x = 0;
            y += 1;
        }
        windows[1] = frame + y * 5 + x;
        x += 1;
        if (x == 3) {
            x = 0;
            y += 1;
        }
        uhost_dsp_gather_4x3(columns, windows, steps);
        uhost_dsp_product_2x4_shift_6(columns, weights, output, &product);
        int8_t last[8]; /* 2 of four channels */

        uhost_dsp_product_2x4_shift_6(columns, weights + 24, last, &rest);
        output[4] = last[0];
        output[5] = last[1];
        output[10] = last[4];
        output[11] = last[5];
        output += 12;
    }
}
