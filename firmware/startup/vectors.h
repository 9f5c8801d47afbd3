/* Where the CPU goes at reset, at faults and at interrupts. */
#ifndef UHOST_VECTORS_H
#define UHOST_VECTORS_H

#include <stdint.h>

/* Of the linker script: the reserved stack, from its lowest byte to after its highest. */
extern uint32_t uhost_stack_limit[];
extern uint32_t uhost_stack_top[];

void uhost_reset(void);

#ifdef __riscv

void uhost_trap(void);

/* Reports an interrupt that nobody expects, from its handler, and stops. */
__attribute__((noreturn)) void uhost_unexpected_interrupt(uint32_t source);

#else

/* The vector table, written from the board's data (board.c). */
union uhost_vector {
    uint32_t *stack;       /* entry 0: the initial stack pointer */
    void (*handler)(void); /* all others */
};

extern const union uhost_vector uhost_vectors[];

void uhost_fault_entry(void);

#endif

#endif
