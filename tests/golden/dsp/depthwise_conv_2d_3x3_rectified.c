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
 * 3x3 depthwise windows over lines of 5 outputs, of layers with a fused ReLU.
 *
 * The window holds lines of halfwords, 16 bytes apart, in one plane per channel. A channel's
 * record: for each line bytes (w1, w0, w2, w1), which become the halfword pairs 256 * (w0, w1)
 * and 256 * (w1, w2); addend; 256 times the bias; multiplier. Sums are 256-fold, which the last
 * shift of 6 + 8 undoes; see uhost_dsp_product for SMMLA and SSAT.
 *
 * r0-r5 weights of the three lines     r6, r7 sums of an even and an odd output
 * r8, r9 elements, then scratch        r10 next elements, of the last line
 * r11 next output                      r12 256 times the bias     lr multiplier
 * stack: addend, step, last line of the window, record, output, windows, end of the pairs,
 * lines left, channels left
 */
UHOST_DSP_ASSEMBLER void
uhost_dsp_depthwise_3x3_5_pitch_16_stride_11_shift_6(
    const uint32_t *last_line UHOST_DSP_IN_REGISTER, const uint32_t *record UHOST_DSP_IN_REGISTER,
    int8_t *output UHOST_DSP_IN_REGISTER,
    const struct uhost_dsp_windows *windows UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        "push    {r4-r11, lr}\n"
        "sub     sp, sp, #36\n"
        "ldrd    r4, r5, [r3]\n"
        "strd    r4, r0, [sp, #4]\n"
        "strd    r1, r2, [sp, #12]\n"
        "str     r3, [sp, #20]\n"
        "str     r5, [sp, #32]\n"
        /* Of a channel: the record, then the weights times 256. */
        "1:\n"
        "ldr     r11, [sp, #12]\n"
        "ldm     r11!, {r0, r2, r4, r8, r12, lr}\n"
        "str     r11, [sp, #12]\n"
        "str     r8, [sp]\n"
        "lsl     r1, r0, #8\n"
        "and     r0, r0, #0xFF00FF00\n"
        "and     r1, r1, #0xFF00FF00\n"
        "lsl     r3, r2, #8\n"
        "and     r2, r2, #0xFF00FF00\n"
        "and     r3, r3, #0xFF00FF00\n"
        "lsl     r5, r4, #8\n"
        "and     r4, r4, #0xFF00FF00\n"
        "and     r5, r5, #0xFF00FF00\n"
        "ldr     r9, [sp, #20]\n"
        "ldr     r10, [sp, #8]\n"
        "ldr     r11, [sp, #16]\n"
        "ldr     r8, [r9, #8]\n"
        "str     r8, [sp, #28]\n"
        /* Of a line: pairs of outputs, then the last of an odd number. */
        "2:\n"
        /* Even output: x0 w0 + x1 w1 + x2 w2; odd: x1 w0 + x2 w1 + x3 w2. */
        "ldrd    r8, r9, [r10, #-32]\n"
        "smlad   r6, r8, r0, r12\n"
        "smlatb  r7, r8, r0, r12\n"
        "smlad   r7, r9, r1, r7\n"
        "smlabt  r6, r9, r1, r6\n"
        "ldrd    r8, r9, [r10, #-16]\n"
        "smlad   r6, r8, r2, r6\n"
        "smlatb  r7, r8, r2, r7\n"
        "smlad   r7, r9, r3, r7\n"
        "smlabt  r6, r9, r3, r6\n"
        "ldrd    r8, r9, [r10], #4\n"
        "smlad   r6, r8, r4, r6\n"
        "smlatb  r7, r8, r4, r7\n"
        "smlad   r7, r9, r5, r7\n"
        "smlabt  r6, r9, r5, r6\n"
        "ldrd    r8, r9, [sp]\n"
        "smmla   r6, r6, lr, r8\n"
        "smmla   r7, r7, lr, r8\n"
        "ssat    r6, #8, r6, asr #14\n"
        "ssat    r7, #8, r7, asr #14\n"
        "strb    r6, [r11]\n"
        "strb    r7, [r11, r9]\n"
        "add     r11, r11, r9, lsl #1\n"
        /* Even output: x0 w0 + x1 w1 + x2 w2; odd: x1 w0 + x2 w1 + x3 w2. */
        "ldrd    r8, r9, [r10, #-32]\n"
        "smlad   r6, r8, r0, r12\n"
        "smlatb  r7, r8, r0, r12\n"
        "smlad   r7, r9, r1, r7\n"
        "smlabt  r6, r9, r1, r6\n"
        "ldrd    r8, r9, [r10, #-16]\n"
        "smlad   r6, r8, r2, r6\n"
        "smlatb  r7, r8, r2, r7\n"
        "smlad   r7, r9, r3, r7\n"
        "smlabt  r6, r9, r3, r6\n"
        "ldrd    r8, r9, [r10], #4\n"
        "smlad   r6, r8, r4, r6\n"
        "smlatb  r7, r8, r4, r7\n"
        "smlad   r7, r9, r5, r7\n"
        "smlabt  r6, r9, r5, r6\n"
        "ldrd    r8, r9, [sp]\n"
        "smmla   r6, r6, lr, r8\n"
        "smmla   r7, r7, lr, r8\n"
        "ssat    r6, #8, r6, asr #14\n"
        "ssat    r7, #8, r7, asr #14\n"
        "strb    r6, [r11]\n"
        "strb    r7, [r11, r9]\n"
        "add     r11, r11, r9, lsl #1\n"
        "ldrd    r8, r9, [r10, #-32]\n"
        "smlad   r6, r8, r0, r12\n"
        "smlabt  r6, r9, r1, r6\n"
        "ldrd    r8, r9, [r10, #-16]\n"
        "smlad   r6, r8, r2, r6\n"
        "smlabt  r6, r9, r3, r6\n"
        "ldrd    r8, r9, [r10]\n"
        "smlad   r6, r8, r4, r6\n"
        "smlabt  r6, r9, r5, r6\n"
        "ldrd    r8, r9, [sp]\n"
        "smmla   r6, r6, lr, r8\n"
        "ssat    r6, #8, r6, asr #14\n"
        "strb    r6, [r11]\n"
        "add     r11, r11, r9\n"
        "ldr     r9, [sp, #20]\n"
        "ldr     r8, [sp, #28]\n"
        "add     r10, r10, #8\n"
        "ldr     r9, [r9, #12]\n"
        "subs    r8, r8, #1\n"
        "add     r11, r11, r9\n"
        "str     r8, [sp, #28]\n"
        "bne.w   2b\n"
        /* The next channel. */
        "ldr     r9, [sp, #20]\n"
        "ldr     r8, [sp, #8]\n"
        "ldr     r9, [r9, #16]\n"
        "add     r8, r8, r9\n"
        "str     r8, [sp, #8]\n"
        "ldr     r8, [sp, #16]\n"
        "add     r8, r8, #1\n"
        "str     r8, [sp, #16]\n"
        "ldr     r8, [sp, #32]\n"
        "subs    r8, r8, #1\n"
        "str     r8, [sp, #32]\n"
        "bne.w   1b\n"
        "add     sp, sp, #36\n"
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
 * 3x3 depthwise window over 5 lines of 5 elements, 6 channels, with a fused ReLU. Of four
 * channels at a time, the input lines of all output lines are split into halfwords.
 */
static void depthwise_conv_2d_3x3_rectified(const int8_t *input, const uint32_t *records, int8_t *output, uint32_t *planes)
{
    static const struct uhost_dsp_split split = {
        112, 6, 8, 1
    };
    struct uhost_dsp_windows windows = {
        6, 4, 5, 0, 112
    };

    uhost_dsp_fill(planes, 1, 112, 0xFFFBFFFBu);
    for (int32_t channel = 0; channel < 6; channel += 4) {
        /* The last group splits channels of the one before again, and passes them over. */
        const int32_t group = channel < 2 ? channel : 2;

        for (int32_t y = 0; y < 5; y++) {
            uhost_dsp_split_line(planes + (y + 1) * 4,
                                 input + y * 30 + group, &split);
        }
        windows.channels = (uint32_t)(4 - (channel - group));
        uhost_dsp_depthwise_3x3_5_pitch_16_stride_11_shift_6(
            planes + 8 + (channel - group) * 28, records + channel * 6,
            output + channel, &windows);
    }
}
