#include "server.h"

#include "frame.h"
#include "hal.h"
#include "measure.h"
#include "model_table.h"
#include "params.h"
#include "protocol.h"
#include "reply.h"

/* board.h, where there is one, may set UHOST_RPC_BUFFER_BYTES: the longest payload taken. */
#ifdef __has_include
#if __has_include("board.h")
#include "board.h"
#endif
#endif
#ifndef UHOST_RPC_BUFFER_BYTES
#if defined(__unix__) || defined(__APPLE__)
#define UHOST_RPC_BUFFER_BYTES 65536
#else
#define UHOST_RPC_BUFFER_BYTES 2048
#endif
#endif

_Static_assert(UHOST_RPC_BUFFER_BYTES >= UHOST_SMALLEST_BUFFER_BYTES, "the buffer is too small");

/* The line that carries a fault report may be bad, and nobody can ask for it again. */
#define FAULT_REPORTS 3

static uint8_t received[UHOST_FRAME_HEADER_BYTES + UHOST_RPC_BUFFER_BYTES + UHOST_FRAME_CRC_BYTES];
static struct uhost_receiver receiver = {.buffer = received, .capacity = sizeof received};

/* The request last accepted. Session 0 is none; no host starts it. */
static uint16_t session;
static uint16_t sequence;

/*
 * The reply to a request that must not be carried out twice, for when it is repeated.
 * Its type is 0 while the request under `sequence` has not been carried out.
 */
static struct {
    uint8_t type;
    uint8_t bytes[UHOST_RUN_REPLY_BYTES];
} done;

/* True if size bytes at offset lie in the arena; otherwise refuses the request. */
static bool check_range(const struct uhost_model *model, uint32_t offset, uint32_t size)
{
    if (!uhost_is_within(offset, size, model->arena_bytes)) {
        uhost_refuse(UHOST_ERROR_OUT_OF_RANGE, offset);
        return false;
    }
    return true;
}

/* ---- Descriptions ------------------------------------------------------------------------- */

static void answer_hello(void)
{
    const struct uhost_hello_reply hello = {
        .buffer_bytes = UHOST_RPC_BUFFER_BYTES,
        .clock_hz = uhost_hal_clock_hz(),
        .dropped_frames = receiver.dropped,
        .model_count = (uint8_t)uhost_model_count,
        .flags = uhost_hal_has_cycles() ? UHOST_FLAG_HAS_CYCLES : 0,
    };
    uint8_t fixed[UHOST_HELLO_REPLY_BYTES];

    uhost_pack_hello_reply(fixed, &hello);
    uhost_reply_begin(UHOST_HELLO_REPLY);
    uhost_frame_put(fixed, sizeof fixed);
    uhost_reply_text(uhost_build_digest);
    uhost_reply_text(uhost_board_name);
    uhost_frame_end();
}

static void answer_model(const uint8_t *payload)
{
    const struct uhost_model *model = uhost_find_model(uhost_unpack_model_request(payload).model);
    uint8_t fixed[UHOST_MODEL_REPLY_BYTES];

    if (model == 0) {
        return;
    }
    const struct uhost_model_reply reply = {
        .arena_bytes = model->arena_bytes,
        .operator_count = model->operator_count,
        .input_count = (uint16_t)model->input_count,
        .output_count = (uint16_t)model->output_count,
    };

    uhost_pack_model_reply(fixed, &reply);
    uhost_reply_begin(UHOST_MODEL_REPLY);
    uhost_frame_put(fixed, sizeof fixed);
    uhost_reply_text(model->name);
    uhost_frame_end();
}

static void answer_tensor(const uint8_t *payload)
{
    const struct uhost_tensor_request request = uhost_unpack_tensor_request(payload);
    const struct uhost_model *model = uhost_find_model(request.model);
    const struct uhost_tensor *tensor;
    uint32_t count;
    uint8_t fixed[UHOST_TENSOR_REPLY_BYTES];

    if (model == 0) {
        return;
    }
    tensor = request.direction == UHOST_DIRECTION_INPUT ? model->inputs : model->outputs;
    count = request.direction == UHOST_DIRECTION_INPUT ? model->input_count : model->output_count;
    if (request.direction > UHOST_DIRECTION_OUTPUT || request.index >= count) {
        uhost_refuse(UHOST_ERROR_NO_TENSOR, request.index);
        return;
    }
    tensor += request.index;
    const struct uhost_tensor_reply reply = {
        .offset = tensor->offset,
        .size_bytes = tensor->size_bytes,
        .scale = tensor->scale,
        .zero_point = tensor->zero_point,
        .dtype = tensor->dtype,
    };

    uhost_pack_tensor_reply(fixed, &reply);
    uhost_reply_begin(UHOST_TENSOR_REPLY);
    uhost_frame_put(fixed, sizeof fixed);
    uhost_reply_text(tensor->name);
    uhost_reply_shape(tensor->shape, tensor->rank);
    uhost_frame_end();
}

