/* The host as a board: RPC over standard input and output, the model on a painted stack. */
#define _GNU_SOURCE /* for ucontext and MAP_ANONYMOUS under -std=c11 */

#include "hal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECEIVE_BYTES 65536u
#define SEND_BYTES 65536u

static uint8_t received[RECEIVE_BYTES];
static size_t received_from;
static size_t received_to;

static uint8_t sending[SEND_BYTES];
static size_t sending_size;
static int line_out = STDOUT_FILENO;

void uhost_hal_init(void)
{
    /* The line gets a descriptor of its own, so that nothing printed can break a frame. */
    line_out = dup(STDOUT_FILENO);
    if (line_out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        abort();
    }
}

/* Hands what was written to the other side; ends the process when there is none. */
static void flush_line(void)
{
    size_t sent = 0;

    while (sent < sending_size) {
        ssize_t count = write(line_out, sending + sent, sending_size - sent);

        if (count > 0) {
            sent += (size_t)count;
        } else if (errno != EINTR) {
            _exit(0);
        }
    }
    sending_size = 0;
}

uint32_t uhost_hal_read(uint8_t *buffer, uint32_t size)
{
    size_t waiting = received_to - received_from;
    size_t count = waiting < size ? waiting : size;

    memcpy(buffer, received + received_from, count);
    received_from += count;
    return (uint32_t)count;
}

/* Gathers small writes; they go out before the process waits, runs a model or ends. */
void uhost_hal_write(const uint8_t *data, uint32_t size)
{
    while (size > 0) {
        size_t space = sizeof sending - sending_size;
        size_t count = size < space ? size : space;

        memcpy(sending + sending_size, data, count);
        sending_size += count;
        data += count;
        size -= (uint32_t)count;
        if (sending_size == sizeof sending) {
            flush_line();
        }
    }
}

/* Blocks until the host sends something; its end of file ends the process. */
void uhost_hal_wait(void)
{
    ssize_t count;

    flush_line();
    do {
        count = read(STDIN_FILENO, received, sizeof received);
    } while (count < 0 && errno == EINTR);
    if (count <= 0) {
        exit(0);
    }
    received_from = 0;
    received_to = (size_t)count;
}

bool uhost_hal_has_cycles(void)
{
    return false;
}

uint32_t uhost_hal_cycles(void)
{
    return 0;
}

uint32_t uhost_hal_clock_hz(void)
{
    return 0;
}

/* ---- Stack depth -------------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__)
#define STACK_IS_INSTRUMENTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STACK_IS_INSTRUMENTED 1
#endif
#endif

#if defined(__linux__) && !defined(STACK_IS_INSTRUMENTED)

#include <sys/mman.h>
#include <ucontext.h>

#define STACK_BYTES (1u << 20)
#define GUARD_BYTES (1u << 16) /* at least a page on every machine */
#define PAINT 0xA5u

static struct {
    ucontext_t caller;
    ucontext_t callee;
    int32_t (*function)(void *argument);
    void *argument;
    int32_t result;
    const uint8_t *entry;
} call;

static void run_call(void)
{
    call.entry = __builtin_frame_address(0);
    call.result = call.function(call.argument);
}

/* A stack that grows down into a page that must not be touched; null if there is none. */
static uint8_t *make_stack(void)
{
    uint8_t *memory = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || mprotect(memory, GUARD_BYTES, PROT_NONE) != 0) {
        return NULL;
    }
    return memory + GUARD_BYTES;
}

int32_t uhost_hal_call_measured(int32_t (*function)(void *argument), void *argument,
                                uint32_t *stack_bytes)
{
    static uint8_t *stack;
    const uint8_t *deepest;

    flush_line();
    if (stack == NULL) {
        stack = make_stack();
    }
    if (stack == NULL || getcontext(&call.callee) != 0) {
        *stack_bytes = UINT32_MAX;
        return function(argument);
    }
    memset(stack, PAINT, STACK_BYTES);
    call.callee.uc_stack.ss_sp = stack;
    call.callee.uc_stack.ss_size = STACK_BYTES;
    call.callee.uc_link = &call.caller;
    call.function = function;
    call.argument = argument;
    makecontext(&call.callee, run_call, 0);
    if (swapcontext(&call.caller, &call.callee) != 0) {
        abort();
    }
    for (deepest = stack; deepest < call.entry && *deepest == PAINT; deepest++) {
    }
    *stack_bytes = (uint32_t)(call.entry - deepest);
    return call.result;
}

#else

int32_t uhost_hal_call_measured(int32_t (*function)(void *argument), void *argument,
                                uint32_t *stack_bytes)
{
    flush_line();
    *stack_bytes = UINT32_MAX;
    return function(argument);
}

#endif
