#include "reply.h"

#include "frame.h"

static uint16_t session;
static uint16_t sequence;

void uhost_reply_to(uint16_t to_session, uint16_t to_sequence)
{
    session = to_session;
    sequence = to_sequence;
}

void uhost_reply_begin(uint8_t type)
{
    uhost_frame_begin(type, session, sequence);
}

void uhost_reply_text(const char *text)
{
    uint8_t prefix[2];
    uint32_t size = 0;

    while (text[size] != '\0' && size < UINT16_MAX) {
        size++;
    }
    uhost_put_u16(prefix, (uint16_t)size);
    uhost_frame_put(prefix, sizeof prefix);
    uhost_frame_put(text, size);
}

void uhost_reply_shape(const int32_t *shape, uint8_t rank)
{
    uint8_t bytes[4];

    uhost_frame_put(&rank, 1);
    for (uint8_t i = 0; i < rank; i++) {
        uhost_put_i32(bytes, shape[i]);
        uhost_frame_put(bytes, sizeof bytes);
    }
}

void uhost_reply_short(uint8_t type, const uint8_t *payload, uint32_t size)
{
    uhost_reply_begin(type);
    uhost_frame_put(payload, size);
    uhost_frame_end();
}

void uhost_send_error(uint16_t to_session, uint16_t to_sequence, enum uhost_error code,
                      uint32_t detail)
{
    const struct uhost_error_reply error = {.detail = detail, .code = (uint8_t)code};
    uint8_t payload[UHOST_ERROR_REPLY_BYTES];

    uhost_pack_error_reply(payload, &error);
    uhost_frame_begin(UHOST_ERROR_REPLY, to_session, to_sequence);
    uhost_frame_put(payload, sizeof payload);
    uhost_frame_end();
}

void uhost_refuse(enum uhost_error code, uint32_t detail)
{
    uhost_send_error(session, sequence, code, detail);
}

const struct uhost_model *uhost_find_model(uint8_t index)
{
    if (index >= uhost_model_count) {
        uhost_refuse(UHOST_ERROR_NO_MODEL, index);
        return 0;
    }
    return &uhost_models[index];
}

bool uhost_is_within(uint32_t offset, uint32_t size, uint32_t whole)
{
    return size <= whole && offset <= whole - size;
}
