/*
 * The messages between uhost and the firmware.
 * Rendered from uhost/rpc/messages.py: change them there.
 *
 * A frame holds a header (version u8, message u8, session u16, sequence u16), a payload
 * and a CRC-32 over both; all numbers are little-endian. A payload is a fixed part, given
 * here as a struct with its packing, then texts (u16 length, UTF-8), then a shape (u8 rank,
 * i32 per dimension), then bytes to its end.
 */
#ifndef UHOST_PROTOCOL_H
#define UHOST_PROTOCOL_H

#include <stdint.h>

#define UHOST_PROTOCOL_VERSION 1u
#define UHOST_FRAME_HEADER_BYTES 6u
#define UHOST_FRAME_CRC_BYTES 4u
#define UHOST_SMALLEST_BUFFER_BYTES 64u
#define UHOST_LARGEST_FIXED_BYTES 56u
#define UHOST_NO_CYCLES UINT64_C(0xFFFFFFFFFFFFFFFF)
#define UHOST_NO_STACK 0xFFFFFFFFu

enum uhost_message {
    UHOST_HELLO_REQUEST = 0x01,
    UHOST_MODEL_REQUEST = 0x02,
    UHOST_TENSOR_REQUEST = 0x03,
    UHOST_WRITE_REQUEST = 0x04,
    UHOST_READ_REQUEST = 0x05,
    UHOST_RUN_REQUEST = 0x06,
    UHOST_OPERATOR_REQUEST = 0x07,
    UHOST_PARAMS_REQUEST = 0x08,
    UHOST_PARAMS_WRITE_REQUEST = 0x09,
    UHOST_PARAMS_CHECK_REQUEST = 0x0A,
    UHOST_RESET_REQUEST = 0x0B,
    UHOST_HELLO_REPLY = 0x81,
    UHOST_MODEL_REPLY = 0x82,
    UHOST_TENSOR_REPLY = 0x83,
    UHOST_WRITE_REPLY = 0x84,
    UHOST_READ_REPLY = 0x85,
    UHOST_RUN_REPLY = 0x86,
    UHOST_OPERATOR_REPLY = 0x87,
    UHOST_PARAMS_REPLY = 0x88,
    UHOST_PARAMS_WRITE_REPLY = 0x89,
    UHOST_PARAMS_CHECK_REPLY = 0x8A,
    UHOST_RESET_REPLY = 0x8B,
    UHOST_LOG_NOTICE = 0xF0,
    UHOST_FAULT_NOTICE = 0xF1,
    UHOST_ERROR_REPLY = 0xFF
};

/* Why a device refuses a request. */
enum uhost_error {
    UHOST_ERROR_UNKNOWN_MESSAGE = 1,
    UHOST_ERROR_MALFORMED = 2,
    UHOST_ERROR_NO_SESSION = 3,
    UHOST_ERROR_VERSION = 4,
    UHOST_ERROR_NO_MODEL = 5,
    UHOST_ERROR_NO_TENSOR = 6,
    UHOST_ERROR_NO_OPERATOR = 7,
    UHOST_ERROR_OUT_OF_RANGE = 8,
    UHOST_ERROR_NO_PARAMS = 9,
    UHOST_ERROR_PARAMS_IN_FLASH = 10,
    UHOST_ERROR_PARAMS_OUT_OF_RANGE = 11
};

/* Element types in `TensorReply` and in the firmware's model table. */
enum uhost_dtype {
    UHOST_DTYPE_INT8 = 1,
    UHOST_DTYPE_UINT8 = 2,
    UHOST_DTYPE_INT16 = 3,
    UHOST_DTYPE_INT32 = 4,
    UHOST_DTYPE_INT64 = 5,
    UHOST_DTYPE_FLOAT32 = 6,
    UHOST_DTYPE_BOOL = 7,
    UHOST_DTYPE_UINT32 = 8,
    UHOST_DTYPE_UINT64 = 9
};

/* Bits of `HelloReply.flags`. */
enum uhost_flag {
    UHOST_FLAG_HAS_CYCLES = 1
};

/* Which tensors of a model a `TensorRequest` counts. */
enum uhost_direction {
    UHOST_DIRECTION_INPUT = 0,
    UHOST_DIRECTION_OUTPUT = 1
};

