/*
 * Two hand-written models for the tests of the RPC server: `double_sum` computes something,
 * and the operators of `trouble` do what a model should not.
 */
#include "model_table.h"

#include <stdlib.h>

#include "hal.h"
#include "protocol.h"
#include "server.h"

#define ELEMENTS 1024
#define LARGE_BYTES (1u << 20)

/* ---- double_sum: doubles its input, then adds it up and counts its runs ------------------- */

struct double_sum {
    int8_t input[ELEMENTS];
    int16_t doubled[ELEMENTS];
    int32_t output[2]; /* the sum, and how often it ran */
};

static struct double_sum arena;

static void make_double(struct double_sum *state)
{
    for (int i = 0; i < ELEMENTS; i++) {
        state->doubled[i] = (int16_t)(2 * state->input[i]);
    }
}

static void add_up(struct double_sum *state)
{
    state->output[0] = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        state->output[0] += state->doubled[i];
    }
    state->output[1]++;
}

static int32_t run(void *memory)
{
    make_double(memory);
    add_up(memory);
    return 0;
}

static int32_t run_operator(void *memory, uint32_t index)
{
    if (index == 0) {
        make_double(memory);
    } else {
        add_up(memory);
    }
    return 0;
}

static const int32_t input_shape[] = {1, 32, 32};
static const int32_t output_shape[] = {2};
static const struct uhost_tensor inputs[] = {{
    .name = "image",
    .shape = input_shape,
    .rank = 3,
    .dtype = UHOST_DTYPE_INT8,
    .scale = 0.5f,
    .zero_point = -3,
    .offset = 0,
    .size_bytes = ELEMENTS,
}};
static const struct uhost_tensor outputs[] = {{
    .name = "sum; Grüße",
    .shape = output_shape,
    .rank = 1,
    .dtype = UHOST_DTYPE_INT32,
    .offset = 3 * ELEMENTS,
    .size_bytes = 8,
}};

/* ---- trouble ------------------------------------------------------------------------------ */

static uint8_t large[LARGE_BYTES];

static int32_t use_stack(void *memory)
{
    volatile uint8_t deep[5000];

    (void)memory;
    for (unsigned i = 0; i < sizeof deep; i++) {
        deep[i] = 1;
    }
    return 0;
}

static int32_t make_trouble(void *memory, uint32_t index)
{
    static const struct uhost_fault fault = {
        .kind = UHOST_FAULT_BUS,
        .r0 = 0x11,
        .lr = 0x08000101,
        .pc = 0x08000204,
        .sp = 0x20001000,
        .cfsr = 0x8200,
        .bfar = 0xE0000000,
    };

    (void)memory;
    switch (index) {
    case 0:
        return 7;
    case 1:
        uhost_rpc_log("one line");
        return 0;
    case 2:
        uhost_rpc_report_fault(&fault);
        return 0;
    case 3:
        abort();
    default:
        for (;;) {
        }
    }
}

const struct uhost_model uhost_models[] = {
    {
        .name = "double_sum",
        .arena = (uint8_t *)&arena,
        .arena_bytes = sizeof arena,
        .operator_count = 2,
        .input_count = 1,
        .output_count = 1,
        .inputs = inputs,
        .outputs = outputs,
        .run = run,
        .run_operator = run_operator,
    },
    {
        .name = "trouble",
        .arena = large,
        .arena_bytes = sizeof large,
        .operator_count = 5,
        .run = use_stack,
        .run_operator = make_trouble,
    },
};
const uint32_t uhost_model_count = 2;
const char uhost_build_digest[] =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const char uhost_board_name[] = "host";
