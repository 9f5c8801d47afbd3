/*
 * Hand-written models for the tests of the simulators: `work` computes something in calls
 * that can be counted, and the operators of `crashes` each break in their own way.
 */
#include "model_table.h"

#include <stddef.h>

#define NOINLINE __attribute__((noinline))
#define ELEMENTS 1024

/* ---- work: three calls in a straight line ------------------------------------------------- */

struct work {
    uint8_t input[ELEMENTS];
    uint8_t scaled[ELEMENTS];
    uint32_t sum;
    float average;
};

static struct work arena;

static NOINLINE void scale(struct work *state)
{
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        state->scaled[i] = (uint8_t)(3u * state->input[i] + i);
    }
}

static NOINLINE uint32_t fibonacci(uint32_t n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static NOINLINE void add_up(struct work *state)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < ELEMENTS; i++) {
        if (state->scaled[i] & 1u) {
            sum += state->scaled[i];
        } else {
            sum ^= i;
        }
    }
    state->sum = sum + fibonacci(10);
}

static NOINLINE void divide(struct work *state)
{
    state->average = (float)state->sum / (float)ELEMENTS;
}

int32_t work_run(void *memory);

int32_t work_run(void *memory)
{
    scale(memory);
    add_up(memory);
    divide(memory);
    return 0;
}

static int32_t work_run_operator(void *memory, uint32_t index)
{
    (void)index;
    return work_run(memory);
}

/* ---- crashes ------------------------------------------------------------------------------ */

static NOINLINE uint32_t overflow_stack(uint32_t depth)
{
    volatile uint32_t frame[64];

    frame[depth % 64u] = depth;
    return depth == UINT32_MAX ? 0 : overflow_stack(depth + 1u) + frame[0];
}

static NOINLINE void use_bad_pointer(void)
{
    *(volatile uint32_t *)0x70000000u = 1;
}

static NOINLINE void execute_undefined(void)
{
    __asm volatile("udf #1");
}

static NOINLINE void break_vector_table(void)
{
    *(volatile uint32_t *)0xE000ED08u = 0x90000000u;
    __asm volatile("dsb\n\tudf #2");
}

static NOINLINE void loop(void)
{
    for (;;) {
        __asm volatile("");
    }
}

static int32_t crash(void *memory, uint32_t index)
{
    (void)memory;
    switch (index) {
    case 0:
        use_bad_pointer();
        break;
    case 1:
        execute_undefined();
        break;
    case 2:
        return (int32_t)overflow_stack(0);
    case 3:
        break_vector_table();
        break;
    default:
        loop();
        break;
    }
    return 0;
}

static int32_t run_nothing(void *memory)
{
    (void)memory;
    return 0;
}

/* ---- The table ---------------------------------------------------------------------------- */

static const int32_t input_shape[] = {ELEMENTS};
static const int32_t scalar_shape[] = {1};

static const struct uhost_tensor work_inputs[] = {
    {"input", input_shape, 1, 2, 0.0f, 0, offsetof(struct work, input), ELEMENTS},
};

static const struct uhost_tensor work_outputs[] = {
    {"sum", scalar_shape, 1, 4, 0.0f, 0, offsetof(struct work, sum), 4},
    {"average", scalar_shape, 1, 6, 0.0f, 0, offsetof(struct work, average), 4},
};

const struct uhost_model uhost_models[] = {
    {
        .name = "work",
        .arena = (uint8_t *)&arena,
        .arena_bytes = sizeof arena,
        .operator_count = 3,
        .input_count = 1,
        .output_count = 2,
        .inputs = work_inputs,
        .outputs = work_outputs,
        .run = work_run,
        .run_operator = work_run_operator,
    },
    {
        .name = "crashes",
        .arena = (uint8_t *)&arena,
        .arena_bytes = sizeof arena,
        .operator_count = 5,
        .run = run_nothing,
        .run_operator = crash,
    },
};
const uint32_t uhost_model_count = 2;
const char uhost_build_digest[] =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const char uhost_board_name[] = "simulated";
