/* Register operations of start-up, as tables that the board's data fill (board.c). */
#ifndef UHOST_STEPS_H
#define UHOST_STEPS_H

#include <stdbool.h>
#include <stdint.h>

enum uhost_step_op {
    UHOST_STEP_END,    /* closes a table */
    UHOST_STEP_SET,    /* register |= mask */
    UHOST_STEP_CLEAR,  /* register &= ~mask */
    UHOST_STEP_MODIFY, /* register = (register & ~mask) | value */
    UHOST_STEP_WRITE,  /* register = value */
    UHOST_STEP_WAIT    /* until (register & mask) == value */
};

struct uhost_step {
    enum uhost_step_op op;
    uint32_t address;
    uint32_t mask;
    uint32_t value;
};

/* From reset to the board's clock. */
extern const struct uhost_step uhost_clock_steps[];

/* Switches the console's UART on and connects its pins. */
extern const struct uhost_step uhost_console_steps[];

/*
 * Runs a table. Every wait is bounded: false, with the rest of the table left out, when
 * one gave up, as with a crystal that is not there or a register a simulator lacks.
 */
bool uhost_run_steps(const struct uhost_step *steps);

#endif
