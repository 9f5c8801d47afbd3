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
 * 5x2 depthwise window over 5 lines of 5 elements, 6 channels. Of four
 * channels at a time, the lines of the window are kept as halfwords, in a ring; the rows of weights
 * are brought into the same order. A channel's record: bias, multiplier, addend, shift, and pairs of
 * weights.
 */
static void depthwise_conv_2d(const int8_t *input, const uint32_t *records, int8_t *output, uint32_t *window)
{
    uhost_dsp_fill(window, 1, 60, 0xFFFBFFFBu);
    for (uint32_t group = 0; group < 4; group += 4) {
        int32_t next = 0;
        uint32_t slot = 0;
        uint32_t first = 0;
        int8_t *outputs = output + group;

        for (int32_t line = 0; line < 1; line++) {
            for (; next < line * 1 + 5; next++) {
                uint32_t *const lines = window + slot * 3;

                slot = slot == 4 ? 0 : slot + 1;
                if (next >= 0 && next < 5) {
                    const int8_t *const pixels = input + next * 30 + group;
                    const uint32_t odd = 0;

                    uhost_dsp_split_four(lines, 1, 15, odd, pixels, 6, 5);
                } else {
                    for (uint32_t channel = 0; channel < 4; channel++) {
                        uhost_dsp_fill(lines + channel * 15, 1, 3, 0xFFFBFFFBu);
                    }
                }
            }
            for (uint32_t channel = 0; channel < 4; channel++) {
                const uint32_t *const record = records + (group + channel) * 9;
                const int16_t *elements = (const int16_t *)(window + channel * 15);
                uint32_t weights[5];

                for (uint32_t row = 0; row < 5; row++) {
                    const uint32_t *const source = record + 4 + (row < first ? row + 5 - first : row - first);

                    weights[row] = source[0];
                }
                for (uint32_t i = 0; i < 4; i++) {
                    int32_t sum = (int32_t)record[0];

                    sum = uhost_dsp_smlad(uhost_dsp_load(elements), weights[0], sum);
                    sum = uhost_dsp_smlad(uhost_dsp_load(elements + 6), weights[1], sum);
                    sum = uhost_dsp_smlad(uhost_dsp_load(elements + 12), weights[2], sum);
                    sum = uhost_dsp_smlad(uhost_dsp_load(elements + 18), weights[3], sum);
                    sum = uhost_dsp_smlad(uhost_dsp_load(elements + 24), weights[4], sum);
                    outputs[i * 6 + channel] = uhost_dsp_requantize(sum, record + 1);
                    elements += 1;
                }
            }
            first = (first + 1) % 5;
            outputs += 24;
        }
    }
    for (uint32_t group = 4; group < 6; group += 2) {
        int32_t next = 0;
        uint32_t slot = 0;
        uint32_t first = 0;
        int8_t *outputs = output + group;

        for (int32_t line = 0; line < 1; line++) {
            for (; next < line * 1 + 5; next++) {
                uint32_t *const lines = window + slot * 3;

                slot = slot == 4 ? 0 : slot + 1;
                if (next >= 0 && next < 5) {
                    const int8_t *const pixels = input + next * 30 + group;
                    const uint32_t odd = 0;

                    for (uint32_t channel = 0; channel < 2; channel++) {
                        uhost_dsp_split_one(lines + channel * 15, 1, odd, pixels + channel,
                                            6, 5);
                    }
                } else {
                    for (uint32_t channel = 0; channel < 2; channel++) {
                        uhost_dsp_fill(lines + channel * 15, 1, 3, 0xFFFBFFFBu);
                    }
                }
            }
            for (uint32_t channel = 0; channel < 2; channel++) {
                const uint32_t *const record = records + (group + channel) * 9;
                const int16_t *elements = (const int16_t *)(window + channel * 15);
                uint32_t weights[5];

                for (uint32_t row = 0; row < 5; row++) {
                    const uint32_t *const source = record + 4 + (row < first ? row + 5 - first : row - first);

                    weights[row] = source[0];
                }
                for (uint32_t i = 0; i < 4; i++) {
                    int32_t sum = (int32_t)record[0];

                    sum = uhost_dsp_smlad(uhost_dsp_load(elements), weights[0], sum);
                    sum = uhost_dsp_smlad(uhost_dsp_load(elements + 6), weights[1], sum);
                    sum = uhost_dsp_smlad(uhost_dsp_load(elements + 12), weights[2], sum);
                    sum = uhost_dsp_smlad(uhost_dsp_load(elements + 18), weights[3], sum);
                    sum = uhost_dsp_smlad(uhost_dsp_load(elements + 24), weights[4], sum);
                    outputs[i * 6 + channel] = uhost_dsp_requantize(sum, record + 1);
                    elements += 1;
                }
            }
            first = (first + 1) % 5;
            outputs += 24;
        }
    }
}
