/* What a UART driver gives: uart_<kind>.c, for the console at UHOST_CONSOLE_BASE. */
#ifndef UHOST_UART_H
#define UHOST_UART_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A transmitter that stays busy for this many polls is stuck, and the byte is lost: a
 * slow line takes some 100,000 cycles for one.
 */
#define UHOST_UART_MAX_POLLS 1000000u

/* Sets 8N1 at UHOST_CONSOLE_BAUD from the UART's clock, and the receive interrupt. */
void uhost_uart_start(uint32_t clock_hz);

/* First thing in the interrupt: clears its cause and any receive error. */
void uhost_uart_acknowledge(void);

/* Takes a received byte; false if there is none. */
bool uhost_uart_receive(uint8_t *byte);

/* Sends a byte as soon as the transmitter takes it. */
void uhost_uart_send(uint8_t byte);

#endif
