/*
 * Feeds the RPC server what no host would send, and checks that it survives.
 *
 * Arguments: number of executions, seed. One execution is one input: noise, or a frame with
 * a right CRC and any content, perhaps damaged, or several of them cut anywhere. Built with
 * sanitizers, so that a touch outside a buffer ends the program. After every thousand, and
 * after noise without an end, the server must answer a hello.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "hal.h"
#include "model_table.h"
#include "protocol.h"
#include "server.h"

#define ARENA_BYTES 512u
#define INPUT_BYTES 8192u

/* ---- The random numbers: xorshift64* (Vigna, 2016) --------------------------------------- */

static uint64_t random_state;

static uint32_t draw(uint32_t limit)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * UINT64_C(2685821657736338717)) >> 32) % limit;
}

/* ---- The board ---------------------------------------------------------------------------- */

/* While the harness makes a frame, the server's own sender writes it here. */
static uint8_t *capture;
static uint32_t captured;
static uint64_t answered_bytes;
static struct uhost_receiver answers;
static uint8_t answer[4096];
static uint8_t last_answer;

void uhost_hal_write(const uint8_t *data, uint32_t size)
{
    if (capture != NULL) {
        memcpy(capture + captured, data, size);
        captured += size;
        return;
    }
    answered_bytes += size;
    while (size > 0) {
        bool complete;
        uint32_t taken = uhost_receiver_feed(&answers, data, size, &complete);

        data += taken;
        size -= taken;
        if (complete) {
            last_answer = answer[1];
        }
    }
}

bool uhost_hal_has_cycles(void)
{
    return true;
}

uint32_t uhost_hal_cycles(void)
{
    return draw(1000);
}

uint32_t uhost_hal_clock_hz(void)
{
    return 1;
}

int32_t uhost_hal_call_measured(int32_t (*function)(void *argument), void *argument,
                                uint32_t *stack_bytes)
{
    *stack_bytes = draw(100);
    return function(argument);
}

/* ---- The models --------------------------------------------------------------------------- */

static int32_t run(void *arena)
{
    ((uint8_t *)arena)[draw(ARENA_BYTES)]++;
    return 0;
}

#define OPERATORS 3u

/* An index of one too many is how the server asks whether the weights are right. */
static int32_t run_operator(void *arena, uint32_t index)
{
    if (index > OPERATORS) {
        abort();
    }
    return index < OPERATORS ? run(arena) : UHOST_MODEL_STATUS_BAD_OPERATOR;
}

static uint8_t arena[ARENA_BYTES];
/* As large as the arena, so that the numbers near limits are near theirs too. */
static uint8_t params[ARENA_BYTES];
static const uint8_t flash_params[ARENA_BYTES];
static const int32_t shape[] = {-1, 2, 3, 4};
static const struct uhost_tensor tensors[] = {
    {.name = "first", .shape = shape, .rank = 4, .dtype = 1, .size_bytes = 24},
    {.name = "", .shape = shape, .rank = 0, .dtype = 6, .offset = 24, .size_bytes = 4},
};
const struct uhost_model uhost_models[] = {
    {
        .name = "one",
        .arena = arena,
        .arena_bytes = ARENA_BYTES,
        .params = params,
        .writable_params = params,
        .params_bytes = ARENA_BYTES,
        .operator_count = OPERATORS,
        .input_count = 2,
        .output_count = 1,
        .inputs = tensors,
        .outputs = tensors,
        .run = run,
        .run_operator = run_operator,
    },
    {.name = "none", .arena = arena, .run = run, .run_operator = run_operator},
    {
        .name = "flash",
        .arena = arena,
        .arena_bytes = ARENA_BYTES,
        .params = flash_params,
        .params_bytes = ARENA_BYTES,
        .operator_count = OPERATORS,
        .run = run,
        .run_operator = run_operator,
    },
};
const uint32_t uhost_model_count = 3;
const char uhost_build_digest[] =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const char uhost_board_name[] = "fuzz";

/* ---- The inputs --------------------------------------------------------------------------- */

/* Values near the limits that a careless check gets wrong. */
static uint32_t draw_number(void)
{
    static const uint32_t edges[] = {
        0, 1, 2, 3, ARENA_BYTES - 1, ARENA_BYTES, ARENA_BYTES + 1, 0x7FFFFFFFu, 0x80000000u,
        0xFFFFFFFFu - ARENA_BYTES, 0xFFFFFFFEu, 0xFFFFFFFFu,
    };
    uint32_t edge = edges[draw(sizeof edges / sizeof edges[0])];

    return draw(4) == 0 ? draw(ARENA_BYTES) : edge;
}

