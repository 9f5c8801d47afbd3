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

/* Products of one halfword of each operand, for two channels that lie side by side. */

/* Returns the halfword at source, for products of low halfwords. */
UHOST_DSP_INLINE uint32_t uhost_dsp_half(const int16_t *source)
{
    return (uint16_t)*source;
}

/* Returns sum plus the product of the low halfwords of a and b, modulo 2^32. */
UHOST_DSP_INLINE int32_t uhost_dsp_smlabb(uint32_t a, uint32_t b, int32_t sum)
{
    int32_t result;

    __asm__("smlabb %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
}

/* Returns sum plus the product of the high halfwords of a and b, modulo 2^32. */
UHOST_DSP_INLINE int32_t uhost_dsp_smlatt(uint32_t a, uint32_t b, int32_t sum)
{
    int32_t result;

    __asm__("smlatt %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
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
 * 3x3 depthwise window over 4x5x5 int16, two channels at a time. Weights lie in pairs, one
 * of each channel, tap after tap. The rows under the window are copied to a band, so that no
 * window leaves what it reads.
 */
static void depthwise_conv_2d_int16(const int16_t *input, const uint32_t *weights, const int64_t *bias, const int32_t *multiplier, const int8_t *shift, int16_t *output, int16_t *band)
{
    /* What stays so is left and right of the image. */
    __builtin_memset(band, 0, 210);
    for (int32_t y = -1; y < 3; y += 1) {
        const int16_t *pixel = band;

        for (int32_t row = 0; row < 3; row++) {
            const int32_t in_y = y + row;
            int16_t *const line = band + row * 35 + 5;

            if (in_y < 0 || in_y >= 4) {
                __builtin_memset(line, 0, 50);
                continue;
            }
            __builtin_memcpy(line, input + in_y * 25, 50);
        }
        for (int32_t x = 0; x < 5; x++) {
            const uint32_t *pairs = weights;

            for (int32_t channel = 0; channel < 4; channel += 2) {
                const int16_t *const elements = pixel + channel;
                int32_t first = 0;
                int32_t second = 0;
                int32_t scaled;
                uint32_t both;

                both = uhost_dsp_load(elements);
                first = uhost_dsp_smlabb(both, pairs[0], first);
                second = uhost_dsp_smlatt(both, pairs[0], second);
                both = uhost_dsp_load(elements + 5);
                first = uhost_dsp_smlabb(both, pairs[1], first);
                second = uhost_dsp_smlatt(both, pairs[1], second);
                both = uhost_dsp_load(elements + 10);
                first = uhost_dsp_smlabb(both, pairs[2], first);
                second = uhost_dsp_smlatt(both, pairs[2], second);
                both = uhost_dsp_load(elements + 35);
                first = uhost_dsp_smlabb(both, pairs[3], first);
                second = uhost_dsp_smlatt(both, pairs[3], second);
                both = uhost_dsp_load(elements + 40);
                first = uhost_dsp_smlabb(both, pairs[4], first);
                second = uhost_dsp_smlatt(both, pairs[4], second);
                both = uhost_dsp_load(elements + 45);
                first = uhost_dsp_smlabb(both, pairs[5], first);
                second = uhost_dsp_smlatt(both, pairs[5], second);
                both = uhost_dsp_load(elements + 70);
                first = uhost_dsp_smlabb(both, pairs[6], first);
                second = uhost_dsp_smlatt(both, pairs[6], second);
                both = uhost_dsp_load(elements + 75);
                first = uhost_dsp_smlabb(both, pairs[7], first);
                second = uhost_dsp_smlatt(both, pairs[7], second);
                both = uhost_dsp_load(elements + 80);
                first = uhost_dsp_smlabb(both, pairs[8], first);
                second = uhost_dsp_smlatt(both, pairs[8], second);
                pairs += 9;
                scaled = uhost_multiply_wide((int64_t)first + bias[channel], multiplier[channel], shift[channel]);
                *output++ = (int16_t)uhost_clamp(scaled, -32768, 32767);
                scaled = uhost_multiply_wide((int64_t)second + bias[channel + 1], multiplier[channel + 1], shift[channel + 1]);
                *output++ = (int16_t)uhost_clamp(scaled, -32768, 32767);
            }
            {
                const int16_t *const elements = pixel + 4;
                int32_t first = 0;
                int32_t scaled;

                first = uhost_dsp_smlabb(uhost_dsp_half(elements), pairs[0], first);
                first = uhost_dsp_smlabb(uhost_dsp_half(elements + 5), pairs[1], first);
                first = uhost_dsp_smlabb(uhost_dsp_half(elements + 10), pairs[2], first);
                first = uhost_dsp_smlabb(uhost_dsp_half(elements + 35), pairs[3], first);
                first = uhost_dsp_smlabb(uhost_dsp_half(elements + 40), pairs[4], first);
                first = uhost_dsp_smlabb(uhost_dsp_half(elements + 45), pairs[5], first);
                first = uhost_dsp_smlabb(uhost_dsp_half(elements + 70), pairs[6], first);
                first = uhost_dsp_smlabb(uhost_dsp_half(elements + 75), pairs[7], first);
                first = uhost_dsp_smlabb(uhost_dsp_half(elements + 80), pairs[8], first);
                pairs += 9;
                scaled = uhost_multiply_wide((int64_t)first + bias[4], multiplier[4], shift[4]);
                *output++ = (int16_t)uhost_clamp(scaled, -32768, 32767);
            }
            pixel += 5;
        }
    }
}
