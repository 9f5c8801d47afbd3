#include "console.h"

#include <stdint.h>

#include "board.h"
#include "hal.h"
#include "uart.h"

#define RING_MASK (UHOST_RECEIVE_BYTES - 1u)

_Static_assert((UHOST_RECEIVE_BYTES & RING_MASK) == 0, "the ring's size is a power of two");

/*
 * Received bytes: the interrupt moves the head, the reader the tail. Both run freely;
 * their difference is what is waiting.
 */
static uint8_t ring[UHOST_RECEIVE_BYTES];
static volatile uint32_t ring_head;
static volatile uint32_t ring_tail;

/* Takes all there is, so that a burst costs one interrupt. A full ring drops bytes. */
void uhost_console_interrupt(void)
{
    uint8_t byte;

    uhost_uart_acknowledge();
    while (uhost_uart_receive(&byte)) {
        uint32_t head = ring_head;

        if (head - ring_tail < UHOST_RECEIVE_BYTES) {
            ring[head & RING_MASK] = byte;
            ring_head = head + 1u;
        }
    }
}

bool uhost_console_is_empty(void)
{
    return ring_head == ring_tail;
}

uint32_t uhost_hal_read(uint8_t *buffer, uint32_t size)
{
    uint32_t tail = ring_tail;
    uint32_t waiting = ring_head - tail;
    uint32_t taken = size < waiting ? size : waiting;

    for (uint32_t i = 0; i < taken; i++) {
        buffer[i] = ring[(tail + i) & RING_MASK];
    }
    ring_tail = tail + taken;
    return taken;
}

void uhost_hal_write(const uint8_t *data, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        uhost_uart_send(data[i]);
    }
}
