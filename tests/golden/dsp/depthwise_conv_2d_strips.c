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

/* What the outputs of some lines have in common, for up to four channels. */
struct uhost_dsp_windows {
    uint32_t step;     /* bytes from one output of a line to the next */
    uint32_t channels;
    uint32_t lines;
    uint32_t line_gap; /* bytes from where a line's next output would be to the next line */
    uint32_t plane;    /* bytes from one channel's input lines to the next channel's */
};

/*
 * The numbers of one channel as the routines of depthwise windows read them: 3 words of bias and
 * requantisation, then pairs of weights times 256, made of bytes (w0, w1, w1, w2): halfwords
 * (w0, w1), then (w1, w2).
 */
__attribute__((unused, noinline)) static void uhost_dsp_depthwise_numbers_256(uint32_t *numbers,
                                                                          const uint32_t *record,
                                                                          uint32_t words)
{
    const uint32_t *const end = record + words;

    numbers[0] = record[0];
    numbers[1] = record[1];
    numbers[2] = record[2];
    numbers += 3;
    for (record += 3; record != end; record++) {
        const uint32_t word = *record;

        numbers[0] = word << 8 & 0xFF00FF00u;
        numbers[1] = word & 0xFF00FF00u;
        numbers += 2;
    }
}

/*
 * 5x5 depthwise windows over lines of 9 outputs, of layers with a fused ReLU; four neighbouring outputs at a time.
 *
 * The lines of one channel are halfwords, 28 bytes apart. Of each line of the window, its words
 * (x0, x1), (x2, x3), ... are loaded in turn, and multiplied by the pairs of weights that they meet:
 * of an even output these are (w0, w1), (w2, w3), ..., of an odd one w0, (w1, w2), (w3, w4), ...
 *
 * numbers: 256 times the bias, multiplier, addend; then the pairs of weights of every line, times 256.
 * SMMLA and SSAT by 6 + 8 requantise; see uhost_dsp_product.
 *
 * r0-r3 sums of neighbouring outputs     r4-r7 pairs of weights, number i in r(4 + i mod 4)
 * r8, r9 elements, then scratch          r10 step from output to output
 * r11 line of elements                   r12 next weights     lr output
 * stack: bias, multiplier, addend, end of the blocks of four, lines left, gap after a line
 */

