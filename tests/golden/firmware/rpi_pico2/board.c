/* Raspberry Pi Pico 2 (RP2350): vector table and start-up steps, from the board's data. */
#include "console.h"
#include "steps.h"
#include "vectors.h"

__attribute__((section(".vectors"), used))
const union uhost_vector uhost_vectors[68] = {
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
    {.handler = uhost_fault_entry}, /* 2 */
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
    {.handler = uhost_console_interrupt}, /* 33: UART0 */
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
    {.handler = uhost_fault_entry}, /* 48 */
    {.handler = uhost_fault_entry}, /* 49 */
    {.handler = uhost_fault_entry}, /* 50 */
    {.handler = uhost_fault_entry}, /* 51 */
};

const struct uhost_step uhost_clock_steps[] = {
    {UHOST_STEP_CLEAR, 0x40020000u, 0x04004240u, 0x00000000u}, /* RESETS_RESET */
    {UHOST_STEP_WRITE, 0x4004800Cu, 0xFFFFFFFFu, 0x0000002Fu}, /* XOSC_STARTUP */
    {UHOST_STEP_WRITE, 0x40048000u, 0xFFFFFFFFu, 0x00FABAA0u}, /* XOSC_CTRL */
    {UHOST_STEP_WAIT, 0x40048004u, 0x80000000u, 0x80000000u}, /* XOSC_STATUS */
    {UHOST_STEP_WRITE, 0x40010030u, 0xFFFFFFFFu, 0x00000002u}, /* CLK_REF_CTRL */
    {UHOST_STEP_WAIT, 0x40010038u, 0x0000000Fu, 0x00000004u}, /* CLK_REF_SELECTED */
    {UHOST_STEP_WAIT, 0x40020008u, 0x00004240u, 0x00004240u}, /* RESETS_DONE */
    {UHOST_STEP_WRITE, 0x40050000u, 0xFFFFFFFFu, 0x00000001u}, /* PLL_SYS_CS */
    {UHOST_STEP_WRITE, 0x40050008u, 0xFFFFFFFFu, 0x0000007Du}, /* PLL_SYS_FBDIV */
    {UHOST_STEP_CLEAR, 0x40050004u, 0x00000021u, 0x00000000u}, /* PLL_SYS_PWR */
    {UHOST_STEP_WAIT, 0x40050000u, 0x80000000u, 0x80000000u}, /* PLL_SYS_CS */
    {UHOST_STEP_WRITE, 0x4005000Cu, 0xFFFFFFFFu, 0x00052000u}, /* PLL_SYS_PRIM */
    {UHOST_STEP_CLEAR, 0x40050004u, 0x00000008u, 0x00000000u}, /* PLL_SYS_PWR */
    {UHOST_STEP_WRITE, 0x4001003Cu, 0xFFFFFFFFu, 0x00000000u}, /* CLK_SYS_CTRL */
    {UHOST_STEP_WRITE, 0x4001003Cu, 0xFFFFFFFFu, 0x00000001u}, /* CLK_SYS_CTRL */
    {UHOST_STEP_WAIT, 0x40010044u, 0x00000003u, 0x00000002u}, /* CLK_SYS_SELECTED */
    {UHOST_STEP_WRITE, 0x40010048u, 0xFFFFFFFFu, 0x00000800u}, /* CLK_PERI_CTRL */
    {UHOST_STEP_WAIT, 0x40020008u, 0x04000000u, 0x04000000u}, /* RESETS_DONE */
    {UHOST_STEP_END, 0, 0, 0},
};

const struct uhost_step uhost_console_steps[] = {
    {UHOST_STEP_WRITE, 0x40028004u, 0xFFFFFFFFu, 0x00000002u}, /* GPIO0_CTRL */
    {UHOST_STEP_WRITE, 0x4002800Cu, 0xFFFFFFFFu, 0x00000002u}, /* GPIO1_CTRL */
    {UHOST_STEP_MODIFY, 0x40038004u, 0x000001C0u, 0x00000040u}, /* PADS_GPIO0 */
    {UHOST_STEP_MODIFY, 0x40038008u, 0x000001C0u, 0x00000040u}, /* PADS_GPIO1 */
    {UHOST_STEP_END, 0, 0, 0},
};
