/* Arm MPS2 with the FPGA image AN500, QEMU machine mps2-an500: vector table and start-up steps, from the board's data. */
#include "console.h"
#include "steps.h"
#include "vectors.h"

__attribute__((section(".vectors"), used))
const union uhost_vector uhost_vectors[48] = {
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
    {.handler = uhost_console_interrupt}, /* 0: UART0 */
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
};

const struct uhost_step uhost_clock_steps[] = {
    {UHOST_STEP_END, 0, 0, 0},
};

const struct uhost_step uhost_console_steps[] = {
    {UHOST_STEP_END, 0, 0, 0},
};