UHOST_DSP_ASSEMBLER void
uhost_dsp_depthwise_5x5_9_pitch_28_stride_11_shift_6(
    const uint32_t *lines UHOST_DSP_IN_REGISTER, const uint32_t *numbers UHOST_DSP_IN_REGISTER,
    int8_t *output UHOST_DSP_IN_REGISTER,
    const struct uhost_dsp_windows *windows UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        "push    {r4-r11, lr}\n"
        "sub     sp, sp, #28\n"
        "sub     r11, r0, #28\n"
        "ldr     r10, [r3]\n"
        "ldrd    r8, r9, [r3, #8]\n"
        "ldm     r1!, {r4-r6}\n"
        "mov     r12, r1\n"
        "mov     lr, r2\n"
        "stm     sp, {r4-r6}\n"
        "strd    r8, r9, [sp, #16]\n"
        "1:\n"
        "add     r8, r11, #16\n"
        "str     r8, [sp, #12]\n"
        /* Four outputs: the one of number i begins at element i. */
        "2:\n"
        "ldr     r3, [sp]\n"
        /* line 0 */
        "ldrd    r8, r9, [r11, #28]!\n"
        "ldm     r12!, {r4-r7}\n"
        "smlad   r0, r8, r4, r3\n"
        "smlatb  r1, r8, r4, r3\n"
        "smlad   r0, r9, r6, r0\n"
        "smlad   r1, r9, r5, r1\n"
        "smlad   r2, r9, r4, r3\n"
        "smlatb  r3, r9, r4, r3\n"
        "ldrd    r8, r9, [r11, #8]\n"
        "smlabt  r0, r8, r7, r0\n"
        "smlad   r1, r8, r7, r1\n"
        "smlad   r2, r8, r6, r2\n"
        "smlad   r3, r8, r5, r3\n"
        "smlabt  r2, r9, r7, r2\n"
        "smlad   r3, r9, r7, r3\n"
        /* line 1 */
        "ldrd    r8, r9, [r11, #28]!\n"
        "ldm     r12!, {r4-r7}\n"
        "smlad   r0, r8, r4, r0\n"
        "smlatb  r1, r8, r4, r1\n"
        "smlad   r0, r9, r6, r0\n"
        "smlad   r1, r9, r5, r1\n"
        "smlad   r2, r9, r4, r2\n"
        "smlatb  r3, r9, r4, r3\n"
        "ldrd    r8, r9, [r11, #8]\n"
        "smlabt  r0, r8, r7, r0\n"
        "smlad   r1, r8, r7, r1\n"
        "smlad   r2, r8, r6, r2\n"
        "smlad   r3, r8, r5, r3\n"
        "smlabt  r2, r9, r7, r2\n"
        "smlad   r3, r9, r7, r3\n"
        /* line 2 */
        "ldrd    r8, r9, [r11, #28]!\n"
        "ldm     r12!, {r4-r7}\n"
        "smlad   r0, r8, r4, r0\n"
        "smlatb  r1, r8, r4, r1\n"
        "smlad   r0, r9, r6, r0\n"
        "smlad   r1, r9, r5, r1\n"
        "smlad   r2, r9, r4, r2\n"
        "smlatb  r3, r9, r4, r3\n"
        "ldrd    r8, r9, [r11, #8]\n"
        "smlabt  r0, r8, r7, r0\n"
        "smlad   r1, r8, r7, r1\n"
        "smlad   r2, r8, r6, r2\n"
        "smlad   r3, r8, r5, r3\n"
        "smlabt  r2, r9, r7, r2\n"
        "smlad   r3, r9, r7, r3\n"
        /* line 3 */
        "ldrd    r8, r9, [r11, #28]!\n"
        "ldm     r12!, {r4-r7}\n"
        "smlad   r0, r8, r4, r0\n"
        "smlatb  r1, r8, r4, r1\n"
        "smlad   r0, r9, r6, r0\n"
        "smlad   r1, r9, r5, r1\n"
        "smlad   r2, r9, r4, r2\n"
        "smlatb  r3, r9, r4, r3\n"
        "ldrd    r8, r9, [r11, #8]\n"
        "smlabt  r0, r8, r7, r0\n"
        "smlad   r1, r8, r7, r1\n"
        "smlad   r2, r8, r6, r2\n"
        "smlad   r3, r8, r5, r3\n"
        "smlabt  r2, r9, r7, r2\n"
        "smlad   r3, r9, r7, r3\n"
        /* line 4 */
        "ldrd    r8, r9, [r11, #28]!\n"
        "ldm     r12!, {r4-r7}\n"
        "smlad   r0, r8, r4, r0\n"
        "smlatb  r1, r8, r4, r1\n"
        "smlad   r0, r9, r6, r0\n"
        "smlad   r1, r9, r5, r1\n"
        "smlad   r2, r9, r4, r2\n"
        "smlatb  r3, r9, r4, r3\n"
        "ldrd    r8, r9, [r11, #8]\n"
        "smlabt  r0, r8, r7, r0\n"
        "smlad   r1, r8, r7, r1\n"
        "smlad   r2, r8, r6, r2\n"
        "smlad   r3, r8, r5, r3\n"
        "smlabt  r2, r9, r7, r2\n"
        "smlad   r3, r9, r7, r3\n"
        /* to int8 */
        "ldrd    r8, r9, [sp, #4]\n"
        "smmla   r0, r0, r8, r9\n"
        "smmla   r1, r1, r8, r9\n"
        "smmla   r2, r2, r8, r9\n"
        "smmla   r3, r3, r8, r9\n"
        "ssat    r0, #8, r0, asr #14\n"
        "ssat    r1, #8, r1, asr #14\n"
        "ssat    r2, #8, r2, asr #14\n"
        "ssat    r3, #8, r3, asr #14\n"
        "strb    r0, [lr]\n"
        "strb    r1, [lr, r10]\n"
        "add     lr, lr, r10, lsl #1\n"
        "strb    r2, [lr]\n"
        "strb    r3, [lr, r10]\n"
        "add     lr, lr, r10, lsl #1\n"
        "sub     r12, r12, #80\n"
        "sub     r11, r11, #132\n"
        "ldr     r8, [sp, #12]\n"
        "cmp     r11, r8\n"
        "bne.w   2b\n"
        /* The last one. */
        "ldr     r0, [sp]\n"
        /* line 0 */
        "ldrd    r8, r9, [r11, #28]!\n"
        "ldm     r12!, {r4-r7}\n"
        "smlad   r0, r8, r4, r0\n"
        "smlad   r0, r9, r6, r0\n"
        "ldr     r8, [r11, #8]\n"
        "smlabt  r0, r8, r7, r0\n"
        /* line 1 */
        "ldrd    r8, r9, [r11, #28]!\n"
        "ldm     r12!, {r4-r7}\n"
        "smlad   r0, r8, r4, r0\n"
        "smlad   r0, r9, r6, r0\n"
        "ldr     r8, [r11, #8]\n"
        "smlabt  r0, r8, r7, r0\n"
        /* line 2 */
        "ldrd    r8, r9, [r11, #28]!\n"
        "ldm     r12!, {r4-r7}\n"
        "smlad   r0, r8, r4, r0\n"
        "smlad   r0, r9, r6, r0\n"
        "ldr     r8, [r11, #8]\n"
        "smlabt  r0, r8, r7, r0\n"
        /* line 3 */
        "ldrd    r8, r9, [r11, #28]!\n"
        "ldm     r12!, {r4-r7}\n"
        "smlad   r0, r8, r4, r0\n"
        "smlad   r0, r9, r6, r0\n"
        "ldr     r8, [r11, #8]\n"
        "smlabt  r0, r8, r7, r0\n"
        /* line 4 */
        "ldrd    r8, r9, [r11, #28]!\n"
        "ldm     r12!, {r4-r7}\n"
        "smlad   r0, r8, r4, r0\n"
        "smlad   r0, r9, r6, r0\n"
        "ldr     r8, [r11, #8]\n"
        "smlabt  r0, r8, r7, r0\n"
        /* to int8 */
        "ldrd    r8, r9, [sp, #4]\n"
        "smmla   r0, r0, r8, r9\n"
        "ssat    r0, #8, r0, asr #14\n"
        "strb    r0, [lr]\n"
        "add     lr, lr, r10\n"
        "sub     r12, r12, #80\n"
        /* The next line. */
        "ldrd    r8, r9, [sp, #16]\n"
        "sub     r11, r11, #128\n"
        "add     lr, lr, r9\n"
        "subs    r8, r8, #1\n"
        "str     r8, [sp, #16]\n"
        "bne.w   1b\n"
        "add     sp, sp, #28\n"
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
 * Lines of four channels, apart: halfwords, two elements per word, out of pixels with channels
 * last. Every channel has a plane, in which its lines follow one another.
 */
struct uhost_dsp_split {
    uint32_t plane; /* bytes from one channel's lines to the next channel's */
    uint32_t step;  /* bytes from one pixel of a line to the next */
    uint32_t pairs; /* bytes of the words that take two pixels */
    uint32_t ends;  /* bit 0: a pixel before them, in a high half; bit 1: one after them */
};

/*
 * Splits one line. `line` is where its first pixel goes, in the first channel's plane.
 *
 * r0 word of the line     r1 pixel      r2 plane     lr three planes     r3 step
 * r4-r9 two pixels        r12 end of the pairs       r10 ends
 */
UHOST_DSP_ASSEMBLER void
uhost_dsp_split_line(uint32_t *line UHOST_DSP_IN_REGISTER,
                     const int8_t *pixel UHOST_DSP_IN_REGISTER,
                     const struct uhost_dsp_split *split UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        "push    {r4-r10, lr}\n"
        "ldr     r10, [r2, #12]\n"
        "ldr     r12, [r2, #8]\n"
        "ldrd    r2, r3, [r2]\n"
        "add     lr, r2, r2, lsl #1\n"
        "tst     r10, #1\n"
        "beq     1f\n"
        "ldr     r4, [r1]\n"
        "add     r1, r1, r3\n"
        "sxtb16  r6, r4\n"
        "sxtb16  r7, r4, ror #8\n"
        "add     r8, r0, #2\n"
        "strh    r6, [r8]\n"
        "strh    r7, [r8, r2]\n"
        "lsr     r6, r6, #16\n"
        "lsr     r7, r7, #16\n"
        "strh    r6, [r8, r2, lsl #1]\n"
        "strh    r7, [r8, lr]\n"
        "add     r0, r0, #4\n"
        "1:\n"
        "add     r12, r12, r0\n"
        "cmp     r0, r12\n"
        "beq     3f\n"
        "2:\n"
        "ldr     r4, [r1]\n"
        "ldr     r5, [r1, r3]\n"
        "add     r1, r1, r3, lsl #1\n"
        /* Channels 0 and 2, then 1 and 3, of both pixels. */
        "sxtb16  r6, r4\n"
        "sxtb16  r7, r5\n"
        "sxtb16  r4, r4, ror #8\n"
        "sxtb16  r5, r5, ror #8\n"
        /* The two pixels of each channel. */
        "pkhbt   r8, r6, r7, lsl #16\n"
        "pkhbt   r9, r4, r5, lsl #16\n"
        "pkhtb   r7, r7, r6, asr #16\n"
        "pkhtb   r5, r5, r4, asr #16\n"
        "str     r9, [r0, r2]\n"
        "str     r7, [r0, r2, lsl #1]\n"
        "str     r5, [r0, lr]\n"
        "str     r8, [r0], #4\n"
        "cmp     r0, r12\n"
        "bne     2b\n"
        "3:\n"
        "tst     r10, #2\n"
        "beq     4f\n"
        "ldr     r4, [r1]\n"
        "add     r1, r1, r3\n"
        "sxtb16  r6, r4\n"
        "sxtb16  r7, r4, ror #8\n"
        "add     r8, r0, #0\n"
        "strh    r6, [r8]\n"
        "strh    r7, [r8, r2]\n"
        "lsr     r6, r6, #16\n"
        "lsr     r7, r7, #16\n"
        "strh    r6, [r8, r2, lsl #1]\n"
        "strh    r7, [r8, lr]\n"
        "4:\n"
        "pop     {r4-r10, pc}\n");
}

