/* National's 16550 with registers a byte apart. */
#include "board.h"
#include "registers.h"
#include "uart.h"

#define UART_DATA BYTE_REGISTER(UHOST_CONSOLE_BASE + 0u)
#define UART_DIVISOR_LOW BYTE_REGISTER(UHOST_CONSOLE_BASE + 0u) /* these two with LCR_DLAB */
#define UART_DIVISOR_HIGH BYTE_REGISTER(UHOST_CONSOLE_BASE + 1u)
#define UART_IER BYTE_REGISTER(UHOST_CONSOLE_BASE + 1u)
#define IER_RECEIVED 0x01u
#define UART_FCR BYTE_REGISTER(UHOST_CONSOLE_BASE + 2u)
#define FCR_ENABLE_AND_CLEAR 0x07u /* interrupt at the first byte */
#define UART_LCR BYTE_REGISTER(UHOST_CONSOLE_BASE + 3u)
#define LCR_8N1 0x03u
#define LCR_DLAB 0x80u
#define UART_LSR BYTE_REGISTER(UHOST_CONSOLE_BASE + 5u)
#define LSR_RECEIVED 0x01u
#define LSR_TRANSMITTER_EMPTY 0x20u

void uhost_uart_start(uint32_t clock_hz)
{
    uint32_t divisor = (clock_hz + 8u * UHOST_CONSOLE_BAUD) / (16u * UHOST_CONSOLE_BAUD);

    UART_IER = 0;
    UART_LCR = LCR_DLAB;
    UART_DIVISOR_LOW = (uint8_t)divisor;
    UART_DIVISOR_HIGH = (uint8_t)(divisor >> 8);
    UART_LCR = LCR_8N1;
    UART_FCR = FCR_ENABLE_AND_CLEAR;
    UART_IER = IER_RECEIVED;
}

void uhost_uart_acknowledge(void)
{
    (void)UART_LSR; /* clears receive errors */
}

bool uhost_uart_receive(uint8_t *byte)
{
    if ((UART_LSR & LSR_RECEIVED) == 0) {
        return false;
    }
    *byte = UART_DATA;
    return true;
}

void uhost_uart_send(uint8_t byte)
{
    for (uint32_t polls = 0; polls < UHOST_UART_MAX_POLLS; polls++) {
        if ((UART_LSR & LSR_TRANSMITTER_EMPTY) != 0) {
            UART_DATA = byte;
            return;
        }
    }
}
