/*
 * Raspberry Pi Pico (RP2040): the second stage of its boot, 252 bytes and their checksum.
 *
 * The ROM copies it to RAM, checks it, and calls it. It lets the flash be read as memory, by
 * the plain read command that every serial flash knows (RP2040 datasheet, 2.8.1.3.1 and 4.10),
 * and starts the image behind it. As machine code, since the checksum is part of it:
 *
 *     ldr r3, [pc, #40]    ; the controller of the flash (SSI)
 *     movs r1, #0
 *     str r1, [r3, #8]     ; SSIENR: off, so that it can be set up
 *     movs r1, #4
 *     str r1, [r3, #20]    ; BAUDR: a quarter of the system clock
 *     ldr r1, [pc, #36]
 *     str r1, [r3, #0]     ; CTRLR0: frames of 32 bits, one data line, write then read
 *     movs r1, #0
 *     str r1, [r3, #4]     ; CTRLR1: one frame for each read
 *     ldr r1, [pc, #32]
 *     ldr r0, [pc, #32]
 *     str r1, [r0, #0]     ; SPI_CTRLR0: command 03h, an address of 24 bits
 *     movs r1, #1
 *     str r1, [r3, #8]     ; SSIENR: on; from here flash reads as memory
 *     ldr r0, [pc, #28]    ; the vector table
 *     ldr r1, [pc, #32]
 *     str r0, [r1, #0]     ; VTOR
 *     ldm r0!, {r1, r2}
 *     msr msp, r1          ; the initial stack
 *     bx r2                ; the reset handler
 *     mov r8, r8           ; makes the constants aligned
 */
#include <stdint.h>

__attribute__((section(".boot"), used)) const uint32_t uhost_boot[64] = {
    0x21004B0Au,
    0x21046099u,
    0x49096159u,
    0x21006019u,
    0x49086059u,
    0x60014808u,
    0x60992101u,
    0x49084807u,
    0xC8066008u,
    0x8808F381u,
    0x46C04710u,
    0x18000000u,
    0x001F0300u,
    0x03000218u,
    0x180000F4u,
    0x10000100u,
    0xE000ED08u,
    [63] = 0x0A4B45CEu,
};
