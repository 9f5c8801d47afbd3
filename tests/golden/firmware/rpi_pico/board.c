/* Raspberry Pi Pico (RP2040): vector table and start-up steps, from the board's data. */
#include "console.h"
#include "steps.h"
#include "vectors.h"

__attribute__((section(".vectors"), used))
const union uhost_vector uhost_vectors[42] = {
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
    {.handler = uhost_console_interrupt}, /* 20: UART0 */
    {.handler = uhost_fault_entry}, /* 21 */
    {.handler = uhost_fault_entry}, /* 22 */
    {.handler = uhost_fault_entry}, /* 23 */
    {.handler = uhost_fault_entry}, /* 24 */
    {.handler = uhost_fault_entry}, /* 25 */
};

const struct uhost_step uhost_clock_steps[] = {
    {UHOST_STEP_CLEAR, 0x4000C000u, 0x00401120u, 0x00000000u}, /* RESETS_RESET */
    {UHOST_STEP_WRITE, 0x4002400Cu, 0xFFFFFFFFu, 0x0000002Fu}, /* XOSC_STARTUP */
    {UHOST_STEP_WRITE, 0x40024000u, 0xFFFFFFFFu, 0x00FABAA0u}, /* XOSC_CTRL */
    {UHOST_STEP_WAIT, 0x40024004u, 0x80000000u, 0x80000000u}, /* XOSC_STATUS */
    {UHOST_STEP_WRITE, 0x40008030u, 0xFFFFFFFFu, 0x00000002u}, /* CLK_REF_CTRL */
    {UHOST_STEP_WAIT, 0x40008038u, 0x0000000Fu, 0x00000004u}, /* CLK_REF_SELECTED */
    {UHOST_STEP_WAIT, 0x4000C008u, 0x00001120u, 0x00001120u}, /* RESETS_DONE */
    {UHOST_STEP_WRITE, 0x40028000u, 0xFFFFFFFFu, 0x00000001u}, /* PLL_SYS_CS */
    {UHOST_STEP_WRITE, 0x40028008u, 0xFFFFFFFFu, 0x0000007Du}, /* PLL_SYS_FBDIV */
    {UHOST_STEP_CLEAR, 0x40028004u, 0x00000021u, 0x00000000u}, /* PLL_SYS_PWR */
    {UHOST_STEP_WAIT, 0x40028000u, 0x80000000u, 0x80000000u}, /* PLL_SYS_CS */
    {UHOST_STEP_WRITE, 0x4002800Cu, 0xFFFFFFFFu, 0x00062000u}, /* PLL_SYS_PRIM */
    {UHOST_STEP_CLEAR, 0x40028004u, 0x00000008u, 0x00000000u}, /* PLL_SYS_PWR */
    {UHOST_STEP_WRITE, 0x4000803Cu, 0xFFFFFFFFu, 0x00000000u}, /* CLK_SYS_CTRL */
    {UHOST_STEP_WRITE, 0x4000803Cu, 0xFFFFFFFFu, 0x00000001u}, /* CLK_SYS_CTRL */
    {UHOST_STEP_WAIT, 0x40008044u, 0x00000003u, 0x00000002u}, /* CLK_SYS_SELECTED */
    {UHOST_STEP_WRITE, 0x40008048u, 0xFFFFFFFFu, 0x00000800u}, /* CLK_PERI_CTRL */
    {UHOST_STEP_WAIT, 0x4000C008u, 0x00400000u, 0x00400000u}, /* RESETS_DONE */
    {UHOST_STEP_END, 0, 0, 0},
};

const struct uhost_step uhost_console_steps[] = {
    {UHOST_STEP_WRITE, 0x40014004u, 0xFFFFFFFFu, 0x00000002u}, /* GPIO0_CTRL */
    {UHOST_STEP_WRITE, 0x4001400Cu, 0xFFFFFFFFu, 0x00000002u}, /* GPIO1_CTRL */
    {UHOST_STEP_END, 0, 0, 0},
};
