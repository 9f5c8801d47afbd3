/* Requests about weights that are not part of a model's code. */
#ifndef UHOST_PARAMS_H
#define UHOST_PARAMS_H

#include <stdint.h>

/* Each takes a request's payload, of the length that its message has, and answers it. */
void uhost_answer_params(const uint8_t *payload);
void uhost_answer_params_write(const uint8_t *payload, uint32_t size);
void uhost_answer_params_check(const uint8_t *payload);

#endif /* UHOST_PARAMS_H */
