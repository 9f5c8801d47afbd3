/* The HAL of Cortex-M boards: start, sleep, cycle counter and stack measurement. */
#include "cortex_m.h"
#include "board.h"
#include "console.h"
#include "hal.h"
#include "steps.h"
#include "uart.h"

static uint32_t clock_hz;
static bool cycles_count;

/* ---- Start -------------------------------------------------------------------------------- */

/* True if the cycle counter is there and moves: in QEMU it reads 0. */
static bool start_cycle_counter(void)
{
#if UHOST_HAS_DWT
    uint32_t start;

    DEMCR |= DEMCR_TRCENA;
    DWT_LAR = DWT_LAR_KEY; /* Cortex-M7 locks its counter; others ignore this */
    if ((DWT_CTRL & DWT_CTRL_NOCYCCNT) != 0) {
        return false;
    }
    DWT_CTRL |= DWT_CTRL_CYCCNTENA;
    start = DWT_CYCCNT;
    for (uint32_t reads = 0; reads < 64; reads++) {
        if (DWT_CYCCNT != start) {
            return true;
        }
    }
#endif
    return false;
}

void uhost_hal_init(void)
{
    bool clock_runs = uhost_run_steps(uhost_clock_steps);

    /* Without its clock the board still answers, slowly: the reset clock feeds the console. */
    clock_hz = clock_runs ? UHOST_CLOCK_HZ : UHOST_RESET_CLOCK_HZ;
    (void)uhost_run_steps(uhost_console_steps);
    uhost_uart_start(clock_runs ? UHOST_CONSOLE_CLOCK_HZ : UHOST_CONSOLE_RESET_CLOCK_HZ);
    NVIC_ICPR(UHOST_CONSOLE_IRQ / 32u) = 1u << UHOST_CONSOLE_IRQ % 32u;
    NVIC_ISER(UHOST_CONSOLE_IRQ / 32u) = 1u << UHOST_CONSOLE_IRQ % 32u;
    cycles_count = start_cycle_counter();
    enable_interrupts();
}

/* ---- Sleep ------------------------------------------------------------------------------- */

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
#if UHOST_HAS_DWT
    return DWT_CYCCNT;
#else
    return 0;
#endif
}

uint32_t uhost_hal_clock_hz(void)
{
    return clock_hz;
}

/*
 * In the 16-bit Thumb instructions that every Cortex-M knows. All in one function without a frame of its own, so that the painted stack begins exactly
 * at the SP that the called function finds. Paints upwards from the limit, calls, and looks
 * for the lowest word that changed.
 */
__attribute__((naked)) int32_t
uhost_hal_call_measured(__attribute__((unused)) int32_t (*function)(void *argument),
                        __attribute__((unused)) void *argument,
                        __attribute__((unused)) uint32_t *stack_bytes)
{
    __asm volatile(".syntax unified\n"
                   "push {r3-r7, lr}\n" /* r3 keeps SP a multiple of 8 */
                   "mrs r7, primask\n"
                   "cpsid i\n"
                   "mov r4, r0\n"
                   "mov r5, r2\n"
                   "mov r6, sp\n"
                   "ldr r2, =uhost_stack_limit\n"
                   "ldr r3, =0xA5C3965A\n"
                   "1: cmp r2, r6\n"
                   "bhs 2f\n"
                   "str r3, [r2]\n"
                   "adds r2, r2, #4\n"
                   "b 1b\n"
                   "2: mov r0, r1\n"
                   "blx r4\n"
                   "ldr r2, =uhost_stack_limit\n"
                   "ldr r3, =0xA5C3965A\n"
                   "3: cmp r2, r6\n"
                   "bhs 4f\n"
                   "ldr r1, [r2]\n"
                   "cmp r1, r3\n"
                   "bne 4f\n"
                   "adds r2, r2, #4\n"
                   "b 3b\n"
                   "4: subs r1, r6, r2\n"
                   "str r1, [r5]\n"
                   "msr primask, r7\n"
                   "pop {r3-r7, pc}\n"
                   ".ltorg\n");
}
