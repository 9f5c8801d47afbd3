/* QEMU machine virt with a 32-bit RISC-V (RV32IMC): start-up steps, from the board's data. */
#include "steps.h"

const struct uhost_step uhost_clock_steps[] = {
    {UHOST_STEP_END, 0, 0, 0},
};

const struct uhost_step uhost_console_steps[] = {
    {UHOST_STEP_END, 0, 0, 0},
};
