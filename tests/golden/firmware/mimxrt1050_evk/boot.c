/*
 * MIMXRT1050-EVKB, NXP, with its HyperFlash: what the ROM reads in flash before it starts the image.
 *
 * First how to read the HyperFlash, in 512 bytes at the start, then at 0x1000 the image vector
 * table (IVT), which leads to the vector table (i.MX RT1050 reference manual, "FlexSPI NOR
 * boot" and "Image vector table").
 */
#include <stdint.h>

#define AT(offset) [(offset) / 4]

__attribute__((section(".boot"), used)) const uint32_t uhost_boot[] = {
    AT(0x00) = 0x42464346u, /* "FCFB" */
    AT(0x04) = 0x56010000u, /* version 1.0 */
    AT(0x0C) = 0x03030303u, /* sampling by the flash's strobe, hold 3, set-up 3, column 3 bits */
    AT(0x40) = 0x00000059u, /* double rate, word addressed, safe speed first, clock in pairs */
    AT(0x44) = 0x00070801u, /* serial NOR, 8 data lines, 133 MHz */
    AT(0x50) = 0x04000000u, /* 64 MiB */
    AT(0x78) = 0x00100010u, /* data valid after 16 units, both edges */
    AT(0x80) = 0x8B1887A0u, /* the read: command and row */
    AT(0x84) = 0xB3068F10u, /* column and dummy cycles */
    AT(0x88) = 0x0000A704u, /* data */
    AT(0x1C0) = 512u,       /* bytes in a page */
    AT(0x1C4) = 0x40000u,   /* bytes in a sector */
    AT(0x1C8) = 0x00000100u, /* all blocks have one size */
    AT(0x1D0) = 0x40000u,   /* bytes in a block */

    AT(0x1000) = 0x412000D1u, /* IVT of 32 bytes, version 4.1 */
    AT(0x1004) = 0x60002000u, /* the vector table */
    AT(0x1010) = 0x60001020u, /* boot data, below */
    AT(0x1014) = 0x60001000u, /* the IVT itself */
    AT(0x1020) = 0x60000000u, /* the image: start, bytes, no plug-in */
    AT(0x1024) = 0x04000000u,
    AT(0x1028) = 0u,
};
