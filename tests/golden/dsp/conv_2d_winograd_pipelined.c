/*
 * At the entry of an assembler function that moves SP in a loop: the most bytes that it takes of
 * the stack. It stays in the program file, where uhost reads it, and is not loaded.
 */
#define UHOST_TAKES_STACK(bytes) \
    "0: .pushsection .uhost.stack, \"\", %progbits\n" \
    ".word   0b, " #bytes "\n" \
    ".popsection\n"

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
 * Winograd's minimal filtering F(2x2, 3x3) in integers: four outputs of a 3x3 window from a tile
 * of 4x4 inputs take 16 multiplications per channel instead of 36.
 *
 * With d a tile, g a filter and * element by element,
 *
 *     outputs = A' (U * V) A,     U = G g G',     V = B' d B
 *
 *          | 2  0  0 |         | 1  0 -1  0 |
 *     G =  | 1  1  1 |    B' = | 0  1  1  0 |    A' = | 1  1  1  0 |
 *          | 1 -1  1 |         | 0 -1  1  0 |         | 0  1 -1 -1 |
 *          | 0  0  2 |         | 0  1  0 -1 |
 *
 * G is twice the usual one, so U holds integers, and the outputs are four times the sums, which
 * requantisation allows for. Nothing is rounded: U fits halfwords (9 * 128), V too (4 * 128), and
 * sums that wrap on the way come out right modulo 2^32.
 *
 * Per two rows of outputs and from left to right: B' d over the rows is kept for the columns at
 * hand, in a ring of two halves of four columns; two tiles at a time B' d B is completed, then
 * multiplied by the filters of two output channels at a time.
 */
struct uhost_dsp_winograd_image {
    int32_t height;
    int32_t width;
    int32_t zero_point;
};

/*
 * B' d over the rows: of four rows of pixels, 16 channels, into the four planes of half a ring.
 *
 * r0-r3 next pixels     r4-r11 four channels of each row, as halfwords     r12 plane     lr end
 */
UHOST_DSP_ASSEMBLER void
uhost_dsp_winograd_rows_16(const int8_t *const *rows UHOST_DSP_IN_REGISTER,
                           int16_t *half UHOST_DSP_IN_REGISTER,
                           uint32_t halfwords UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        "push    {r4-r11, lr}\n"
        "mov     r12, r1\n"
        "add     lr, r1, r2, lsl #1\n"
        "ldm     r0, {r0-r3}\n"
        "1:\n"
        "ldr     r4, [r0], #4\n"
        "ldr     r5, [r1], #4\n"
        "ldr     r6, [r2], #4\n"
        "ldr     r7, [r3], #4\n"
        "sxtb16  r8, r4\n"
        "sxtb16  r9, r5\n"
        "sxtb16  r10, r6\n"
        "sxtb16  r11, r7\n"
        "sxtb16  r4, r4, ror #8\n"
        "sxtb16  r5, r5, ror #8\n"
        "sxtb16  r6, r6, ror #8\n"
        "sxtb16  r7, r7, ror #8\n"
        "ssub16  r8, r8, r10\n"
        "ssub16  r11, r9, r11\n"
        "str     r8, [r12, #0]\n"
        "sadd16  r8, r9, r10\n"
        "ssub16  r9, r10, r9\n"
        "str     r8, [r12, #128]\n"
        "str     r9, [r12, #256]\n"
        "str     r11, [r12, #384]\n"
        "ssub16  r4, r4, r6\n"
        "ssub16  r7, r5, r7\n"
        "str     r4, [r12, #4]\n"
        "sadd16  r4, r5, r6\n"
        "ssub16  r5, r6, r5\n"
        "str     r4, [r12, #132]\n"
        "str     r5, [r12, #260]\n"
        "str     r7, [r12, #388]\n"
        "add     r12, r12, #8\n"
        "cmp     r12, lr\n"
        "bne     1b\n"
        "pop     {r4-r11, pc}\n");
}

/*
 * B' d B of two tiles, which share columns 2 and 3 of the first half; the second tile goes on
 * into the second half.
 *
 * r0-r7 columns, four channels of one plane     r8, r9 a position     r12, r10 next channels of
 * the first and of the second half              r11 end of the channels     lr positions
 * stack: planes left
 */
