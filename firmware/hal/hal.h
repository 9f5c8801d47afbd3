/*
 * What the RPC server needs of a board, and what a board needs of the RPC server.
 *
 * One file of this folder implements it per target: cortex_m.c or riscv.c, with console.c
 * and the driver of the console's UART kind, or host.c.
 */
#ifndef UHOST_HAL_H
#define UHOST_HAL_H

#include <stdbool.h>
#include <stdint.h>

/* Starts clock, console, cycle counter and interrupts. Call once, first in main. */
void uhost_hal_init(void);

/* Takes up to size received bytes; returns how many, 0 when none are waiting. */
uint32_t uhost_hal_read(uint8_t *buffer, uint32_t size);

/* Sends all bytes; returns when the last was handed to the UART. Works with interrupts off. */
void uhost_hal_write(const uint8_t *data, uint32_t size);

/* Sleeps until a byte is waiting or an interrupt came. */
void uhost_hal_wait(void);

/* True if uhost_hal_cycles counts: some simulators have a counter that stands still. */
bool uhost_hal_has_cycles(void);

/* The free-running core clock counter; it wraps. */
uint32_t uhost_hal_cycles(void);

/* The core clock, in Hz, that start-up reached. 0 if unknown. */
uint32_t uhost_hal_clock_hz(void);

/*
 * Calls function(argument) and returns its result. *stack_bytes becomes the depth of the
 * stack below SP at the function's entry, UINT32_MAX where it cannot be measured.
 * Interrupts are held off meanwhile, so that they do not count: bytes that arrive during
 * the call may be lost.
 */
int32_t uhost_hal_call_measured(int32_t (*function)(void *argument), void *argument,
                                uint32_t *stack_bytes);

/*
 * Arm exception numbers; interrupt n that nothing handles is 16 + n. Other targets report
 * their traps in the same terms.
 */
enum {
    UHOST_FAULT_NMI = 2,
    UHOST_FAULT_HARD = 3,
    UHOST_FAULT_MEMORY = 4,
    UHOST_FAULT_BUS = 5,
    UHOST_FAULT_USAGE = 6,
    UHOST_FAULT_INTERRUPT = 16
};

/*
 * The registers at a fault, by their Arm names: RISC-V gives a0 to a3 as r0 to r3, t0 as
 * r12, ra as lr, mepc as pc and mstatus as xpsr. Where the stack could not hold them (it overflowed), r0 to
 * xpsr are 0 and sp tells how far it got.
 */
struct uhost_fault {
    uint32_t kind;
    uint32_t r0;
    uint32_t r1;
    uint32_t r2;
    uint32_t r3;
    uint32_t r12;
    uint32_t lr;
    uint32_t pc;
    uint32_t xpsr;
    uint32_t sp;    /* as it was before the exception */
    uint32_t cfsr;  /* configurable fault status */
    uint32_t hfsr;  /* hard fault status */
    uint32_t mmfar; /* address of a memory fault, where cfsr says it is valid */
    uint32_t bfar;  /* address of a bus fault, where cfsr says it is valid */
};

/* Of the RPC server: sends a fault report by uhost_hal_write alone and returns. */
void uhost_rpc_report_fault(const struct uhost_fault *fault);

#endif
