#include "measure.h"

#include "hal.h"
#include "protocol.h"

/* The call that count_cycles makes, and what it took. */
static struct {
    int32_t (*function)(void *arena);
    void *arena;
    uint32_t cycles;
} counted;

/* Counts here and not around uhost_hal_call_measured, which paints the stack first. */
static int32_t count_cycles(void *unused)
{
    uint32_t start = uhost_hal_cycles();
    int32_t status = counted.function(counted.arena);

    (void)unused;
    counted.cycles = uhost_hal_cycles() - start;
    return status;
}

static int32_t do_nothing(void *unused)
{
    (void)unused;
    return 0;
}

static int32_t run_counted(int32_t (*function)(void *arena), void *arena, uint32_t *stack_bytes)
{
    counted.function = function;
    counted.arena = arena;
    return uhost_hal_call_measured(count_cycles, 0, stack_bytes);
}

static uint64_t known_cycles(uint32_t cycles)
{
    return uhost_hal_has_cycles() ? cycles : UHOST_NO_CYCLES;
}

int32_t uhost_measure_run(const struct uhost_model *model, uint64_t *cycles, uint32_t *stack_bytes)
{
    uint32_t overhead;
    int32_t status;

    /* What count_cycles itself puts on the stack is not the model's. */
    (void)run_counted(do_nothing, 0, &overhead);
    status = run_counted(model->run, model->arena, stack_bytes);
    *cycles = known_cycles(counted.cycles);
    if (*stack_bytes != UHOST_NO_STACK) {
        *stack_bytes = *stack_bytes > overhead ? *stack_bytes - overhead : 0;
    }
    return status;
}

int32_t uhost_measure_operator(const struct uhost_model *model, uint32_t index, uint64_t *cycles)
{
    uint32_t start = uhost_hal_cycles();
    int32_t status = model->run_operator(model->arena, index);

    *cycles = known_cycles(uhost_hal_cycles() - start);
    return status;
}
