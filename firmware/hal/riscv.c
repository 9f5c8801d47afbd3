/* The HAL of 32-bit RISC-V boards: start, interrupts, cycle counter, sleep, stack measurement. */
#include "board.h"
#include "riscv.h"
#include "console.h"
#include "hal.h"
#include "steps.h"
#include "uart.h"
#include "vectors.h"

static uint32_t clock_hz;
static bool cycles_count;

/* ---- Start -------------------------------------------------------------------------------- */

void uhost_hal_init(void)
{
    bool clock_runs = uhost_run_steps(uhost_clock_steps);
    uint32_t start = uhost_hal_cycles();

    /* Without its clock the board still answers, slowly: the reset clock feeds the console. */
    clock_hz = clock_runs ? UHOST_CLOCK_HZ : UHOST_RESET_CLOCK_HZ;
    (void)uhost_run_steps(uhost_console_steps);
    uhost_uart_start(clock_runs ? UHOST_CONSOLE_CLOCK_HZ : UHOST_CONSOLE_RESET_CLOCK_HZ);
    PLIC_THRESHOLD = 0;
    PLIC_PRIORITY(UHOST_CONSOLE_IRQ) = 1;
    PLIC_ENABLE(UHOST_CONSOLE_IRQ) = 1u << UHOST_CONSOLE_IRQ % 32u;
    cycles_count = uhost_hal_cycles() != start;
    __asm volatile("csrs mie, %0" ::"r"(MIE_MEIE));
    enable_interrupts();
}

/* ---- Interrupts --------------------------------------------------------------------------- */

/* Goes on from uhost_trap, which jumps here for interrupts. */
__attribute__((interrupt("machine"), used)) void uhost_interrupt(void)
{
    uint32_t source = PLIC_CLAIM;

    if (source == UHOST_CONSOLE_IRQ) {
        uhost_console_interrupt();
    } else if (source != 0) {
        uhost_unexpected_interrupt(source);
    }
    PLIC_CLAIM = source;
}

void uhost_hal_wait(void)
{
    /* With interrupts off a byte cannot slip in between the look and the sleep; it wakes. */
    disable_interrupts();
    if (uhost_console_is_empty()) {
        wait_for_interrupt();
    }
    enable_interrupts();
}

/* ---- Measurements ------------------------------------------------------------------------- */

bool uhost_hal_has_cycles(void)
{
    return cycles_count;
}

uint32_t uhost_hal_cycles(void)
{
    uint32_t cycles;

    __asm volatile("csrr %0, mcycle" : "=r"(cycles));
    return cycles;
}

uint32_t uhost_hal_clock_hz(void)
{
    return clock_hz;
}

/*
 * All in one function without a frame of its own, so that the painted stack begins exactly
 * at the SP that the called function finds. Paints upwards from the limit, calls, and looks
 * for the lowest word that changed.
 */
__attribute__((naked)) int32_t
uhost_hal_call_measured(__attribute__((unused)) int32_t (*function)(void *argument),
                        __attribute__((unused)) void *argument,
                        __attribute__((unused)) uint32_t *stack_bytes)
{
    __asm volatile("addi sp, sp, -16\n"
                   "sw ra, 12(sp)\n"
                   "sw s0, 8(sp)\n"
                   "sw s1, 4(sp)\n"
                   "mv s0, a2\n"
                   "csrrci s1, mstatus, 8\n"
                   "la t0, uhost_stack_limit\n"
                   "li t1, 0xA5C3965A\n"
                   "1: bgeu t0, sp, 2f\n"
                   "sw t1, 0(t0)\n"
                   "addi t0, t0, 4\n"
                   "j 1b\n"
                   "2: mv t0, a0\n"
                   "mv a0, a1\n"
                   "jalr t0\n"
                   "la t0, uhost_stack_limit\n"
                   "li t1, 0xA5C3965A\n"
                   "3: bgeu t0, sp, 4f\n"
                   "lw t2, 0(t0)\n"
                   "bne t2, t1, 4f\n"
                   "addi t0, t0, 4\n"
                   "j 3b\n"
                   "4: sub t0, sp, t0\n"
                   "sw t0, 0(s0)\n"
                   "andi s1, s1, 8\n" /* interrupts as they were */
                   "csrs mstatus, s1\n"
                   "lw ra, 12(sp)\n"
                   "lw s0, 8(sp)\n"
                   "lw s1, 4(sp)\n"
                   "addi sp, sp, 16\n"
                   "ret\n");
}
