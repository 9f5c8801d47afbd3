/*
 * Raspberry Pi Pico 2 (RP2350): the block that tells the ROM what the image is.
 *
 * It lies behind the vector table, within the first 4 KiB (RP2350 datasheet, 5.9). The ROM sets
 * the flash up by itself and enters by the vector table.
 */
#include <stdint.h>

__attribute__((section(".boot"), used)) const uint32_t uhost_boot[] = {
    0xFFFFDED3u, /* begin */
    0x10210142u, /* one word, image type: executable, secure, Arm, RP2350 */
    0x000001FFu, /* one word before this last item */
    0x00000000u, /* the only block */
    0xAB123579u, /* end */
};