/*
 * 5x5 depthwise window over 6 lines of 9 elements, 6 channels. Of four channels at a
 * time, the input lines of all output lines are split into halfwords.
 */
static void depthwise_conv_2d_strips(const int8_t *input, const uint32_t *records, int8_t *output, uint32_t *planes)
{
    static const struct uhost_dsp_split split = {
        280, 6, 16, 2
    };
    static const struct uhost_dsp_windows windows = {
        6, 1, 6, 0, 280
    };
    uint32_t *const numbers = planes + 280; /* of one channel */

    uhost_dsp_fill(planes, 1, 280, 0xFFFBFFFBu);
    for (int32_t channel = 0; channel < 6; channel += 4) {
        /* The last group splits channels of the one before again, and passes them over. */
        const int32_t group = channel < 2 ? channel : 2;

        for (int32_t y = 0; y < 6; y++) {
            uhost_dsp_split_line(planes + (y + 2) * 7 + 1,
                                 input + y * 54 + group, &split);
        }
        for (int32_t each = channel; each < group + 4; each++) {
            uhost_dsp_depthwise_numbers_256(numbers, records + each * 13, 13);
            uhost_dsp_depthwise_5x5_9_pitch_28_stride_11_shift_6(
                planes + (each - group) * 70, numbers, output + each, &windows);
        }
    }
}
