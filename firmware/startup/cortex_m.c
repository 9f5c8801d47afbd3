/*
 * Start-up of Cortex-M: from reset to main, and the report of faults.
 *
 * The stack lies at the very bottom of RAM, below all data. One that overflows leaves RAM
 * and faults at once, where one above the data would overwrite them unnoticed.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cortex_m.h"
#include "board.h"
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

#if UHOST_HAS_CACHES
/* Nothing in the caches is valid at reset. A simulator without caches reads 0 throughout. */
static void enable_caches(void)
{
    uint32_t size;
    uint32_t last_set;
    uint32_t last_way;
    uint32_t set_shift;
    uint32_t way_shift;

    if ((SCB_CLIDR & 7u) == 0 || (SCB_CCR & (SCB_CCR_IC | SCB_CCR_DC)) != 0) {
        return;
    }
    SCB_ICIALLU = 0;
    data_barrier();
    instruction_barrier();
    SCB_CCR |= SCB_CCR_IC;
    data_barrier();
    instruction_barrier();

    SCB_CSSELR = 0; /* the data cache of level 1 */
    data_barrier();
    size = SCB_CCSIDR;
    last_set = size >> 13 & 0x7FFFu;
    last_way = size >> 3 & 0x3FFu;
    set_shift = (size & 7u) + 4u;
    way_shift = last_way > 0 ? (uint32_t)__builtin_clz(last_way) : 0;
    for (uint32_t way = 0; way <= last_way; way++) {
        for (uint32_t set = 0; set <= last_set; set++) {
            SCB_DCISW = way << way_shift | set << set_shift;
        }
    }
    data_barrier();
    SCB_CCR |= SCB_CCR_DC;
    data_barrier();
    instruction_barrier();
}
#endif

/* Goes on from uhost_reset, with a stack and an FPU. */
__attribute__((noreturn, used)) void uhost_start(void)
{
    const uint32_t *load = uhost_data_load;

    SCB_VTOR = (uint32_t)uhost_vectors; /* a Cortex-M0 has none and ignores this */
#if !UHOST_IS_ARMV6M
    SCB_SHCSR |= SCB_SHCSR_FAULTS;
    SCB_CCR |= SCB_CCR_DIV_0_TRP;
#endif
    data_barrier();
#if UHOST_HAS_CACHES
    enable_caches();
#endif
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

/* Where reset and loaders jump to. No compiled code before the FPU is on: it may use it. */
__attribute__((naked, noreturn)) void uhost_reset(void)
{
    __asm volatile(".syntax unified\n"
                   "cpsid i\n"
                   "ldr r0, =uhost_stack_top\n"
                   "mov sp, r0\n"
#if UHOST_HAS_FPU
                   "ldr r0, =0xE000ED88\n" /* CPACR: full access to CP10 and CP11 */
                   "ldr r1, [r0]\n"
                   "orr r1, r1, #0x00F00000\n"
                   "str r1, [r0]\n"
                   "dsb\n"
                   "isb\n"
#endif
                   "ldr r0, =uhost_start\n"
                   "bx r0\n"
                   ".ltorg\n");
}

/* ---- Faults ------------------------------------------------------------------------------- */

/* An exception frame: what the CPU pushed. */
struct frame {
    uint32_t r0;
    uint32_t r1;
    uint32_t r2;
    uint32_t r3;
    uint32_t r12;
    uint32_t lr;
    uint32_t pc;
    uint32_t xpsr;
};

#define EXC_RETURN_BASIC_FRAME (1u << 4)
#define FPU_FRAME_BYTES (18u * 4u)
#define XPSR_PADDED (1u << 9)

static bool frame_is_in_stack(const struct frame *frame)
{
    return (uintptr_t)frame >= (uintptr_t)uhost_stack_limit &&
           (uintptr_t)(frame + 1) <= (uintptr_t)uhost_stack_top;
}

/* Goes on from uhost_fault_entry, with room on the stack. */
__attribute__((noreturn, used)) void uhost_fault_report(const struct frame *frame,
                                                        uint32_t exc_return)
{
    struct uhost_fault fault = {.sp = (uint32_t)frame};

    __asm volatile("mrs %0, ipsr" : "=r"(fault.kind));
#if !UHOST_IS_ARMV6M
    fault.cfsr = SCB_CFSR;
    fault.hfsr = SCB_HFSR;
    fault.mmfar = SCB_MMFAR;
    fault.bfar = SCB_BFAR;
#endif
    if (frame_is_in_stack(frame) && (fault.cfsr & SCB_CFSR_STACKING) == 0) {
        fault.r0 = frame->r0;
        fault.r1 = frame->r1;
        fault.r2 = frame->r2;
        fault.r3 = frame->r3;
        fault.r12 = frame->r12;
        fault.lr = frame->lr;
        fault.pc = frame->pc;
        fault.xpsr = frame->xpsr;
        fault.sp = (uint32_t)(frame + 1);
        if ((exc_return & EXC_RETURN_BASIC_FRAME) == 0) {
            fault.sp += FPU_FRAME_BYTES;
        }
        if ((frame->xpsr & XPSR_PADDED) != 0) {
            fault.sp += 4u;
        }
    }
    uhost_rpc_report_fault(&fault);
    disable_interrupts();
    for (;;) {
        wait_for_interrupt();
    }
}

/*
 * The handler of faults and of interrupts that nobody expects. The report needs some
 * stack: where too little is left it takes it from the top, for nothing returns from here.
 */
__attribute__((naked)) void uhost_fault_entry(void)
{
    __asm volatile(".syntax unified\n"
                   "mov r0, sp\n"
                   "mov r1, lr\n"
                   "ldr r2, =uhost_stack_limit + 512\n"
                   "ldr r3, =uhost_stack_top\n"
                   "cmp r0, r2\n"
                   "blo 1f\n"
                   "cmp r0, r3\n"
                   "bls 2f\n"
                   "1: mov sp, r3\n"
                   "2: ldr r2, =uhost_fault_report\n"
                   "bx r2\n"
                   ".ltorg\n");
}
