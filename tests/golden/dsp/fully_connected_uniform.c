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
 * Dot products of one int8 column with the weights of four outputs at a time, all of which have
 * the same factor.
 *
 * Column and weights are those of half-widened products: for each K pair and each pair of outputs
 * (A, B) one word has the halfwords 256 * wB + wA. SMLAD with that word sums 256 * SB + SA,
 * SMLAD with what SXTB16 leaves of it sums SA, and the difference is 256 * SB. The stream for
 * the outputs (A0, B0, A1, B1):
 *     bA0, 256 * bB0 + bA0, bA1, 256 * bB1 + bA1          folded biases
 *     word(A0, B0), word(A1, B1)                           for each K pair
 *
 * (SMMLAR(2x, multiplier, addend) - (x < 0)) >> shift requantises a sum x: the rounding doubling
 * high multiply, then a shift that rounds half away from zero and adds the zero point.
 */
struct uhost_dsp_vector {
    int32_t multiplier;
    int32_t addend;
    uint32_t shift;
    uint32_t pairs; /* K pairs of the column, an even number */
};

/*
 * r0-r3 sums (A0, B0, A1, B1)                r4, r5 two K pairs
 * r6, r7 multiplier, addend                  r8-r11 weights of both K pairs
 * r12 next weight                            lr next K pair
 * stack: column, its end, entry of the loop, output, shift; above what is saved: end of output
 */
UHOST_DSP_ASSEMBLER void
uhost_dsp_vector_product(const uint32_t *column UHOST_DSP_IN_REGISTER,
                         const uint32_t *weights UHOST_DSP_IN_REGISTER,
                         const struct uhost_dsp_vector *vector UHOST_DSP_IN_REGISTER,
                         int8_t *output UHOST_DSP_IN_REGISTER, int8_t *end UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        "push    {r4-r11, lr}\n"
        "sub     sp, sp, #20\n"
        "mov     r12, r1\n"
        "ldm     r2, {r6-r9}\n"
        "add     r1, r0, r9, lsl #2\n"
        /* The loop body has 8 steps of 56 bytes and 2 K pairs; the first round skips some. */
        "rsb     r9, r9, #0\n"
        "ubfx    r9, r9, #1, #3\n"
        "mov     r10, #56\n"
        "adr.w   r11, 2f\n"
        "mla     r2, r9, r10, r11\n"
        "orr     r2, r2, #1\n"
        "stm     sp, {r0-r3, r8}\n"
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
        /* 256 * SB, then twice the sums. */
        "sub     r1, r1, r0\n"
        "sub     r3, r3, r2\n"
        "lsl     r0, r0, #1\n"
        "lsl     r2, r2, #1\n"
        "asr     r1, r1, #7\n"
        "asr     r3, r3, #7\n"
        "ldrd    lr, r8, [sp, #12]\n"
        "smmlar  r4, r0, r6, r7\n"
        "add     r4, r4, r0, asr #31\n"
        "asr     r4, r4, r8\n"
        "ssat    r0, #8, r4\n"
        "smmlar  r4, r1, r6, r7\n"
        "add     r4, r4, r1, asr #31\n"
        "asr     r4, r4, r8\n"
        "ssat    r4, #8, r4\n"
        "bfi     r0, r4, #8, #8\n"
        "smmlar  r4, r2, r6, r7\n"
        "add     r4, r4, r2, asr #31\n"
        "asr     r4, r4, r8\n"
        "ssat    r4, #8, r4\n"
        "bfi     r0, r4, #16, #8\n"
        "smmlar  r4, r3, r6, r7\n"
        "add     r4, r4, r3, asr #31\n"
        "asr     r4, r4, r8\n"
        "ssat    r4, #8, r4\n"
        "bfi     r0, r4, #24, #8\n"
        "ldr     r8, [sp, #56]\n"
        "str     r0, [lr], #4\n"
        "str     lr, [sp, #12]\n"
        "cmp     lr, r8\n"
        "bne.w   1b\n"
        "add     sp, sp, #20\n"
        "pop     {r4-r11, pc}\n");
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
 * 21 values to 6, all with the same factor.
 */
static void fully_connected_uniform(const int8_t *input, const uint32_t *weights, int8_t *output, uint32_t *column)
{
    static const struct uhost_dsp_vector vector = { 2040665002, 1792, 9u, 12u };
    int8_t last[4]; /* 2 of four outputs */

    uhost_dsp_widen(column, input, 21);
    uhost_dsp_vector_product(column, weights, &vector, output, output + 4);
    uhost_dsp_vector_product(column, weights + 28, &vector, last, last + 4);
    output[4] = last[0];
    output[5] = last[1];
}
