#include "params.h"

#include "frame.h"
#include "model_table.h"
#include "reply.h"

static enum uhost_placement placement_of(const struct uhost_model *model)
{
    if (model->params_bytes == 0) {
        return UHOST_PLACEMENT_CODE;
    }
    return model->writable_params != 0 ? UHOST_PLACEMENT_RAM : UHOST_PLACEMENT_FLASH;
}

/*
 * True if run would take the weights. The model checks them before the operator's index:
 * of an operator that it does not have it says so only where the weights are right.
 */
static bool has_its_params(const struct uhost_model *model)
{
    return model->params_bytes == 0 ||
           model->run_operator(model->arena, model->operator_count) ==
               UHOST_MODEL_STATUS_BAD_OPERATOR;
}

void uhost_answer_params(const uint8_t *payload)
{
    const struct uhost_model *model = uhost_find_model(uhost_unpack_params_request(payload).model);
    uint8_t fixed[UHOST_PARAMS_REPLY_BYTES];

    if (model == 0) {
        return;
    }
    const struct uhost_params_reply reply = {
        .address = (uintptr_t)model->params,
        .size_bytes = model->params_bytes,
        .placement = (uint8_t)placement_of(model),
        .present = has_its_params(model),
    };

    uhost_pack_params_reply(fixed, &reply);
    uhost_reply_short(UHOST_PARAMS_REPLY, fixed, sizeof fixed);
}

void uhost_answer_params_write(const uint8_t *payload, uint32_t size)
{
    const struct uhost_params_write_request request = uhost_unpack_params_write_request(payload);
    const struct uhost_model *model = uhost_find_model(request.model);
    const uint8_t *content = payload + UHOST_PARAMS_WRITE_REQUEST_BYTES;
    uint32_t content_bytes = size - UHOST_PARAMS_WRITE_REQUEST_BYTES;

    if (model == 0) {
        return;
    }
    if (model->params_bytes == 0) {
        uhost_refuse(UHOST_ERROR_NO_PARAMS, request.model);
    } else if (model->writable_params == 0) {
        uhost_refuse(UHOST_ERROR_PARAMS_IN_FLASH, request.model);
    } else if (!uhost_is_within(request.offset, content_bytes, model->params_bytes)) {
        uhost_refuse(UHOST_ERROR_PARAMS_OUT_OF_RANGE, request.offset);
    } else {
        __builtin_memcpy(model->writable_params + request.offset, content, content_bytes);
        uhost_reply_begin(UHOST_PARAMS_WRITE_REPLY);
        uhost_frame_end();
    }
}

void uhost_answer_params_check(const uint8_t *payload)
{
    const uint8_t index = uhost_unpack_params_check_request(payload).model;
    const struct uhost_model *model = uhost_find_model(index);
    struct uhost_params_check_reply reply;
    uint8_t fixed[UHOST_PARAMS_CHECK_REPLY_BYTES];

    if (model == 0) {
        return;
    }
    if (model->params_bytes == 0) {
        uhost_refuse(UHOST_ERROR_NO_PARAMS, index);
        return;
    }
    reply.crc = uhost_crc(model->params, model->params_bytes);
    uhost_pack_params_check_reply(fixed, &reply);
    uhost_reply_short(UHOST_PARAMS_CHECK_REPLY, fixed, sizeof fixed);
}
