/* What the RPC server knows of the models in the image; model_table.c is generated. */
#ifndef UHOST_MODEL_TABLE_H
#define UHOST_MODEL_TABLE_H

#include <stdint.h>

/* An input or output: size_bytes at offset in the arena. Scale 0 is not quantised. */
struct uhost_tensor {
    const char *name;
    const int32_t *shape;
    uint8_t rank;
    uint8_t dtype; /* enum uhost_dtype of protocol.h */
    float scale;
    int32_t zero_point;
    uint32_t offset;
    uint32_t size_bytes;
};

/*
 * run and run_operator take the arena and return enum uhost_model_status of protocol.h.
 * Weights that are not part of the code are params_bytes at params, and both check them
 * before they do anything else. writable_params is params where that is RAM, and null
 * where it is flash; all three are 0 where the code holds the weights. reset puts what the
 * model keeps from run to run to its initial values; it is null where there is nothing.
 */
struct uhost_model {
    const char *name;
    uint8_t *arena;
    uint32_t arena_bytes;
    const uint8_t *params;
    uint8_t *writable_params;
    uint32_t params_bytes;
    uint32_t operator_count;
    uint32_t input_count;
    uint32_t output_count;
    const struct uhost_tensor *inputs;
    const struct uhost_tensor *outputs;
    int32_t (*run)(void *arena);
    int32_t (*run_operator)(void *arena, uint32_t index);
    void (*reset)(void *arena);
};

extern const struct uhost_model uhost_models[];
extern const uint32_t uhost_model_count;
extern const char uhost_build_digest[]; /* 64 hexadecimal digits */
extern const char uhost_board_name[];

#endif /* UHOST_MODEL_TABLE_H */
