/* Exercises start-up and HAL without a model: one letter in, one line out. */
#include <stdbool.h>
#include <stdint.h>

#include "hal.h"

static uint32_t initialised = 0x12345678u;
static uint32_t zeroed;

static void put(const char *text)
{
    uint32_t size = 0;

    while (text[size] != '\0') {
        size++;
    }
    uhost_hal_write((const uint8_t *)text, size);
}

static void put_number(const char *name, uint32_t value)
{
    char digits[] = "=00000000 ";

    for (int i = 8; i >= 1; i--) {
        digits[i] = "0123456789abcdef"[value & 15u];
        value >>= 4;
    }
    put(name);
    put(digits);
}

/* ---- Measured calls ------------------------------------------------------------------------ */

static int32_t use_nothing(void *argument)
{
    return *(int32_t *)argument;
}

/* Writes the ninth word below SP, as its deepest. */
__attribute__((naked)) static int32_t use_36_bytes(__attribute__((unused)) void *argument)
{
#ifdef __riscv
    __asm volatile("addi sp, sp, -32\n"
                   "sw a0, -4(sp)\n"
                   "lw a0, 0(a0)\n"
                   "addi sp, sp, 32\n"
                   "ret\n");
#else
    __asm volatile(".syntax unified\n"
                   "sub sp, sp, #36\n"
                   "str r0, [sp]\n"
                   "ldr r0, [r0]\n"
                   "add sp, sp, #36\n"
                   "bx lr\n");
#endif
}

static void measure(int32_t (*function)(void *argument))
{
    int32_t answer = -7;
    uint32_t stack_bytes = 0;

    put_number("result", (uint32_t)uhost_hal_call_measured(function, &answer, &stack_bytes));
    put_number("stack", stack_bytes);
}

/* ---- Faults -------------------------------------------------------------------------------- */

void uhost_rpc_report_fault(const struct uhost_fault *fault)
{
    put_number("kind", fault->kind);
    put_number("r0", fault->r0);
    put_number("r1", fault->r1);
    put_number("r2", fault->r2);
    put_number("r3", fault->r3);
    put_number("r12", fault->r12);
    put_number("lr", fault->lr);
    put_number("pc", fault->pc);
    put_number("sp", fault->sp);
    put_number("cfsr", fault->cfsr);
    put_number("bfar", fault->bfar);
    put("\n");
}

/* Undefined instruction with known registers. */
__attribute__((naked, used)) void fault_undefined(void)
{
#ifdef __riscv
    __asm volatile("li a0, 16\n"
                   "li a1, 17\n"
                   "li a2, 18\n"
                   "li a3, 19\n"
                   "li t0, 28\n"
                   "unimp\n");
#else
    __asm volatile(".syntax unified\n"
                   "movs r0, #28\n"
                   "mov r12, r0\n"
                   "movs r0, #16\n"
                   "movs r1, #17\n"
                   "movs r2, #18\n"
                   "movs r3, #19\n"
                   "udf #0\n");
#endif
}

__attribute__((noinline)) static uint32_t overflow(uint32_t depth)
{
    volatile uint32_t frame[64];

    frame[depth % 64] = depth;
    return depth == 0 ? 0 : overflow(depth - 1) + frame[depth % 64];
}

static uint32_t divide_by_zero(void)
{
    volatile uint32_t dividend = 1;
    volatile uint32_t divisor = 0;

    return dividend / divisor;
}

/* ---- Commands ------------------------------------------------------------------------------ */

static void obey(uint8_t command)
{
    static uint32_t echoed;
    volatile float half = 0.5f;

    switch (command) {
    case 'i':
        put_number("initialised", initialised);
        put_number("zeroed", zeroed);
        put_number("clock", uhost_hal_clock_hz());
        put_number("counts", uhost_hal_has_cycles());
        put_number("float", (uint32_t)(half * 84.0f));
        initialised = 1;
        zeroed = 1;
        break;
    case 'm':
        measure(use_nothing);
        measure(use_36_bytes);
        break;
    case 'e':
        put_number("echoed", echoed);
        break;
    case 'u':
        fault_undefined();
        break;
    case 'b':
        *(volatile uint32_t *)0xB0000000u = 1;
        break;
    case 'o':
        put_number("overflow", overflow(1000));
        break;
    case 'd':
        put_number("quotient", divide_by_zero());
        break;
    default:
        echoed++;
        return;
    }
    put("\n");
}

int main(void)
{
    uint8_t bytes[64];

    uhost_hal_init();
    put("ready\n");
    for (;;) {
        uint32_t size = uhost_hal_read(bytes, sizeof bytes);

        for (uint32_t i = 0; i < size; i++) {
            obey(bytes[i]);
        }
        if (size == 0) {
            uhost_hal_wait();
        }
    }
}
