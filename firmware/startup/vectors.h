/* The vector table, written from the board's data (board.c), and what it points to. */
#ifndef UHOST_VECTORS_H
#define UHOST_VECTORS_H

#include <stdint.h>

union uhost_vector {
    uint32_t *stack;       /* entry 0: the initial stack pointer */
    void (*handler)(void); /* all others */
};

extern const union uhost_vector uhost_vectors[];

/* Of the linker script: the reserved stack, from its lowest byte to after its highest. */
extern uint32_t uhost_stack_limit[];
extern uint32_t uhost_stack_top[];

void uhost_reset(void);
void uhost_fault_entry(void);
void uhost_console_interrupt(void);

#endif
