/*
 * Start-up of 32-bit RISC-V in machine mode: from reset to main, and the report of traps.
 *
 * The stack lies at the very bottom of RAM, below all data. Where RAM follows the memory
 * that holds the code, a stack that overflows would overwrite that: the code is locked
 * against writes first (physical memory protection), so that it faults at once.
 */
#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "riscv.h"
#include "hal.h"
#include "vectors.h"

/* Of the linker script. */
extern uint32_t uhost_data_start[];
extern uint32_t uhost_data_end[];
extern const uint32_t uhost_data_load[];
extern uint32_t uhost_bss_start[];
extern uint32_t uhost_bss_end[];

int main(void);

/* ---- Reset -------------------------------------------------------------------------------- */

#define PMP_READ_EXECUTE_LOCKED 0x9Du /* locked, naturally aligned power of two, X and R */

_Static_assert((UHOST_FLASH_BYTES & (UHOST_FLASH_BYTES - 1u)) == 0 &&
                   UHOST_FLASH_START % UHOST_FLASH_BYTES == 0,
               "one entry of the memory protection covers the code");

/* Goes on from uhost_reset, with a stack and a trap handler. */
__attribute__((noreturn, used)) void uhost_start(void)
{
    const uint32_t *load = uhost_data_load;

    for (uint32_t *word = uhost_data_start; word < uhost_data_end; word++) {
        *word = *load++;
    }
    for (uint32_t *word = uhost_bss_start; word < uhost_bss_end; word++) {
        *word = 0;
    }
    (void)main();
    for (;;) {
        wait_for_interrupt();
    }
}

/*
 * Where reset jumps to: the first address of flash. A core without memory protection traps
 * when it is set up, and goes on behind it.
 */
__attribute__((naked, noreturn, section(".vectors"))) void uhost_reset(void)
{
    __asm volatile("csrw mie, zero\n"
                   "csrci mstatus, 8\n"
                   "la sp, uhost_stack_top\n"
                   "la t0, 1f\n"
                   "csrw mtvec, t0\n"
                   "li t0, %0\n"
                   "csrw pmpaddr0, t0\n"
                   "li t0, %1\n"
                   "csrw pmpcfg0, t0\n"
                   ".balign 4\n"
                   "1: la t0, uhost_trap\n"
                   "csrw mtvec, t0\n"
                   "la t0, uhost_start\n"
                   "jr t0\n" ::"i"(UHOST_FLASH_START >> 2 | ((UHOST_FLASH_BYTES >> 3) - 1u)),
                   "i"(PMP_READ_EXECUTE_LOCKED));
}

/* ---- Traps -------------------------------------------------------------------------------- */

/* What uhost_trap saves, in this order, before it needs the registers itself. */
struct trap_registers {
    uint32_t ra;
    uint32_t sp;
    uint32_t t0;
    uint32_t a0;
    uint32_t a1;
    uint32_t a2;
    uint32_t a3;
};

__attribute__((used)) struct trap_registers uhost_trap_registers;

/* The Arm status bits that say the same. */
#define CFSR_FETCH_FAULT (1u << 8)
#define CFSR_DATA_FAULT (1u << 9 | 1u << 15) /* precise, and the address is known */
#define CFSR_UNDEFINED (1u << 16)
#define CFSR_UNALIGNED (1u << 24)

enum trap_cause {
    TRAP_FETCH_MISALIGNED,
    TRAP_FETCH_FAULT,
    TRAP_ILLEGAL_INSTRUCTION,
    TRAP_BREAKPOINT,
    TRAP_LOAD_MISALIGNED,
    TRAP_LOAD_FAULT,
    TRAP_STORE_MISALIGNED,
    TRAP_STORE_FAULT
};

static void set_cause(struct uhost_fault *fault, uint32_t cause, uint32_t value)
{
    switch (cause) {
    case TRAP_FETCH_FAULT:
        fault->kind = UHOST_FAULT_BUS;
        fault->cfsr = CFSR_FETCH_FAULT;
        break;
    case TRAP_LOAD_FAULT:
    case TRAP_STORE_FAULT:
        fault->kind = UHOST_FAULT_BUS;
        fault->cfsr = CFSR_DATA_FAULT;
        fault->bfar = value;
        break;
    case TRAP_ILLEGAL_INSTRUCTION:
        fault->kind = UHOST_FAULT_USAGE;
        fault->cfsr = CFSR_UNDEFINED;
        break;
    case TRAP_FETCH_MISALIGNED:
    case TRAP_LOAD_MISALIGNED:
    case TRAP_STORE_MISALIGNED:
        fault->kind = UHOST_FAULT_USAGE;
        fault->cfsr = CFSR_UNALIGNED;
        break;
    default:
        fault->kind = UHOST_FAULT_HARD;
        break;
    }
}

static void __attribute__((noreturn)) report_and_stop(const struct uhost_fault *fault)
{
    uhost_rpc_report_fault(fault);
    disable_interrupts();
    for (;;) {
        wait_for_interrupt();
    }
}

/* Goes on from uhost_trap, with room on the stack. */
__attribute__((noreturn, used)) void uhost_trap_report(void)
{
    const struct trap_registers *at = &uhost_trap_registers;
    struct uhost_fault fault = {.r0 = at->a0,
                                .r1 = at->a1,
                                .r2 = at->a2,
                                .r3 = at->a3,
                                .r12 = at->t0,
                                .lr = at->ra,
                                .sp = at->sp};
    uint32_t cause;
    uint32_t value;

    __asm volatile("csrr %0, mcause" : "=r"(cause));
    __asm volatile("csrr %0, mtval" : "=r"(value));
    __asm volatile("csrr %0, mepc" : "=r"(fault.pc));
    __asm volatile("csrr %0, mstatus" : "=r"(fault.xpsr));
    set_cause(&fault, cause, value);
    report_and_stop(&fault);
}

void uhost_unexpected_interrupt(uint32_t source)
{
    struct uhost_fault fault = {.kind = UHOST_FAULT_INTERRUPT + source};

    __asm volatile("csrr %0, mepc" : "=r"(fault.pc));
    report_and_stop(&fault);
}

/*
 * Where every trap goes. An interrupt is handled by C. The report of a crash needs some
 * stack: where too little is left it takes it from the top, for nothing returns from here.
 */
__attribute__((naked, aligned(4))) void uhost_trap(void)
{
    __asm volatile("csrw mscratch, t0\n"
                   "csrr t0, mcause\n"
                   "bgez t0, 1f\n"
                   "csrr t0, mscratch\n"
                   "j uhost_interrupt\n"
                   "1: la t0, uhost_trap_registers\n"
                   "sw ra, 0(t0)\n"
                   "sw sp, 4(t0)\n"
                   "sw a0, 12(t0)\n"
                   "sw a1, 16(t0)\n"
                   "sw a2, 20(t0)\n"
                   "sw a3, 24(t0)\n"
                   "csrr a0, mscratch\n"
                   "sw a0, 8(t0)\n"
                   "la a0, uhost_stack_limit + 512\n"
                   "la a1, uhost_stack_top\n"
                   "bltu sp, a0, 2f\n"
                   "bgeu a1, sp, 3f\n"
                   "2: mv sp, a1\n"
                   "3: andi sp, sp, -16\n"
                   "j uhost_trap_report\n");
}
