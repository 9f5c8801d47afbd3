/* LPUART of NXP's i.MX RT, its FIFOs off as after reset. */
#include "board.h"
#include "registers.h"
#include "uart.h"

#define LPUART_BAUD REGISTER(UHOST_CONSOLE_BASE + 0x10u)
#define BAUD_OVERSAMPLING_16 (15u << 24)
#define LPUART_STAT REGISTER(UHOST_CONSOLE_BASE + 0x14u)
#define STAT_ERRORS (0xFu << 16) /* parity, framing, noise, overrun: written to clear */
#define STAT_RDRF (1u << 21)
#define STAT_TDRE (1u << 23)
#define LPUART_CTRL REGISTER(UHOST_CONSOLE_BASE + 0x18u)
#define CTRL_RE (1u << 18)
#define CTRL_TE (1u << 19)
#define CTRL_RIE (1u << 21)
#define LPUART_DATA REGISTER(UHOST_CONSOLE_BASE + 0x1Cu)

void uhost_uart_start(uint32_t clock_hz)
{
    LPUART_CTRL = 0;
    LPUART_BAUD = BAUD_OVERSAMPLING_16 |
                  (clock_hz + 8u * UHOST_CONSOLE_BAUD) / (16u * UHOST_CONSOLE_BAUD);
    LPUART_STAT = STAT_ERRORS;
    LPUART_CTRL = CTRL_TE | CTRL_RE | CTRL_RIE;
}

void uhost_uart_acknowledge(void)
{
    /* An overrun that is not cleared stops reception for good. */
    if ((LPUART_STAT & STAT_ERRORS) != 0) {
        LPUART_STAT = STAT_ERRORS;
    }
}

bool uhost_uart_receive(uint8_t *byte)
{
    if ((LPUART_STAT & STAT_RDRF) == 0) {
        return false;
    }
    *byte = (uint8_t)LPUART_DATA;
    return true;
}

void uhost_uart_send(uint8_t byte)
{
    for (uint32_t polls = 0; polls < UHOST_UART_MAX_POLLS; polls++) {
        if ((LPUART_STAT & STAT_TDRE) != 0) {
            LPUART_DATA = byte;
            return;
        }
    }
}
