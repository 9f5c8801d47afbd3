/* Netduino Plus 2 (STM32F405), QEMU machine netduinoplus2: vector table and start-up steps, from the board's data. */
#include "console.h"
#include "steps.h"
#include "vectors.h"

__attribute__((section(".vectors"), used))
const union uhost_vector uhost_vectors[98] = {
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
    {.handler = uhost_fault_entry}, /* 33 */
    {.handler = uhost_fault_entry}, /* 34 */
    {.handler = uhost_fault_entry}, /* 35 */
    {.handler = uhost_fault_entry}, /* 36 */
    {.handler = uhost_console_interrupt}, /* 37: USART1 */
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
    {.handler = uhost_fault_entry}, /* 52 */
    {.handler = uhost_fault_entry}, /* 53 */
    {.handler = uhost_fault_entry}, /* 54 */
    {.handler = uhost_fault_entry}, /* 55 */
    {.handler = uhost_fault_entry}, /* 56 */
    {.handler = uhost_fault_entry}, /* 57 */
    {.handler = uhost_fault_entry}, /* 58 */
    {.handler = uhost_fault_entry}, /* 59 */
    {.handler = uhost_fault_entry}, /* 60 */
    {.handler = uhost_fault_entry}, /* 61 */
    {.handler = uhost_fault_entry}, /* 62 */
    {.handler = uhost_fault_entry}, /* 63 */
    {.handler = uhost_fault_entry}, /* 64 */
    {.handler = uhost_fault_entry}, /* 65 */
    {.handler = uhost_fault_entry}, /* 66 */
    {.handler = uhost_fault_entry}, /* 67 */
    {.handler = uhost_fault_entry}, /* 68 */
    {.handler = uhost_fault_entry}, /* 69 */
    {.handler = uhost_fault_entry}, /* 70 */
    {.handler = uhost_fault_entry}, /* 71 */
    {.handler = uhost_fault_entry}, /* 72 */
    {.handler = uhost_fault_entry}, /* 73 */
    {.handler = uhost_fault_entry}, /* 74 */
    {.handler = uhost_fault_entry}, /* 75 */
    {.handler = uhost_fault_entry}, /* 76 */
    {.handler = uhost_fault_entry}, /* 77 */
    {.handler = uhost_fault_entry}, /* 78 */
    {.handler = uhost_fault_entry}, /* 79 */
    {.handler = uhost_fault_entry}, /* 80 */
    {.handler = uhost_fault_entry}, /* 81 */
};

const struct uhost_step uhost_clock_steps[] = {
    {UHOST_STEP_SET, 0x40023840u, 0x10000000u, 0x10000000u}, /* RCC_APB1ENR */
    {UHOST_STEP_SET, 0x40007000u, 0x00004000u, 0x00004000u}, /* PWR_CR */
    {UHOST_STEP_SET, 0x40023800u, 0x00010000u, 0x00010000u}, /* RCC_CR */
    {UHOST_STEP_WAIT, 0x40023800u, 0x00020000u, 0x00020000u}, /* RCC_CR */
    {UHOST_STEP_WRITE, 0x40023804u, 0xFFFFFFFFu, 0x07405419u}, /* RCC_PLLCFGR */
    {UHOST_STEP_SET, 0x40023800u, 0x01000000u, 0x01000000u}, /* RCC_CR */
    {UHOST_STEP_WAIT, 0x40023800u, 0x02000000u, 0x02000000u}, /* RCC_CR */
    {UHOST_STEP_WRITE, 0x40023C00u, 0xFFFFFFFFu, 0x00000705u}, /* FLASH_ACR */
    {UHOST_STEP_WAIT, 0x40023C00u, 0x0000000Fu, 0x00000005u}, /* FLASH_ACR */
    {UHOST_STEP_MODIFY, 0x40023808u, 0x0000FCF0u, 0x00009400u}, /* RCC_CFGR */
    {UHOST_STEP_MODIFY, 0x40023808u, 0x00000003u, 0x00000002u}, /* RCC_CFGR */
    {UHOST_STEP_WAIT, 0x40023808u, 0x0000000Cu, 0x00000008u}, /* RCC_CFGR */
    {UHOST_STEP_END, 0, 0, 0},
};

const struct uhost_step uhost_console_steps[] = {
    {UHOST_STEP_SET, 0x40023844u, 0x00000010u, 0x00000010u}, /* RCC_APB2ENR */
    {UHOST_STEP_SET, 0x40023830u, 0x00000001u, 0x00000001u}, /* RCC_AHB1ENR */
    {UHOST_STEP_MODIFY, 0x40020000u, 0x003C0000u, 0x00280000u}, /* GPIOA_MODER */
    {UHOST_STEP_MODIFY, 0x40020024u, 0x00000FF0u, 0x00000770u}, /* GPIOA_AFRH */
    {UHOST_STEP_END, 0, 0, 0},
};
