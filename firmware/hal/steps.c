#include "steps.h"

#include "registers.h"

/*
 * A poll takes some 8 cycles, and steps begin on the reset clock: 0.2 s at 16 MHz, more
 * than any crystal needs to start.
 */
#define MAX_POLLS 400000u

static bool wait_for(const struct uhost_step *step)
{
    for (uint32_t polls = 0; polls < MAX_POLLS; polls++) {
        if ((REGISTER(step->address) & step->mask) == step->value) {
            return true;
        }
    }
    return false;
}

bool uhost_run_steps(const struct uhost_step *steps)
{
    for (const struct uhost_step *step = steps; step->op != UHOST_STEP_END; step++) {
        uint32_t value = step->value;

        switch (step->op) {
        case UHOST_STEP_SET:
            value = REGISTER(step->address) | step->mask;
            break;
        case UHOST_STEP_CLEAR:
            value = REGISTER(step->address) & ~step->mask;
            break;
        case UHOST_STEP_MODIFY:
            value = (REGISTER(step->address) & ~step->mask) | step->value;
            break;
        case UHOST_STEP_WAIT:
            if (!wait_for(step)) {
                return false;
            }
            continue;
        default:
            break;
        }
        REGISTER(step->address) = value;
        /* A clock that was just enabled reaches its peripheral some cycles later. */
        (void)REGISTER(step->address);
    }
    return true;
}