/* What generated models return: the same numbers as in their header. */
enum uhost_model_status {
    UHOST_MODEL_STATUS_OK = 0,
    UHOST_MODEL_STATUS_BAD_ARENA = 1,
    UHOST_MODEL_STATUS_BAD_OPERATOR = 2,
    UHOST_MODEL_STATUS_BAD_PARAMS = 3
};

/* Where a model's weights lie: in its code, in RAM, or in flash at their own address. */
enum uhost_placement {
    UHOST_PLACEMENT_CODE = 0,
    UHOST_PLACEMENT_RAM = 1,
    UHOST_PLACEMENT_FLASH = 2
};

static inline uint8_t uhost_get_u8(const uint8_t *at)
{
    return at[0];
}

static inline uint16_t uhost_get_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | (at[1] << 8));
}

static inline uint32_t uhost_get_u32(const uint8_t *at)
{
    return uhost_get_u16(at) | ((uint32_t)uhost_get_u16(at + 2) << 16);
}

static inline void uhost_put_u8(uint8_t *at, uint8_t value)
{
    at[0] = value;
}

static inline void uhost_put_u16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static inline void uhost_put_u32(uint8_t *at, uint32_t value)
{
    uhost_put_u16(at, (uint16_t)value);
    uhost_put_u16(at + 2, (uint16_t)(value >> 16));
}

static inline void uhost_put_u64(uint8_t *at, uint64_t value)
{
    uhost_put_u32(at, (uint32_t)value);
    uhost_put_u32(at + 4, (uint32_t)(value >> 32));
}

static inline void uhost_put_i32(uint8_t *at, int32_t value)
{
    uhost_put_u32(at, (uint32_t)value);
}

static inline void uhost_put_f32(uint8_t *at, float value)
{
    union {
        float number;
        uint32_t bits;
    } shared = {.number = value};

    uhost_put_u32(at, shared.bits);
}

/* ---- From the host ------------------------------------------------------------------------ */

/* Starts the session that its frame names; repeated in that session, changes nothing. */
#define UHOST_HELLO_REQUEST_BYTES 0u

/* Asks what a model is. */
#define UHOST_MODEL_REQUEST_BYTES 1u
struct uhost_model_request {
    uint8_t model;
};

static inline struct uhost_model_request uhost_unpack_model_request(const uint8_t *at)
{
    return (struct uhost_model_request){
        .model = uhost_get_u8(at),
    };
}

/* Asks what an input or output of a model is. */
#define UHOST_TENSOR_REQUEST_BYTES 4u
struct uhost_tensor_request {
    uint8_t model;
    uint8_t direction;
    uint16_t index;
};

static inline struct uhost_tensor_request uhost_unpack_tensor_request(const uint8_t *at)
{
    return (struct uhost_tensor_request){
        .model = uhost_get_u8(at),
        .direction = uhost_get_u8(at + 1),
        .index = uhost_get_u16(at + 2),
    };
}

/* Puts bytes into a model's arena. Then: content (rest). */
#define UHOST_WRITE_REQUEST_BYTES 5u
struct uhost_write_request {
    uint8_t model;
    uint32_t offset;
};

static inline struct uhost_write_request uhost_unpack_write_request(const uint8_t *at)
{
    return (struct uhost_write_request){
        .model = uhost_get_u8(at),
        .offset = uhost_get_u32(at + 1),
    };
}

/* Asks for bytes of a model's arena. */
#define UHOST_READ_REQUEST_BYTES 9u
struct uhost_read_request {
    uint8_t model;
    uint32_t offset;
    uint32_t size_bytes;
};

static inline struct uhost_read_request uhost_unpack_read_request(const uint8_t *at)
{
    return (struct uhost_read_request){
        .model = uhost_get_u8(at),
        .offset = uhost_get_u32(at + 1),
        .size_bytes = uhost_get_u32(at + 5),
    };
}

/* Runs a model once. Repeated with the same sequence number it does not run again. */
#define UHOST_RUN_REQUEST_BYTES 1u
struct uhost_run_request {
    uint8_t model;
};

static inline struct uhost_run_request uhost_unpack_run_request(const uint8_t *at)
{
    return (struct uhost_run_request){
        .model = uhost_get_u8(at),
    };
}

