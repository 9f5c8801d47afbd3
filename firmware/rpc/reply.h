/* The request at hand: what it names, and its answer. */
#ifndef UHOST_REPLY_H
#define UHOST_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "model_table.h"
#include "protocol.h"

/* Sends what follows as answers to this request. */
void uhost_reply_to(uint16_t session, uint16_t sequence);

/* Begins an answer; more is put with uhost_frame_put and below, and uhost_frame_end sends it. */
void uhost_reply_begin(uint8_t type);
void uhost_reply_text(const char *text);
void uhost_reply_shape(const int32_t *shape, uint8_t rank);

/* Sends an answer that is in one piece. */
void uhost_reply_short(uint8_t type, const uint8_t *payload, uint32_t size);

/* Answers that the request is not carried out; detail is the offending number. */
void uhost_refuse(enum uhost_error code, uint32_t detail);

/* The same, to a request that is not the one at hand. */
void uhost_send_error(uint16_t to_session, uint16_t to_sequence, enum uhost_error code,
                      uint32_t detail);

/* Returns the model, or refuses the request and returns null. */
const struct uhost_model *uhost_find_model(uint8_t index);

/* True if size bytes at offset lie in whole bytes. */
bool uhost_is_within(uint32_t offset, uint32_t size, uint32_t whole);

#endif /* UHOST_REPLY_H */
