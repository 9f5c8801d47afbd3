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

/* Returns whether a pixel lies on an image of that many rows and columns. */
UHOST_DSP_INLINE int uhost_dsp_is_inside(int32_t y, int32_t rows, int32_t x, int32_t columns)
{
    return (uint32_t)y < (uint32_t)rows && (uint32_t)x < (uint32_t)columns;
}

/*
 * Sums of int16 elements times the int8 weights of four channels.
 *
 * Weights lie in words, one per channel for every four elements: SXTB16 of bytes 0 and 2 gives the
 * weights of the first two elements as halfwords, of bytes 1 and 3 those of the others.
 *
 * r0 next elements     r1 next weights     r3 sums     r4-r7 sums of the four channels
 * r8, r9 four elements     r10, r11 weights of two channels     r12 halfwords     lr end
 */
UHOST_DSP_ASSEMBLER void uhost_dsp_int16_sums(const int16_t *column UHOST_DSP_IN_REGISTER,
                                              const uint32_t *weights UHOST_DSP_IN_REGISTER,
                                              uint32_t quads UHOST_DSP_IN_REGISTER,
                                              int32_t *sums UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        "push    {r4-r11, lr}\n"
        "add     lr, r0, r2, lsl #3\n"
        "mov     r4, #0\n"
        "mov     r5, #0\n"
        "mov     r6, #0\n"
        "mov     r7, #0\n"
        "1:\n"
        "ldrd    r8, r9, [r0], #8\n"
        "ldrd    r10, r11, [r1], #8\n"
        "sxtb16  r12, r10\n"
        "sxtb16  r10, r10, ror #8\n"
        "smlad   r4, r8, r12, r4\n"
        "smlad   r4, r9, r10, r4\n"
        "sxtb16  r12, r11\n"
        "sxtb16  r11, r11, ror #8\n"
        "smlad   r5, r8, r12, r5\n"
        "smlad   r5, r9, r11, r5\n"
        "ldrd    r10, r11, [r1], #8\n"
        "sxtb16  r12, r10\n"
        "sxtb16  r10, r10, ror #8\n"
        "smlad   r6, r8, r12, r6\n"
        "smlad   r6, r9, r10, r6\n"
        "sxtb16  r12, r11\n"
        "sxtb16  r11, r11, ror #8\n"
        "smlad   r7, r8, r12, r7\n"
        "smlad   r7, r9, r11, r7\n"
        "cmp     r0, lr\n"
        "bne     1b\n"
        "stm     r3, {r4-r7}\n"
        "pop     {r4-r11, pc}\n");
}

#if defined(__GNUC__)
#define UHOST_MAYBE_UNUSED __attribute__((unused))
#else
#define UHOST_MAYBE_UNUSED
#endif

/* Returns value, or the end of [lowest, highest] that is nearest to it. */
UHOST_MAYBE_UNUSED static inline int32_t uhost_clamp(int32_t value, int32_t lowest, int32_t highest)
{
    if (value < lowest) {
        return lowest;
    }
    return value > highest ? highest : value;
}

/* Returns 2 * a * b / 2^32 rounded to nearest, ties upward; a and b are not both INT32_MIN. */
UHOST_MAYBE_UNUSED static inline int32_t uhost_rounding_doubling_high_multiply(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

/* Returns x / 2^exponent rounded to nearest, ties away from zero; 0 <= exponent <= 31. */
UHOST_MAYBE_UNUSED static inline int32_t uhost_rounding_divide_by_power_of_two(int32_t x,
                                                                              int32_t exponent)
{
    const int32_t mask = (int32_t)(((uint32_t)1 << exponent) - 1u);
    const int32_t remainder = x & mask;
    const int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);

    return (x >> exponent) + (remainder > threshold ? 1 : 0);
}

/*
 * Returns value * multiplier * 2^(shift - 31), rounded twice: by the high multiply and by the
 * right shift. The left shift wraps as a register does; shift <= 31, multiplier > INT32_MIN.
 */