/* Runs one operator of a model once. */
#define UHOST_OPERATOR_REQUEST_BYTES 5u
struct uhost_operator_request {
    uint8_t model;
    uint32_t index;
};

static inline struct uhost_operator_request uhost_unpack_operator_request(const uint8_t *at)
{
    return (struct uhost_operator_request){
        .model = uhost_get_u8(at),
        .index = uhost_get_u32(at + 1),
    };
}

/* Asks where a model's weights lie, and whether the right ones are there. */
#define UHOST_PARAMS_REQUEST_BYTES 1u
struct uhost_params_request {
    uint8_t model;
};

static inline struct uhost_params_request uhost_unpack_params_request(const uint8_t *at)
{
    return (struct uhost_params_request){
        .model = uhost_get_u8(at),
    };
}

/* Puts bytes into the weights of a model that has them in RAM. Then: content (rest). */
#define UHOST_PARAMS_WRITE_REQUEST_BYTES 5u
struct uhost_params_write_request {
    uint8_t model;
    uint32_t offset;
};

static inline struct uhost_params_write_request uhost_unpack_params_write_request(const uint8_t *at)
{
    return (struct uhost_params_write_request){
        .model = uhost_get_u8(at),
        .offset = uhost_get_u32(at + 1),
    };
}

/* Asks for the CRC-32 of a model's weights as they are in memory, header and all. */
#define UHOST_PARAMS_CHECK_REQUEST_BYTES 1u
struct uhost_params_check_request {
    uint8_t model;
};

static inline struct uhost_params_check_request uhost_unpack_params_check_request(const uint8_t *at)
{
    return (struct uhost_params_check_request){
        .model = uhost_get_u8(at),
    };
}

/* Puts what a model keeps from run to run back to its initial values, as a new session does. */
#define UHOST_RESET_REQUEST_BYTES 1u
struct uhost_reset_request {
    uint8_t model;
};

static inline struct uhost_reset_request uhost_unpack_reset_request(const uint8_t *at)
{
    return (struct uhost_reset_request){
        .model = uhost_get_u8(at),
    };
}

/* ---- From the device ---------------------------------------------------------------------- */

/* What runs on the device. A payload to it may have up to `buffer_bytes`. Then: digest (text), board (text). */
#define UHOST_HELLO_REPLY_BYTES 14u
struct uhost_hello_reply {
    uint32_t buffer_bytes;
    uint32_t clock_hz;
    uint32_t dropped_frames;
    uint8_t model_count;
    uint8_t flags;
};

static inline void uhost_pack_hello_reply(uint8_t *at, const struct uhost_hello_reply *message)
{
    uhost_put_u32(at, message->buffer_bytes);
    uhost_put_u32(at + 4, message->clock_hz);
    uhost_put_u32(at + 8, message->dropped_frames);
    uhost_put_u8(at + 12, message->model_count);
    uhost_put_u8(at + 13, message->flags);
}

/* A model of the firmware's table. Then: name (text). */
#define UHOST_MODEL_REPLY_BYTES 12u
struct uhost_model_reply {
    uint32_t arena_bytes;
    uint32_t operator_count;
    uint16_t input_count;
    uint16_t output_count;
};

static inline void uhost_pack_model_reply(uint8_t *at, const struct uhost_model_reply *message)
{
    uhost_put_u32(at, message->arena_bytes);
    uhost_put_u32(at + 4, message->operator_count);
    uhost_put_u16(at + 8, message->input_count);
    uhost_put_u16(at + 10, message->output_count);
}

/* An input or output: `size_bytes` at `offset` in the arena; scale 0 is not quantised. Then: name (text), shape (shape). */
#define UHOST_TENSOR_REPLY_BYTES 17u
struct uhost_tensor_reply {
    uint32_t offset;
    uint32_t size_bytes;
    float scale;
    int32_t zero_point;
    uint8_t dtype;
};

static inline void uhost_pack_tensor_reply(uint8_t *at, const struct uhost_tensor_reply *message)
{
    uhost_put_u32(at, message->offset);
    uhost_put_u32(at + 4, message->size_bytes);
    uhost_put_f32(at + 8, message->scale);
    uhost_put_i32(at + 12, message->zero_point);
    uhost_put_u8(at + 16, message->dtype);
}

/* The bytes are in the arena. */
#define UHOST_WRITE_REPLY_BYTES 0u