UHOST_DSP_ASSEMBLER void
uhost_dsp_winograd_tiles_16(const int16_t *first UHOST_DSP_IN_REGISTER,
                            const int16_t *second UHOST_DSP_IN_REGISTER,
                            int16_t *positions UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        "push    {r4-r11, lr}\n"
        "mov     r12, r0\n"
        "mov     r10, r1\n"
        "mov     lr, r2\n"
        "mov     r8, #4\n"
        "sub     sp, sp, #4\n"
        "1:\n"
        "str     r8, [sp]\n"
        "add     r11, r12, #32\n"
        "2:\n"
        "ldrd    r0, r1, [r12, #0]\n"
        "ldrd    r2, r3, [r12, #32]\n"
        "ldrd    r4, r5, [r12, #64]\n"
        "ldrd    r6, r7, [r12, #96]\n"
        /* Tile 0: d0 - d2, d1 + d2, d2 - d1, d1 - d3. */
        "ssub16  r0, r0, r4\n"
        "ssub16  r1, r1, r5\n"
        "strd    r0, r1, [lr, #0]\n"
"sadd16  r8, r2, r4\n"
        "sadd16  r9, r3, r5\n"
        "strd    r8, r9, [lr, #64]\n"
"ssub16  r8, r4, r2\n"
        "ssub16  r9, r5, r3\n"
        "strd    r8, r9, [lr, #128]\n"
"ssub16  r8, r2, r6\n"
        "ssub16  r9, r3, r7\n"
        "strd    r8, r9, [lr, #192]\n"
        "ldrd    r0, r1, [r10]\n"
        "ldrd    r2, r3, [r10, #32]\n"
        /* Tile 1: d0 - d2, d1 + d2, d2 - d1, d1 - d3. */
        "ssub16  r4, r4, r0\n"
        "ssub16  r5, r5, r1\n"
        "strd    r4, r5, [lr, #8]\n"
"sadd16  r8, r6, r0\n"
        "sadd16  r9, r7, r1\n"
        "strd    r8, r9, [lr, #72]\n"
"ssub16  r8, r0, r6\n"
        "ssub16  r9, r1, r7\n"
        "strd    r8, r9, [lr, #136]\n"
"ssub16  r8, r6, r2\n"
        "ssub16  r9, r7, r3\n"
        "strd    r8, r9, [lr, #200]\n"
        "add     r12, r12, #8\n"
        "add     r10, r10, #8\n"
        "add     lr, lr, #16\n"
        "cmp     r12, r11\n"
        "bne.w   2b\n"
        "ldr     r8, [sp]\n"
        "add     r12, r12, #96\n"
        "add     r10, r10, #96\n"
        "add     lr, lr, #196\n"
        "subs    r8, r8, #1\n"
        "bne.w   1b\n"
        "add     sp, sp, #4\n"
        "pop     {r4-r11, pc}\n");
}

/*
 * Brings the pixels of rows y to y + 3 and columns x to x + 3 into half a ring. `padding` has four
 * pixels of zero points. Columns off the image have zero points in all rows: B' takes these to 0,
 * but for the second row of B', which doubles them.
 */
__attribute__((unused, noinline)) static void
uhost_dsp_winograd_columns_16(const struct uhost_dsp_winograd_image *image,
                              const int8_t *input, const int8_t *padding, int32_t y, int32_t x,
                              int16_t *half)
{
    const int32_t first = x < 0 ? 0 : x;
    const int32_t end = x + 4 < image->width ? x + 4 : image->width;
    const int8_t *rows[4];

    for (int32_t i = x; i < x + 4; i++) {
        if (i < 0 || i >= image->width) {
            int16_t *const column = half + (i - x) * 16;

            for (int32_t channel = 0; channel < 16; channel++) {
                column[channel] = 0;
                column[channel + 64] = (int16_t)(2 * image->zero_point);
                column[channel + 128] = 0;
                column[channel + 192] = 0;
            }
        }
    }
    if (first >= end) {
        return;
    }
    for (int32_t row = 0; row < 4; row++) {
        rows[row] = padding;
        if (y + row >= 0 && y + row < image->height) {
            rows[row] = input + ((y + row) * image->width + first) * 16;
        }
    }
    uhost_dsp_winograd_rows_16(rows, half + (first - x) * 16, (uint32_t)(end - first) * 16u);
}

/*
 * U * V summed over 16 channels, A' and A on both sides, and requantisation: two tiles of 2x2
 * outputs, 4 channels, a row of the output 16 bytes.
 *
 * Weights of two output channels: for each position and four input channels two words of the one
 * and two of the other; then of each four times the bias, and multiplier and addend.
 *
 * r0-r3 sums of tile 0 and 1, channel 0 and 1 of each: (0, 0) (0, 1) (1, 0) (1, 1)
 * r4-r7 V: two words of tile 0, two of tile 1     r8-r11 U: two words of channel 0, two of 1
 * r12 V                                           lr next weight
 * stack: sums of position 15 down to 0, then V, output, pairs of channels left
 */
