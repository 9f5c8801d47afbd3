/* The control registers and the interrupt controller (PLIC) of 32-bit RISC-V. */
#ifndef UHOST_RISCV_H
#define UHOST_RISCV_H

#include <stdint.h>

#include "registers.h"

#define MSTATUS_MIE 0x8u
#define MIE_MEIE (1u << 11) /* interrupts from the PLIC */

/* The PLIC as hart 0 in machine mode, its context 0, sees it. */
#define PLIC_PRIORITY(source) REGISTER(UHOST_PLIC_BASE + 4u * (source))
#define PLIC_ENABLE(source) REGISTER(UHOST_PLIC_BASE + 0x2000u + 4u * ((source) / 32u))
#define PLIC_THRESHOLD REGISTER(UHOST_PLIC_BASE + 0x200000u)
#define PLIC_CLAIM REGISTER(UHOST_PLIC_BASE + 0x200004u) /* written back: done */

static inline void disable_interrupts(void)
{
    __asm volatile("csrci mstatus, 8" ::: "memory");
}

static inline void enable_interrupts(void)
{
    __asm volatile("csrsi mstatus, 8" ::: "memory");
}

static inline void wait_for_interrupt(void)
{
    __asm volatile("fence\n\twfi" ::: "memory");
}

#endif