/* The bytes asked for. Then: content (rest). */
#define UHOST_READ_REPLY_BYTES 0u

/* The model returned `status`; 0 is success. All ones: not measured. */
#define UHOST_RUN_REPLY_BYTES 16u
struct uhost_run_reply {
    uint64_t cycles;
    uint32_t stack_bytes;
    int32_t status;
};

static inline void uhost_pack_run_reply(uint8_t *at, const struct uhost_run_reply *message)
{
    uhost_put_u64(at, message->cycles);
    uhost_put_u32(at + 8, message->stack_bytes);
    uhost_put_i32(at + 12, message->status);
}

/* The operator returned `status`; 0 is success. All ones: no cycle counter. */
#define UHOST_OPERATOR_REPLY_BYTES 12u
struct uhost_operator_reply {
    uint64_t cycles;
    int32_t status;
};

static inline void uhost_pack_operator_reply(uint8_t *at, const struct uhost_operator_reply *message)
{
    uhost_put_u64(at, message->cycles);
    uhost_put_i32(at + 8, message->status);
}

/* The place of the weights. `present` is 1 where their header is the model's, else 0. */
#define UHOST_PARAMS_REPLY_BYTES 14u
struct uhost_params_reply {
    uint64_t address;
    uint32_t size_bytes;
    uint8_t placement;
    uint8_t present;
};

static inline void uhost_pack_params_reply(uint8_t *at, const struct uhost_params_reply *message)
{
    uhost_put_u64(at, message->address);
    uhost_put_u32(at + 8, message->size_bytes);
    uhost_put_u8(at + 12, message->placement);
    uhost_put_u8(at + 13, message->present);
}

/* The bytes are among the weights. */
#define UHOST_PARAMS_WRITE_REPLY_BYTES 0u

/* The CRC-32 over all bytes of the weights, as frames compute it. */
#define UHOST_PARAMS_CHECK_REPLY_BYTES 4u
struct uhost_params_check_reply {
    uint32_t crc;
};

static inline void uhost_pack_params_check_reply(uint8_t *at, const struct uhost_params_check_reply *message)
{
    uhost_put_u32(at, message->crc);
}

/* The next run is the first of a sequence. */
#define UHOST_RESET_REPLY_BYTES 0u

/* A line of text from the firmware. Then: line (rest). */
#define UHOST_LOG_NOTICE_BYTES 0u

/* The firmware crashed and has stopped; registers as the exception found them. */
#define UHOST_FAULT_NOTICE_BYTES 56u
struct uhost_fault_notice {
    uint32_t kind;
    uint32_t r0;
    uint32_t r1;
    uint32_t r2;
    uint32_t r3;
    uint32_t r12;
    uint32_t lr;
    uint32_t pc;
    uint32_t xpsr;
    uint32_t sp;
    uint32_t cfsr;
    uint32_t hfsr;
    uint32_t mmfar;
    uint32_t bfar;
};

static inline void uhost_pack_fault_notice(uint8_t *at, const struct uhost_fault_notice *message)
{
    uhost_put_u32(at, message->kind);
    uhost_put_u32(at + 4, message->r0);
    uhost_put_u32(at + 8, message->r1);
    uhost_put_u32(at + 12, message->r2);
    uhost_put_u32(at + 16, message->r3);
    uhost_put_u32(at + 20, message->r12);
    uhost_put_u32(at + 24, message->lr);
    uhost_put_u32(at + 28, message->pc);
    uhost_put_u32(at + 32, message->xpsr);
    uhost_put_u32(at + 36, message->sp);
    uhost_put_u32(at + 40, message->cfsr);
    uhost_put_u32(at + 44, message->hfsr);
    uhost_put_u32(at + 48, message->mmfar);
    uhost_put_u32(at + 52, message->bfar);
}

/* The request was refused; `detail` is the offending number. */
#define UHOST_ERROR_REPLY_BYTES 5u
struct uhost_error_reply {
    uint32_t detail;
    uint8_t code;
};

static inline void uhost_pack_error_reply(uint8_t *at, const struct uhost_error_reply *message)
{
    uhost_put_u32(at, message->detail);
    uhost_put_u8(at + 4, message->code);
}

#endif /* UHOST_PROTOCOL_H */