/* ---- The arena ---------------------------------------------------------------------------- */

static void answer_write(const uint8_t *payload, uint32_t size)
{
    const struct uhost_write_request request = uhost_unpack_write_request(payload);
    const struct uhost_model *model = uhost_find_model(request.model);
    const uint8_t *content = payload + UHOST_WRITE_REQUEST_BYTES;
    uint32_t content_bytes = size - UHOST_WRITE_REQUEST_BYTES;

    if (model == 0 || !check_range(model, request.offset, content_bytes)) {
        return;
    }
    __builtin_memcpy(model->arena + request.offset, content, content_bytes);
    uhost_reply_begin(UHOST_WRITE_REPLY);
    uhost_frame_end();
}

static void answer_read(const uint8_t *payload)
{
    const struct uhost_read_request request = uhost_unpack_read_request(payload);
    const struct uhost_model *model = uhost_find_model(request.model);

    if (model == 0 || !check_range(model, request.offset, request.size_bytes)) {
        return;
    }
    uhost_reply_begin(UHOST_READ_REPLY);
    uhost_frame_put(model->arena + request.offset, request.size_bytes);
    uhost_frame_end();
}

/* ---- Running ------------------------------------------------------------------------------ */

static void answer_run(const uint8_t *payload)
{
    const struct uhost_model *model = uhost_find_model(uhost_unpack_run_request(payload).model);
    struct uhost_run_reply reply;

    if (model == 0) {
        return;
    }
    if (done.type != UHOST_RUN_REPLY) {
        reply.status = uhost_measure_run(model, &reply.cycles, &reply.stack_bytes);
        uhost_pack_run_reply(done.bytes, &reply);
        done.type = UHOST_RUN_REPLY;
    }
    uhost_reply_short(UHOST_RUN_REPLY, done.bytes, UHOST_RUN_REPLY_BYTES);
}

static void answer_operator(const uint8_t *payload)
{
    const struct uhost_operator_request request = uhost_unpack_operator_request(payload);
    const struct uhost_model *model = uhost_find_model(request.model);
    struct uhost_operator_reply reply;

    if (model == 0) {
        return;
    }
    if (request.index >= model->operator_count) {
        uhost_refuse(UHOST_ERROR_NO_OPERATOR, request.index);
        return;
    }
    if (done.type != UHOST_OPERATOR_REPLY) {
        reply.status = uhost_measure_operator(model, request.index, &reply.cycles);
        uhost_pack_operator_reply(done.bytes, &reply);
        done.type = UHOST_OPERATOR_REPLY;
    }
    uhost_reply_short(UHOST_OPERATOR_REPLY, done.bytes, UHOST_OPERATOR_REPLY_BYTES);
}

static void reset_model(const struct uhost_model *model)
{
    if (model->reset != 0) {
        model->reset(model->arena);
    }
}

static void answer_reset(const uint8_t *payload)
{
    const struct uhost_model *model = uhost_find_model(uhost_unpack_reset_request(payload).model);

    if (model == 0) {
        return;
    }
    reset_model(model);
    uhost_reply_begin(UHOST_RESET_REPLY);
    uhost_frame_end();
}

/* ---- Requests ----------------------------------------------------------------------------- */

/*
 * Enters the request into the conversation. False for one to leave unanswered: a late copy
 * of an earlier request, whose answer the host has, or one refused here.
 */
static bool accept(uint8_t type, uint16_t its_session, uint16_t its_sequence)
{
    if (its_session == 0 || (its_session != session && type != UHOST_HELLO_REQUEST)) {
        uhost_send_error(its_session, its_sequence, UHOST_ERROR_NO_SESSION, session);
        return false;
    }
    if (its_session != session) {
        session = its_session;
        for (uint32_t i = 0; i < uhost_model_count; i++) {
            reset_model(&uhost_models[i]);
        }
    } else if (its_sequence == sequence) {
        return true;
    } else if ((uint16_t)(its_sequence - sequence) >= 0x8000u) {
        return false;
    }
    sequence = its_sequence;
    done.type = 0;
    uhost_reply_to(session, sequence);
    return true;
}

