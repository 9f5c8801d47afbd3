/*
 * The firmware's RPC server as a library, around one model.
 *
 * Output 0 is the sum of the input's bytes, and the four bytes behind it count the runs.
 */
#include <string.h>

#include "hal.h"
#include "model_table.h"
#include "server.h"

#define INPUT_BYTES 4096u
#define COUNT (INPUT_BYTES + 4u)

static uint8_t arena[1u << 16];
static uint8_t answers[1u << 18];
static uint32_t answered;

/* Takes bytes from the host; returns how many were answered, at uhost_test_answers. */
uint32_t uhost_test_receive(const uint8_t *data, uint32_t size);
const uint8_t *uhost_test_answers(void);

uint32_t uhost_test_receive(const uint8_t *data, uint32_t size)
{
    answered = 0;
    uhost_rpc_receive(data, size);
    return answered;
}

const uint8_t *uhost_test_answers(void)
{
    return answers;
}

void uhost_hal_write(const uint8_t *data, uint32_t size)
{
    if (size > sizeof answers - answered) {
        size = sizeof answers - answered;
    }
    memcpy(answers + answered, data, size);
    answered += size;
}

bool uhost_hal_has_cycles(void)
{
    return false;
}

uint32_t uhost_hal_cycles(void)
{
    return 0;
}

uint32_t uhost_hal_clock_hz(void)
{
    return 0;
}

int32_t uhost_hal_call_measured(int32_t (*function)(void *argument), void *argument,
                                uint32_t *stack_bytes)
{
    *stack_bytes = UINT32_MAX;
    return function(argument);
}

static int32_t run(void *memory)
{
    uint8_t *bytes = memory;
    uint32_t sum = 0;
    uint32_t count;

    for (uint32_t i = 0; i < INPUT_BYTES; i++) {
        sum += bytes[i];
    }
    memcpy(bytes + INPUT_BYTES, &sum, sizeof sum);
    memcpy(&count, bytes + COUNT, sizeof count);
    count++;
    memcpy(bytes + COUNT, &count, sizeof count);
    return 0;
}

static int32_t run_operator(void *memory, uint32_t index)
{
    return index == 0 ? run(memory) : 2;
}

static const int32_t input_shape[] = {INPUT_BYTES};
static const struct uhost_tensor inputs[] = {
    {.name = "x", .shape = input_shape, .rank = 1, .dtype = 2, .size_bytes = INPUT_BYTES},
};
static const struct uhost_tensor outputs[] = {
    {.name = "y", .dtype = 4, .offset = INPUT_BYTES, .size_bytes = 4},
};
const struct uhost_model uhost_models[] = {
    {
        .name = "sum",
        .arena = arena,
        .arena_bytes = sizeof arena,
        .operator_count = 1,
        .input_count = 1,
        .output_count = 1,
        .inputs = inputs,
        .outputs = outputs,
        .run = run,
        .run_operator = run_operator,
    },
};
const uint32_t uhost_model_count = 1;
const char uhost_build_digest[] =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const char uhost_board_name[] = "in process";