UHOST_MAYBE_UNUSED static inline int32_t uhost_multiply_by_quantized_multiplier(int32_t value,
                                                                                int32_t multiplier,
                                                                                int32_t shift)
{
    if (shift >= 0) {
        return uhost_rounding_doubling_high_multiply((int32_t)((uint32_t)value << shift),
                                                     multiplier);
    }
    if (shift < -31) {
        return 0; /* The product is below 2^31 in size, so less than half of the divisor. */
    }
    return uhost_rounding_divide_by_power_of_two(
        uhost_rounding_doubling_high_multiply(value, multiplier), -shift);
}

/*
 * Returns value * multiplier / 2^shift rounded once, ties upward. The multiplier has 16 bits
 * and value no more than 48, so that the product fits; 1 <= shift <= 46.
 */
static inline int32_t uhost_multiply_wide(int64_t value, int32_t multiplier, int32_t shift)
{
    return (int32_t)((value * multiplier + ((int64_t)1 << (shift - 1))) >> shift);
}

/*
 * 3x3 window, transposed with stride 2x2: 3x4x5 int16 inputs, 6x8x6 outputs. Every
 * phase of the outputs is a convolution with the taps that reach it; the inputs of an output are
 * gathered into a column, which is multiplied by the weights of four channels at a time.
 */
static void transpose_conv_int16(const int16_t *input, const uint32_t *weights, const int64_t *bias, const int32_t *multiplier, const int8_t *shift, int16_t *output, int16_t *column)
{
    static const struct {
        int32_t top;      /* input row and column of the first output's first tap */
        int32_t left;
        int32_t rows;     /* of taps */
        int32_t taps;     /* of a row */
        uint32_t quads;   /* fours of elements of a column */
        uint32_t weights; /* where they begin, in words */
        uint32_t output;  /* where the outputs begin */
        int32_t lines;    /* rows of outputs */
        int32_t outputs;  /* of a row */
    } phases[4] = {
        { -1, -1, 2, 2, 5, 0, 0, 3, 4 },
        { -1, 0, 2, 1, 3, 40, 6, 3, 4 },
        { 0, -1, 1, 2, 3, 64, 48, 3, 4 },
        { 0, 0, 1, 1, 2, 88, 54, 3, 4 },
    };
    int32_t sums[4];

    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t elements = (uint32_t)(phases[i].rows * phases[i].taps) * 5u;
        int16_t *line = output + phases[i].output;

        for (uint32_t element = elements; element < 4 * phases[i].quads; element++) {
            column[element] = 0;
        }
        for (int32_t y = phases[i].top; y < phases[i].top + phases[i].lines; y++) {
            int16_t *target = line;

            for (int32_t x = phases[i].left; x < phases[i].left + phases[i].outputs; x++) {
                const uint32_t *next = weights + phases[i].weights;
                int16_t *element = column;

                for (int32_t in_y = y; in_y < y + phases[i].rows; in_y++) {
                    for (int32_t in_x = x; in_x < x + phases[i].taps; in_x++) {
                        if (uhost_dsp_is_inside(in_y, 3, in_x, 4)) {
                            __builtin_memcpy(element, input + (in_y * 4 + in_x) * 5, 10);
                        } else {
                            __builtin_memset(element, 0, 10);
                        }
                        element += 5;
                    }
                }
                for (int32_t channel = 0; channel < 6; channel++) {
                    int32_t scaled;

                    if (channel % 4 == 0) {
                        uhost_dsp_int16_sums(column, next, phases[i].quads, sums);
                        next += 4 * phases[i].quads;
                    }
                    scaled = uhost_multiply_wide((int64_t)sums[channel % 4] + bias[channel], multiplier[channel], shift[channel]);
                    target[channel] = (int16_t)uhost_clamp(scaled, -32768, 32767);
                }
                target += 12;
            }
            line += 96;
        }
    }
}
