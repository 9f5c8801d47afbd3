/* nRF52840 DK (PCA10056), Nordic Semiconductor: vector table and start-up steps, from the board's data. */
#include "console.h"
#include "steps.h"
#include "vectors.h"

__attribute__((section(".vectors"), used))
const union uhost_vector uhost_vectors[64] = {
    {.stack = uhost_stack_top},
    {.handler = uhost_reset},
    {.handler = uhost_fault_entry}, /* NMI */
    {.handler = uhost_fault_entry}, /* hard fault */
    {.handler = uhost_fault_entry}, /* memory fault */
    {.handler = uhost_fault_entry}, /* bus fault */
    {.handler = uhost_fault_entry}, /* usage fault */
    {.handler = uhost_fault_entry}, /* reserved */
    {.handler = uhost_fault_entry}, /* reserved */
    {.handler = uhost_fault_entry}, /* reserved */
    {.handler = uhost_fault_entry}, /* reserved */
    {.handler = uhost_fault_entry}, /* SVCall */
    {.handler = uhost_fault_entry}, /* debug monitor */
    {.handler = uhost_fault_entry}, /* reserved */
    {.handler = uhost_fault_entry}, /* PendSV */
    {.handler = uhost_fault_entry}, /* SysTick */
    {.handler = uhost_fault_entry}, /* 0 */
    {.handler = uhost_fault_entry}, /* 1 */
    {.handler = uhost_console_interrupt}, /* 2: UARTE0 */
    {.handler = uhost_fault_entry}, /* 3 */
    {.handler = uhost_fault_entry}, /* 4 */
    {.handler = uhost_fault_entry}, /* 5 */
    {.handler = uhost_fault_entry}, /* 6 */
    {.handler = uhost_fault_entry}, /* 7 */
    {.handler = uhost_fault_entry}, /* 8 */
    {.handler = uhost_fault_entry}, /* 9 */
    {.handler = uhost_fault_entry}, /* 10 */
    {.handler = uhost_fault_entry}, /* 11 */
    {.handler = uhost_fault_entry}, /* 12 */
    {.handler = uhost_fault_entry}, /* 13 */
    {.handler = uhost_fault_entry}, /* 14 */
    {.handler = uhost_fault_entry}, /* 15 */
    {.handler = uhost_fault_entry}, /* 16 */
    {.handler = uhost_fault_entry}, /* 17 */
    {.handler = uhost_fault_entry}, /* 18 */
    {.handler = uhost_fault_entry}, /* 19 */
    {.handler = uhost_fault_entry}, /* 20 */
    {.handler = uhost_fault_entry}, /* 21 */
    {.handler = uhost_fault_entry}, /* 22 */
    {.handler = uhost_fault_entry}, /* 23 */
    {.handler = uhost_fault_entry}, /* 24 */
    {.handler = uhost_fault_entry}, /* 25 */
    {.handler = uhost_fault_entry}, /* 26 */
    {.handler = uhost_fault_entry}, /* 27 */
    {.handler = uhost_fault_entry}, /* 28 */
    {.handler = uhost_fault_entry}, /* 29 */
    {.handler = uhost_fault_entry}, /* 30 */
    {.handler = uhost_fault_entry}, /* 31 */
    {.handler = uhost_fault_entry}, /* 32 */
    {.handler = uhost_fault_entry}, /* 33 */
    {.handler = uhost_fault_entry}, /* 34 */
    {.handler = uhost_fault_entry}, /* 35 */
    {.handler = uhost_fault_entry}, /* 36 */
    {.handler = uhost_fault_entry}, /* 37 */
    {.handler = uhost_fault_entry}, /* 38 */
    {.handler = uhost_fault_entry}, /* 39 */
    {.handler = uhost_fault_entry}, /* 40 */
    {.handler = uhost_fault_entry}, /* 41 */
    {.handler = uhost_fault_entry}, /* 42 */
    {.handler = uhost_fault_entry}, /* 43 */
    {.handler = uhost_fault_entry}, /* 44 */
    {.handler = uhost_fault_entry}, /* 45 */
    {.handler = uhost_fault_entry}, /* 46 */
    {.handler = uhost_fault_entry}, /* 47 */
};

const struct uhost_step uhost_clock_steps[] = {
    {UHOST_STEP_WRITE, 0x40000100u, 0xFFFFFFFFu, 0x00000000u}, /* CLOCK_HFCLKSTARTED */
    {UHOST_STEP_WRITE, 0x40000000u, 0xFFFFFFFFu, 0x00000001u}, /* CLOCK_HFCLKSTART */
    {UHOST_STEP_WAIT, 0x40000100u, 0x00000001u, 0x00000001u}, /* CLOCK_HFCLKSTARTED */
    {UHOST_STEP_WRITE, 0x4001E540u, 0xFFFFFFFFu, 0x00000001u}, /* NVMC_ICACHECNF */
    {UHOST_STEP_END, 0, 0, 0},
};

const struct uhost_step uhost_console_steps[] = {
    {UHOST_STEP_WRITE, 0x50000508u, 0xFFFFFFFFu, 0x00000040u}, /* P0_OUTSET */
    {UHOST_STEP_WRITE, 0x50000518u, 0xFFFFFFFFu, 0x00000040u}, /* P0_DIRSET */
    {UHOST_STEP_WRITE, 0x4000250Cu, 0xFFFFFFFFu, 0x00000006u}, /* UARTE0_PSEL_TXD */
    {UHOST_STEP_WRITE, 0x40002514u, 0xFFFFFFFFu, 0x00000008u}, /* UARTE0_PSEL_RXD */
    {UHOST_STEP_END, 0, 0, 0},
};