UHOST_DSP_ASSEMBLER void
uhost_dsp_winograd_product_16x4_row_16_pipelined_shift_8(const int16_t *positions UHOST_DSP_IN_REGISTER,
    const uint32_t *weights UHOST_DSP_IN_REGISTER, int8_t *output UHOST_DSP_IN_REGISTER)
{
    __asm__ volatile(
        UHOST_TAKES_STACK(304)
        "push    {r4-r11, lr}\n"
        "sub     sp, sp, #12\n"
        "mov     r3, #2\n"
        "strd    r2, r3, [sp, #4]\n"
        "str     r0, [sp]\n"
        "mov     lr, r1\n"
        "1:\n"
        "ldr     r12, [sp]\n"
        /* 4 positions a round; the word behind them tells whether more follow. */
        "2:\n"
        /* Beside each multiplication one of the words is loaded that the next four take. */
        "ldr     r4, [r12]\n"
        "ldr     r8, [lr]\n"
        "ldr     r10, [lr, #8]\n"
        "ldr     r6, [r12, #8]\n"
        "smuad   r0, r4, r8\n"
        "ldr     r5, [r12, #4]\n"
        "smuad   r1, r4, r10\n"
        "ldr     r9, [lr, #4]\n"
        "smuad   r2, r6, r8\n"
        "ldr     r11, [lr, #12]\n"
        "smuad   r3, r6, r10\n"
        "ldr     r7, [r12, #12]\n"
        "smlad   r0, r5, r9, r0\n"
        "ldr     r4, [r12, #16]\n"
        "smlad   r1, r5, r11, r1\n"
        "ldr     r8, [lr, #16]\n"
        "smlad   r2, r7, r9, r2\n"
        "ldr     r10, [lr, #24]\n"
        "smlad   r3, r7, r11, r3\n"
        "ldr     r6, [r12, #24]\n"
        "smlad   r0, r4, r8, r0\n"
        "ldr     r5, [r12, #20]\n"
        "smlad   r1, r4, r10, r1\n"
        "ldr     r9, [lr, #20]\n"
        "smlad   r2, r6, r8, r2\n"
        "ldr     r11, [lr, #28]\n"
        "smlad   r3, r6, r10, r3\n"
        "ldr     r7, [r12, #28]\n"
        "smlad   r0, r5, r9, r0\n"
        "ldr     r4, [r12, #32]\n"
        "smlad   r1, r5, r11, r1\n"
        "ldr     r8, [lr, #32]\n"
        "smlad   r2, r7, r9, r2\n"
        "ldr     r10, [lr, #40]\n"
        "smlad   r3, r7, r11, r3\n"
        "ldr     r6, [r12, #40]\n"
        "smlad   r0, r4, r8, r0\n"
        "ldr     r5, [r12, #36]\n"
        "smlad   r1, r4, r10, r1\n"
        "ldr     r9, [lr, #36]\n"
        "smlad   r2, r6, r8, r2\n"
        "ldr     r11, [lr, #44]\n"
        "smlad   r3, r6, r10, r3\n"
        "ldr     r7, [r12, #44]\n"
        "smlad   r0, r5, r9, r0\n"
        "ldr     r4, [r12, #48]\n"
        "smlad   r1, r5, r11, r1\n"
        "ldr     r8, [lr, #48]\n"
        "smlad   r2, r7, r9, r2\n"
        "ldr     r10, [lr, #56]\n"
        "smlad   r3, r7, r11, r3\n"
        "ldr     r6, [r12, #56]\n"
        "smlad   r0, r4, r8, r0\n"
        "ldr     r5, [r12, #52]\n"
        "smlad   r1, r4, r10, r1\n"
        "ldr     r9, [lr, #52]\n"
        "smlad   r2, r6, r8, r2\n"
        "ldr     r11, [lr, #60]\n"
        "smlad   r3, r6, r10, r3\n"
        "ldr     r7, [r12, #60]\n"
        "smlad   r0, r5, r9, r0\n"
        "ldr     r4, [r12, #64]\n"
        "smlad   r1, r5, r11, r1\n"
        "ldr     r8, [lr, #64]\n"
        "smlad   r2, r7, r9, r2\n"
        "ldr     r10, [lr, #72]\n"
        "smlad   r3, r7, r11, r3\n"
        "ldr     r6, [r12, #72]\n"
        "push    {r0-r3}\n"
        "smuad   r0, r4, r8\n"
        "ldr     r5, [r12, #68]\n"
        "smuad   r1, r4, r10\n"
        "ldr     r9, [lr, #68]\n"
        "smuad   r2, r6, r8\n"
        "ldr     r11, [lr, #76]\n"
        "smuad   r3, r6, r10\n"
        "ldr     r7, [r12, #76]\n"
        "smlad   r0, r5, r9, r0\n"
        "ldr     r4, [r12, #80]\n"
        "smlad   r1, r5, r11, r1\n"
        "ldr     r8, [lr, #80]\n"
        "smlad   r2, r7, r9, r2\n"
        "ldr     r10, [lr, #88]\n"
        "smlad   r3, r7, r11, r3\n"
        "ldr     r6, [r12, #88]\n"
        "smlad   r0, r4, r8, r0\n"
        "ldr     r5, [r12, #84]\n"
        "smlad   r1, r4, r10, r1\n"
        "ldr     r9, [lr, #84]\n"
        "smlad   r2, r6, r8, r2\n"
        "ldr     r11, [lr, #92]\n"
        "smlad   r3, r6, r10, r3\n"
        "ldr     r7, [r12, #92]\n"
        "smlad   r0, r5, r9, r0\n"
        "ldr     r4, [r12, #96]\n"
        "smlad   r1, r5, r11, r1\n"
        "ldr     r8, [lr, #96]\n"
        "smlad   r2, r7, r9, r2\n"
        "ldr     r10, [lr, #104]\n"
        "smlad   r3, r7, r11, r3\n"
        "ldr     r6, [r12, #104]\n"
        "smlad   r0, r4, r8, r0\n"
        "ldr     r5, [r12, #100]\n"
        "smlad   r1, r4, r10, r1\n"
        "ldr     r9, [lr, #100]\n"
        "smlad   r2, r6, r8, r2\n"
        "ldr     r11, [lr, #108]\n"
        "smlad   r3, r6, r10, r3\n"
        "ldr     r7, [r12, #108]\n"
        "smlad   r0, r5, r9, r0\n"
        "ldr     r4, [r12, #112]\n"
        "smlad   r1, r5, r11, r1\n"
        "ldr     r8, [lr, #112]\n"
        "smlad   r2, r7, r9, r2\n"
        "ldr     r10, [lr, #120]\n"
        "smlad   r3, r7, r11, r3\n"
        "ldr     r6, [r12, #120]\n"
        "smlad   r0, r4, r8, r0\n"
        "ldr     r5, [r12, #116]\n"
        "smlad   r1, r4, r10, r1\n"
        "ldr     r9, [lr, #116]\n"
        "smlad   r2, r6, r8, r2\n"
        "ldr     r11, [lr, #124]\n"
        "smlad   r3, r6, r10, r3\n"
        "ldr     r7, [r12, #124]\n"
        "smlad   r0, r5, r9, r0\n"
        "ldr     r4, [r12, #128]\n"
        "smlad   r1, r5, r11, r1\n"
        "ldr     r8, [lr, #128]\n"
        "smlad   r2, r7, r9, r2\n"
        "ldr     r10, [lr, #136]\n"
        "smlad   r3, r7, r11, r3\n"
        "ldr     r6, [r12, #136]\n"
        "push    {r0-r3}\n"
        "smuad   r0, r4, r8\n"
        "ldr     r5, [r12, #132]\n"
        "smuad   r1, r4, r10\n"
        "ldr     r9, [lr, #132]\n"
        "smuad   r2, r6, r8\n"
        "ldr     r11, [lr, #140]\n"
        "smuad   r3, r6, r10\n"
        "ldr     r7, [r12, #140]\n"
        "smlad   r0, r5, r9, r0\n"
        "ldr     r4, [r12, #144]\n"
        "smlad   r1, r5, r11, r1\n"
        "ldr     r8, [lr, #144]\n"
        "smlad   r2, r7, r9, r2\n"
        "ldr     r10, [lr, #152]\n"
        "smlad   r3, r7, r11, r3\n"
        "ldr     r6, [r12, #152]\n"
        "smlad   r0, r4, r8, r0\n"
        "ldr     r5, [r12, #148]\n"
        "smlad   r1, r4, r10, r1\n"
        "ldr     r9, [lr, #148]\n"
        "smlad   r2, r6, r8, r2\n"
        "ldr     r11, [lr, #156]\n"
        "smlad   r3, r6, r10, r3\n"
        "ldr     r7, [r12, #156]\n"
        "smlad   r0, r5, r9, r0\n"
        "ldr     r4, [r12, #160]\n"
        "smlad   r1, r5, r11, r1\n"
        "ldr     r8, [lr, #160]\n"
        "smlad   r2, r7, r9, r2\n"
        "ldr     r10, [lr, #168]\n"
        "smlad   r3, r7, r11, r3\n"
        "ldr     r6, [r12, #168]\n"
        "smlad   r0, r4, r8, r0\n"
        "ldr     r5, [r12, #164]\n"
        "smlad   r1, r4, r10, r1\n"
        "ldr     r9, [lr, #164]\n"
        "smlad   r2, r6, r8, r2\n"
        "ldr     r11, [lr, #172]\n"
        "smlad   r3, r6, r10, r3\n"
        "ldr     r7, [r12, #172]\n"
        "smlad   r0, r5, r9, r0\n"
        "ldr     r4, [r12, #176]\n"
        "smlad   r1, r5, r11, r1\n"
        "ldr     r8, [lr, #176]\n"
        "smlad   r2, r7, r9, r2\n"
        "ldr     r10, [lr, #184]\n"
        "smlad   r3, r7, r11, r3\n"
        "ldr     r6, [r12, #184]\n"
        "smlad   r0, r4, r8, r0\n"
        "ldr     r5, [r12, #180]\n"
        "smlad   r1, r4, r10, r1\n"
        "ldr     r9, [lr, #180]\n"
        "smlad   r2, r6, r8, r2\n"
        "ldr     r11, [lr, #188]\n"
        "smlad   r3, r6, r10, r3\n"
        "ldr     r7, [r12, #188]\n"
        "smlad   r0, r5, r9, r0\n"
        "ldr     r4, [r12, #192]\n"
        "smlad   r1, r5, r11, r1\n"
        "ldr     r8, [lr, #192]\n"
        "smlad   r2, r7, r9, r2\n"
        "ldr     r10, [lr, #200]\n"
        "smlad   r3, r7, r11, r3\n"
        "ldr     r6, [r12, #200]\n"
        "push    {r0-r3}\n"
        "smuad   r0, r4, r8\n"
        "ldr     r5, [r12, #196]\n"
        "smuad   r1, r4, r10\n"
        "ldr     r9, [lr, #196]\n"
        "smuad   r2, r6, r8\n"
        "ldr     r11, [lr, #204]\n"
        "smuad   r3, r6, r10\n"
        "ldr     r7, [r12, #204]\n"
        "smlad   r0, r5, r9, r0\n"
        "ldr     r4, [r12, #208]\n"
        "smlad   r1, r5, r11, r1\n"
        "ldr     r8, [lr, #208]\n"
        "smlad   r2, r7, r9, r2\n"
        "ldr     r10, [lr, #216]\n"
        "smlad   r3, r7, r11, r3\n"
        "ldr     r6, [r12, #216]\n"
        "smlad   r0, r4, r8, r0\n"
        "ldr     r5, [r12, #212]\n"
        "smlad   r1, r4, r10, r1\n"
        "ldr     r9, [lr, #212]\n"
        "smlad   r2, r6, r8, r2\n"
        "ldr     r11, [lr, #220]\n"
        "smlad   r3, r6, r10, r3\n"
        "ldr     r7, [r12, #220]\n"
        "smlad   r0, r5, r9, r0\n"
        "ldr     r4, [r12, #224]\n"
        "smlad   r1, r5, r11, r1\n"
        "ldr     r8, [lr, #224]\n"
        "smlad   r2, r7, r9, r2\n"
        "ldr     r10, [lr, #232]\n"
        "smlad   r3, r7, r11, r3\n"
        "ldr     r6, [r12, #232]\n"
        "smlad   r0, r4, r8, r0\n"
        "ldr     r5, [r12, #228]\n"
        "smlad   r1, r4, r10, r1\n"
        "ldr     r9, [lr, #228]\n"
        "smlad   r2, r6, r8, r2\n"
        "ldr     r11, [lr, #236]\n"
        "smlad   r3, r6, r10, r3\n"
        "ldr     r7, [r12, #236]\n"
        "smlad   r0, r5, r9, r0\n"
        "ldr     r4, [r12, #240]\n"
        "smlad   r1, r5, r11, r1\n"
        "ldr     r8, [lr, #240]\n"
        "smlad   r2, r7, r9, r2\n"
        "ldr     r10, [lr, #248]\n"
        "smlad   r3, r7, r11, r3\n"
        "ldr     r6, [r12, #248]\n"
        "smlad   r0, r4, r8, r0\n"
        "ldr     r5, [r12, #244]\n"
        "smlad   r1, r4, r10, r1\n"
        "ldr     r9, [lr, #244]\n"
        "smlad   r2, r6, r8, r2\n"
        "ldr     r11, [lr, #252]\n"
        "smlad   r3, r6, r10, r3\n"
        "ldr     r7, [r12, #252]\n"
        "smlad   r0, r5, r9, r0\n"
        "smlad   r1, r5, r11, r1\n"
        "smlad   r2, r7, r9, r2\n"
        "smlad   r3, r7, r11, r3\n"
        "push    {r0-r3}\n"
        "ldr     r4, [r12, #256]\n"
        "add     r12, r12, #260\n"
        "add     lr, lr, #256\n"
        "cmp     r4, #0\n"
        "bne.w   2b\n"
        "ldr     r12, [sp, #260]\n"
        /* Tile 0, channel 0: A' over the rows of positions; r0, r2, r4, r6 first rows. */
        "ldr     r8, [sp, #240]\n"
        "ldr     r9, [sp, #176]\n"
        "ldr     r10, [sp, #112]\n"
        "ldr     r11, [sp, #48]\n"
        "add     r0, r8, r9\n"
        "sub     r1, r9, r10\n"
        "add     r0, r0, r10\n"
        "sub     r1, r1, r11\n"
        "ldr     r8, [sp, #224]\n"
        "ldr     r9, [sp, #160]\n"
        "ldr     r10, [sp, #96]\n"
        "ldr     r11, [sp, #32]\n"
        "add     r2, r8, r9\n"
        "sub     r3, r9, r10\n"
        "add     r2, r2, r10\n"
        "sub     r3, r3, r11\n"
        "ldr     r8, [sp, #208]\n"
        "ldr     r9, [sp, #144]\n"
        "ldr     r10, [sp, #80]\n"
        "ldr     r11, [sp, #16]\n"
        "add     r4, r8, r9\n"
        "sub     r5, r9, r10\n"
        "add     r4, r4, r10\n"
        "sub     r5, r5, r11\n"
        "ldr     r8, [sp, #192]\n"
        "ldr     r9, [sp, #128]\n"
        "ldr     r10, [sp, #64]\n"
        "ldr     r11, [sp, #0]\n"
        "add     r6, r8, r9\n"
        "sub     r7, r9, r10\n"
        "add     r6, r6, r10\n"
        "sub     r7, r7, r11\n"
        /* The bias goes into column 1, which every output takes once. */
        "ldr     r10, [lr, #0]\n"
        "ldrd    r8, r9, [lr, #4]\n"
        "add     r2, r2, r10\n"
        "add     r3, r3, r10\n"
        "add     r0, r0, r2\n"
        "sub     r2, r2, r4\n"
        "add     r0, r0, r4\n"
        "sub     r2, r2, r6\n"
        "add     r1, r1, r3\n"
        "sub     r3, r3, r5\n"
        "add     r1, r1, r5\n"
        "sub     r3, r3, r7\n"
        "smmla   r0, r0, r8, r9\n"
        "ssat    r0, #8, r0, asr #10\n"
        "strb    r0, [r12, #0]\n"
        "smmla   r2, r2, r8, r9\n"
        "ssat    r2, #8, r2, asr #10\n"
        "strb    r2, [r12, #4]\n"
        "smmla   r1, r1, r8, r9\n"
        "ssat    r1, #8, r1, asr #10\n"
        "strb    r1, [r12, #16]\n"
        "smmla   r3, r3, r8, r9\n"
        "ssat    r3, #8, r3, asr #10\n"
        "strb    r3, [r12, #20]\n"
        /* Tile 1, channel 0: A' over the rows of positions; r0, r2, r4, r6 first rows. */
        "ldr     r8, [sp, #248]\n"
        "ldr     r9, [sp, #184]\n"
        "ldr     r10, [sp, #120]\n"
        "ldr     r11, [sp, #56]\n"
        "add     r0, r8, r9\n"
        "sub     r1, r9, r10\n"
        "add     r0, r0, r10\n"
        "sub     r1, r1, r11\n"
        "ldr     r8, [sp, #232]\n"
        "ldr     r9, [sp, #168]\n"
        "ldr     r10, [sp, #104]\n"
        "ldr     r11, [sp, #40]\n"
        "add     r2, r8, r9\n"
        "sub     r3, r9, r10\n"
        "add     r2, r2, r10\n"
        "sub     r3, r3, r11\n"
        "ldr     r8, [sp, #216]\n"
        "ldr     r9, [sp, #152]\n"
        "ldr     r10, [sp, #88]\n"
        "ldr     r11, [sp, #24]\n"
        "add     r4, r8, r9\n"
        "sub     r5, r9, r10\n"
        "add     r4, r4, r10\n"
        "sub     r5, r5, r11\n"
        "ldr     r8, [sp, #200]\n"
        "ldr     r9, [sp, #136]\n"
        "ldr     r10, [sp, #72]\n"
        "ldr     r11, [sp, #8]\n"
        "add     r6, r8, r9\n"
        "sub     r7, r9, r10\n"
        "add     r6, r6, r10\n"
        "sub     r7, r7, r11\n"
        /* The bias goes into column 1, which every output takes once. */
        "ldr     r10, [lr, #0]\n"
        "ldrd    r8, r9, [lr, #4]\n"
        "add     r2, r2, r10\n"
        "add     r3, r3, r10\n"
        "add     r0, r0, r2\n"
        "sub     r2, r2, r4\n"
        "add     r0, r0, r4\n"
        "sub     r2, r2, r6\n"
        "add     r1, r1, r3\n"
        "sub     r3, r3, r5\n"
        "add     r1, r1, r5\n"
        "sub     r3, r3, r7\n"
        "smmla   r0, r0, r8, r9\n"
        "ssat    r0, #8, r0, asr #10\n"
        "strb    r0, [r12, #8]\n"
        "smmla   r2, r2, r8, r9\n"
        "ssat    r2, #8, r2, asr #10\n"
        "strb    r2, [r12, #12]\n"
        "smmla   r1, r1, r8, r9\n"
        "ssat    r1, #8, r1, asr #10\n"
        "strb    r1, [r12, #24]\n"
        "smmla   r3, r3, r8, r9\n"
        "ssat    r3, #8, r3, asr #10\n"
        "strb    r3, [r12, #28]\n"
        /* Tile 0, channel 1: A' over the rows of positions; r0, r2, r4, r6 first rows. */
        "ldr     r8, [sp, #244]\n"
        "ldr     r9, [sp, #180]\n"
        "ldr     r10, [sp, #116]\n"
        "ldr     r11, [sp, #52]\n"
        "add     r0, r8, r9\n"
        "sub     r1, r9, r10\n"
        "add     r0, r0, r10\n"
        "sub     r1, r1, r11\n"
        "ldr     r8, [sp, #228]\n"
        "ldr     r9, [sp, #164]\n"
        "ldr     r10, [sp, #100]\n"
        "ldr     r11, [sp, #36]\n"
        "add     r2, r8, r9\n"
        "sub     r3, r9, r10\n"
        "add     r2, r2, r10\n"
        "sub     r3, r3, r11\n"
        "ldr     r8, [sp, #212]\n"
        "ldr     r9, [sp, #148]\n"
        "ldr     r10, [sp, #84]\n"
        "ldr     r11, [sp, #20]\n"
        "add     r4, r8, r9\n"
        "sub     r5, r9, r10\n"
        "add     r4, r4, r10\n"
        "sub     r5, r5, r11\n"
        "ldr     r8, [sp, #196]\n"
        "ldr     r9, [sp, #132]\n"
        "ldr     r10, [sp, #68]\n"
        "ldr     r11, [sp, #4]\n"
        "add     r6, r8, r9\n"
        "sub     r7, r9, r10\n"
        "add     r6, r6, r10\n"
        "sub     r7, r7, r11\n"
        /* The bias goes into column 1, which every output takes once. */
        "ldr     r10, [lr, #12]\n"
        "ldrd    r8, r9, [lr, #16]\n"
        "add     r2, r2, r10\n"
        "add     r3, r3, r10\n"
        "add     r0, r0, r2\n"
        "sub     r2, r2, r4\n"
        "add     r0, r0, r4\n"
        "sub     r2, r2, r6\n"
        "add     r1, r1, r3\n"
        "sub     r3, r3, r5\n"
        "add     r1, r1, r5\n"
        "sub     r3, r3, r7\n"
        "smmla   r0, r0, r8, r9\n"
        "ssat    r0, #8, r0, asr #10\n"
        "strb    r0, [r12, #1]\n"
        "smmla   r2, r2, r8, r9\n"
        "ssat    r2, #8, r2, asr #10\n"
        "strb    r2, [r12, #5]\n"
        "smmla   r1, r1, r8, r9\n"
        "ssat    r1, #8, r1, asr #10\n"
        "strb    r1, [r12, #17]\n"
        "smmla   r3, r3, r8, r9\n"
        "ssat    r3, #8, r3, asr #10\n"
        "strb    r3, [r12, #21]\n"
        /* Tile 1, channel 1: A' over the rows of positions; r0, r2, r4, r6 first rows. */
        "ldr     r8, [sp, #252]\n"
        "ldr     r9, [sp, #188]\n"
        "ldr     r10, [sp, #124]\n"
        "ldr     r11, [sp, #60]\n"
        "add     r0, r8, r9\n"
        "sub     r1, r9, r10\n"
        "add     r0, r0, r10\n"
        "sub     r1, r1, r11\n"
        "ldr     r8, [sp, #236]\n"
        "ldr     r9, [sp, #172]\n"
        "ldr     r10, [sp, #108]\n"
        "ldr     r11, [sp, #44]\n"
        "add     r2, r8, r9\n"
        "sub     r3, r9, r10\n"
        "add     r2, r2, r10\n"
        "sub     r3, r3, r11\n"
        "ldr     r8, [sp, #220]\n"
        "ldr     r9, [sp, #156]\n"
        "ldr     r10, [sp, #92]\n"
        "ldr     r11, [sp, #28]\n"
        "add     r4, r8, r9\n"
        "sub     r5, r9, r10\n"
        "add     r4, r4, r10\n"
        "sub     r5, r5, r11\n"
        "ldr     r8, [sp, #204]\n"
        "ldr     r9, [sp, #140]\n"
        "ldr     r10, [sp, #76]\n"
        "ldr     r11, [sp, #12]\n"
        "add     r6, r8, r9\n"
        "sub     r7, r9, r10\n"
        "add     r6, r6, r10\n"
        "sub     r7, r7, r11\n"
        /* The bias goes into column 1, which every output takes once. */
        "ldr     r10, [lr, #12]\n"
        "ldrd    r8, r9, [lr, #16]\n"
        "add     r2, r2, r10\n"
        "add     r3, r3, r10\n"
        "add     r0, r0, r2\n"
        "sub     r2, r2, r4\n"
        "add     r0, r0, r4\n"
        "sub     r2, r2, r6\n"
        "add     r1, r1, r3\n"
        "sub     r3, r3, r5\n"
        "add     r1, r1, r5\n"
        "sub     r3, r3, r7\n"
        "smmla   r0, r0, r8, r9\n"
        "ssat    r0, #8, r0, asr #10\n"
        "strb    r0, [r12, #9]\n"
        "smmla   r2, r2, r8, r9\n"
        "ssat    r2, #8, r2, asr #10\n"
        "strb    r2, [r12, #13]\n"
        "smmla   r1, r1, r8, r9\n"
        "ssat    r1, #8, r1, asr #10\n"
        "strb    r1, [r12, #25]\n"
        "smmla   r3, r3, r8, r9\n"
        "ssat    r3, #8, r3, asr #10\n"
        "strb    r3, [r12, #29]\n"
        "add     sp, sp, #256\n"
        "add     lr, lr, #24\n"
        "ldr     r0, [sp, #8]\n"
        "add     r12, r12, #2\n"
        "str     r12, [sp, #4]\n"
        "subs    r0, r0, #1\n"
        "str     r0, [sp, #8]\n"
        "bne.w   1b\n"
        "add     sp, sp, #12\n"
        "pop     {r4-r11, pc}\n");
}

