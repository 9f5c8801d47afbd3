/* Runs models and operators, counting cycles and stack. */
#ifndef UHOST_MEASURE_H
#define UHOST_MEASURE_H

#include <stdint.h>

#include "model_table.h"

/*
 * Runs the model and returns its status. *cycles becomes the core clocks it took, and
 * *stack_bytes what it needs below its own entry; UHOST_NO_CYCLES and UHOST_NO_STACK
 * where the board cannot tell.
 */
int32_t uhost_measure_run(const struct uhost_model *model, uint64_t *cycles,
                          uint32_t *stack_bytes);

/* Runs one operator of the model and returns its status; cycles as above. */
int32_t uhost_measure_operator(const struct uhost_model *model, uint32_t index, uint64_t *cycles);

#endif /* UHOST_MEASURE_H */