static uint32_t make_frame(uint8_t *wire, uint16_t session, uint16_t sequence)
{
    uint8_t payload[3000];
    uint32_t size = draw(8) == 0 ? draw(sizeof payload) : draw(16);
    /* With few zeros or none, COBS blocks are full. */
    uint32_t limit = draw(2) == 0 ? 256 : 2;
    uint8_t least = (uint8_t)draw(2);

    for (uint32_t i = 0; i < size; i++) {
        payload[i] = (uint8_t)(least + draw(limit - least));
    }
    if (draw(4) != 0) {
        /* The layout of most requests: model, then one or two numbers. */
        payload[0] = (uint8_t)draw(4);
        uhost_put_u32(payload + 1, draw_number());
        uhost_put_u32(payload + 5, draw_number());
        size = draw(3) == 0 ? size : (uint32_t[]){1, 4, 5, 9}[draw(4)];
    }
    capture = wire;
    captured = 0;
    uhost_frame_begin((uint8_t)(draw(8) == 0 ? draw(256) : draw(12)), session, sequence);
    uhost_frame_put(payload, size);
    uhost_frame_end();
    capture = NULL;
    return captured;
}

static uint32_t make_input(uint8_t *input)
{
    static uint16_t sequence;
    uint32_t size = 0;
    uint32_t frames = draw(3) + 1;

    if (draw(8) == 0) {
        /* Of small bytes it is full of short frames. */
        uint32_t limit = draw(2) == 0 ? 4 : 256;

        size = draw(3000);
        for (uint32_t i = 0; i < size; i++) {
            input[i] = (uint8_t)draw(limit);
        }
        return size;
    }
    while (frames-- > 0 && size < INPUT_BYTES / 2) {
        sequence = (uint16_t)(sequence + draw(3));
        size += make_frame(input + size, draw(16) == 0 ? (uint16_t)draw(4) : 1, sequence);
    }
    if (draw(3) == 0) {
        for (uint32_t flips = draw(4) + 1; flips > 0; flips--) {
            input[draw(size)] ^= (uint8_t)(1u << draw(8));
        }
    }
    return draw(8) == 0 ? draw(size) : size;
}

static void receive(const uint8_t *input, uint32_t size)
{
    while (size > 0) {
        /* A copy of its own size, so that reading past its end is noticed. */
        uint32_t piece = draw(2) == 0 ? size : draw(size) + 1;
        uint8_t *copy = malloc(piece);

        if (copy == NULL) {
            abort();
        }
        memcpy(copy, input, piece);
        uhost_rpc_receive(copy, piece);
        free(copy);
        input += piece;
        size -= piece;
    }
}

static void expect_hello(uint16_t session)
{
    uint8_t wire[64];

    capture = wire;
    captured = 0;
    uhost_frame_begin(UHOST_HELLO_REQUEST, session, 1);
    uhost_frame_end();
    capture = NULL;
    last_answer = 0;
    uhost_rpc_receive(wire, captured);
    if (last_answer != UHOST_HELLO_REPLY) {
        fprintf(stderr, "no answer to a hello in session %u\n", session);
        exit(1);
    }
}

int main(int count, char **arguments)
{
    static uint8_t input[INPUT_BYTES];
    uint64_t executions = count > 1 ? strtoull(arguments[1], NULL, 10) : 1000;
    uint16_t session = 10;

    random_state = (count > 2 ? strtoull(arguments[2], NULL, 10) : 1) * 2 + 1;
    answers.buffer = answer;
    answers.capacity = sizeof answer;
    expect_hello(1);
    for (uint64_t done = 0; done < executions; done++) {
        receive(input, make_input(input));
        if (done % 1000 == 999) {
            session = (uint16_t)(session == 0xFFFF ? 10 : session + 1);
            expect_hello(session);
            expect_hello(1);
        }
    }
    printf("%" PRIu64 " executions, %" PRIu64 " bytes answered, %" PRIu32 " answers damaged\n",
           executions, answered_bytes, answers.dropped);
    return answers.dropped == 0 ? 0 : 1;
}