static void answer_exact(uint8_t type, const uint8_t *payload, uint32_t size, uint32_t expected,
                         void (*answer)(const uint8_t *payload))
{
    if (size == expected) {
        answer(payload);
    } else {
        uhost_refuse(UHOST_ERROR_MALFORMED, type);
    }
}

/* For a message that ends with bytes of any number. */
static void answer_longer(uint8_t type, const uint8_t *payload, uint32_t size, uint32_t fixed,
                          void (*answer)(const uint8_t *payload, uint32_t size))
{
    if (size >= fixed) {
        answer(payload, size);
    } else {
        uhost_refuse(UHOST_ERROR_MALFORMED, type);
    }
}

static void answer(uint8_t type, const uint8_t *payload, uint32_t size)
{
    switch (type) {
    case UHOST_HELLO_REQUEST:
        answer_hello();
        break;
    case UHOST_MODEL_REQUEST:
        answer_exact(type, payload, size, UHOST_MODEL_REQUEST_BYTES, answer_model);
        break;
    case UHOST_TENSOR_REQUEST:
        answer_exact(type, payload, size, UHOST_TENSOR_REQUEST_BYTES, answer_tensor);
        break;
    case UHOST_WRITE_REQUEST:
        answer_longer(type, payload, size, UHOST_WRITE_REQUEST_BYTES, answer_write);
        break;
    case UHOST_READ_REQUEST:
        answer_exact(type, payload, size, UHOST_READ_REQUEST_BYTES, answer_read);
        break;
    case UHOST_RUN_REQUEST:
        answer_exact(type, payload, size, UHOST_RUN_REQUEST_BYTES, answer_run);
        break;
    case UHOST_OPERATOR_REQUEST:
        answer_exact(type, payload, size, UHOST_OPERATOR_REQUEST_BYTES, answer_operator);
        break;
    case UHOST_RESET_REQUEST:
        answer_exact(type, payload, size, UHOST_RESET_REQUEST_BYTES, answer_reset);
        break;
    case UHOST_PARAMS_REQUEST:
        answer_exact(type, payload, size, UHOST_PARAMS_REQUEST_BYTES, uhost_answer_params);
        break;
    case UHOST_PARAMS_WRITE_REQUEST:
        answer_longer(type, payload, size, UHOST_PARAMS_WRITE_REQUEST_BYTES, uhost_answer_params_write);
        break;
    case UHOST_PARAMS_CHECK_REQUEST:
        answer_exact(type, payload, size, UHOST_PARAMS_CHECK_REQUEST_BYTES, uhost_answer_params_check);
        break;
    default:
        uhost_refuse(UHOST_ERROR_UNKNOWN_MESSAGE, type);
        break;
    }
}

void uhost_rpc_receive(const uint8_t *data, uint32_t size)
{
    bool complete;

    while (size > 0) {
        uint32_t taken = uhost_receiver_feed(&receiver, data, size, &complete);

        data += taken;
        size -= taken;
        if (!complete) {
            continue;
        }
        if (accept(received[1], uhost_get_u16(received + 2), uhost_get_u16(received + 4))) {
            if (received[0] == UHOST_PROTOCOL_VERSION) {
                answer(received[1], received + UHOST_FRAME_HEADER_BYTES,
                       receiver.size - UHOST_FRAME_HEADER_BYTES);
            } else {
                uhost_refuse(UHOST_ERROR_VERSION, UHOST_PROTOCOL_VERSION);
            }
        }
    }
}

/* ---- Unasked ------------------------------------------------------------------------------ */

void uhost_rpc_log(const char *line)
{
    uint32_t size = 0;

    while (line[size] != '\0') {
        size++;
    }
    uhost_reply_begin(UHOST_LOG_NOTICE);
    uhost_frame_put(line, size);
    uhost_frame_end();
}

void uhost_rpc_report_fault(const struct uhost_fault *fault)
{
    const struct uhost_fault_notice notice = {
        .kind = fault->kind,
        .r0 = fault->r0,
        .r1 = fault->r1,
        .r2 = fault->r2,
        .r3 = fault->r3,
        .r12 = fault->r12,
        .lr = fault->lr,
        .pc = fault->pc,
        .xpsr = fault->xpsr,
        .sp = fault->sp,
        .cfsr = fault->cfsr,
        .hfsr = fault->hfsr,
        .mmfar = fault->mmfar,
        .bfar = fault->bfar,
    };
    uint8_t payload[UHOST_FAULT_NOTICE_BYTES];

    uhost_pack_fault_notice(payload, &notice);
    for (int i = 0; i < FAULT_REPORTS; i++) {
        uhost_reply_short(UHOST_FAULT_NOTICE, payload, sizeof payload);
    }
}
