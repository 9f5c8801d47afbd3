/* The APB UART of Arm's Cortex-M System Design Kit: one byte of buffer each way. */
#include "board.h"
#include "registers.h"
#include "uart.h"

#define UART_DATA REGISTER(UHOST_CONSOLE_BASE + 0x00u)
#define UART_STATE REGISTER(UHOST_CONSOLE_BASE + 0x04u)
#define STATE_TX_FULL (1u << 0)
#define STATE_RX_FULL (1u << 1)
#define STATE_RX_OVERRUN (1u << 3)
#define UART_CTRL REGISTER(UHOST_CONSOLE_BASE + 0x08u)
#define CTRL_TX_ENABLE (1u << 0)
#define CTRL_RX_ENABLE (1u << 1)
#define CTRL_RX_INTERRUPT (1u << 3)
#define UART_INTCLEAR REGISTER(UHOST_CONSOLE_BASE + 0x0Cu)
#define INTCLEAR_RX (1u << 1)
#define INTCLEAR_ALL 0x0Fu
#define UART_BAUDDIV REGISTER(UHOST_CONSOLE_BASE + 0x10u)

void uhost_uart_start(uint32_t clock_hz)
{
    UART_CTRL = 0;
    UART_BAUDDIV = (clock_hz + UHOST_CONSOLE_BAUD / 2u) / UHOST_CONSOLE_BAUD;
    UART_INTCLEAR = INTCLEAR_ALL;
    UART_CTRL = CTRL_TX_ENABLE | CTRL_RX_ENABLE | CTRL_RX_INTERRUPT;
}

void uhost_uart_acknowledge(void)
{
    /* Before the bytes are taken: one that comes after the last look interrupts again. */
    UART_INTCLEAR = INTCLEAR_RX;
    if ((UART_STATE & STATE_RX_OVERRUN) != 0) {
        UART_STATE = STATE_RX_OVERRUN;
    }
}

bool uhost_uart_receive(uint8_t *byte)
{
    if ((UART_STATE & STATE_RX_FULL) == 0) {
        return false;
    }
    *byte = (uint8_t)UART_DATA;
    return true;
}

void uhost_uart_send(uint8_t byte)
{
    for (uint32_t polls = 0; polls < UHOST_UART_MAX_POLLS; polls++) {
        if ((UART_STATE & STATE_TX_FULL) == 0) {
            UART_DATA = byte;
            return;
        }
    }
}
