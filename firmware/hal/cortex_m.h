/*
 * The system registers of Cortex-M that start-up and the HAL use. Armv6-M (M0, M0+) has the
 * interrupt controller and, on some chips, VTOR, but neither fault status nor counter.
 */
#ifndef UHOST_CORTEX_M_H
#define UHOST_CORTEX_M_H

#include <stdint.h>

#include "registers.h"

#if __ARM_ARCH_ISA_THUMB == 1
#define UHOST_IS_ARMV6M 1
#else
#define UHOST_IS_ARMV6M 0
#endif

/* Interrupt controller: one bit per interrupt, 32 to a register. */
#define NVIC_ISER(index) REGISTER(0xE000E100u + 4u * (index))
#define NVIC_ICPR(index) REGISTER(0xE000E280u + 4u * (index))

/* System control block. */
#define SCB_VTOR REGISTER(0xE000ED08u)
#define SCB_CCR REGISTER(0xE000ED14u)
#define SCB_CCR_DIV_0_TRP (1u << 4)
#define SCB_CCR_DC (1u << 16)
#define SCB_CCR_IC (1u << 17)
#define SCB_SHCSR REGISTER(0xE000ED24u)
#define SCB_SHCSR_FAULTS (7u << 16) /* memory, bus and usage faults each have a vector */
#define SCB_CFSR REGISTER(0xE000ED28u)
#define SCB_CFSR_STACKING (1u << 4 | 1u << 12) /* the exception frame could not be written */
#define SCB_HFSR REGISTER(0xE000ED2Cu)
#define SCB_MMFAR REGISTER(0xE000ED34u)
#define SCB_BFAR REGISTER(0xE000ED38u)

/* Caches. */
#define SCB_CLIDR REGISTER(0xE000ED78u)
#define SCB_CCSIDR REGISTER(0xE000ED80u)
#define SCB_CSSELR REGISTER(0xE000ED84u)
#define SCB_ICIALLU REGISTER(0xE000EF50u)
#define SCB_DCISW REGISTER(0xE000EF60u)

/* Cycle counter. */
#define DEMCR REGISTER(0xE000EDFCu)
#define DEMCR_TRCENA (1u << 24)
#define DWT_CTRL REGISTER(0xE0001000u)
#define DWT_CTRL_CYCCNTENA (1u << 0)
#define DWT_CTRL_NOCYCCNT (1u << 25)
#define DWT_CYCCNT REGISTER(0xE0001004u)
#define DWT_LAR REGISTER(0xE0001FB0u)
#define DWT_LAR_KEY 0xC5ACCE55u

static inline void data_barrier(void)
{
    __asm volatile("dsb" ::: "memory");
}

static inline void instruction_barrier(void)
{
    __asm volatile("isb" ::: "memory");
}

static inline void disable_interrupts(void)
{
    __asm volatile("cpsid i" ::: "memory");
}

static inline void enable_interrupts(void)
{
    __asm volatile("cpsie i" ::: "memory");
}

static inline void wait_for_interrupt(void)
{
    __asm volatile("dsb\n\twfi" ::: "memory");
}

#endif