/*
 * 3x3 window over 4x4x16, 4x4x4 outputs, by F(2x2, 3x3): two tiles of 2x2 outputs at a time.
 */
static void conv_2d_winograd_pipelined(const int8_t *input, const uint32_t *weights, int8_t *output, int16_t *scratch)
{
    static const struct uhost_dsp_winograd_image image = { 4, 4, -5 };
    int16_t *const halves[2] = { scratch, scratch + 256 };
    int16_t *const positions = scratch + 512;
    int8_t *const padding = (int8_t *)(positions + 520);

    for (uint32_t i = 0; i < 64; i++) {
        padding[i] = -5;
    }
    /* Behind each round of positions, whether more follow. */
    for (uint32_t i = 1; i <= 4; i++) {
        positions[i * 130 - 2] = i < 4;
        positions[i * 130 - 1] = 0;
    }
    for (int32_t y = 0; y < 4; y += 2) {
        const int32_t row = y - 1;
        uint32_t half = 0;

        uhost_dsp_winograd_columns_16(&image, input, padding, row, -1, halves[0]);
        for (int32_t x = 0; x < 4; x += 4) {
            uhost_dsp_winograd_columns_16(&image, input, padding, row, x + 3, halves[1 - half]);
            uhost_dsp_winograd_tiles_16(halves[half], halves[1 - half], positions);
            uhost_dsp_winograd_product_16x4_row_16_pipelined_shift_8(positions, weights, output);
            half = 1 - half;
            output += 16;
        }
        output += 16;
    }
}
