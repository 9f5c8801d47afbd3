/* UART of nRF51 and, as a mode of the UARTE, of nRF52: six bytes of receive buffer. */
#include "board.h"
#include "registers.h"
#include "uart.h"

#define UART_STARTRX REGISTER(UHOST_CONSOLE_BASE + 0x000u)
#define UART_STARTTX REGISTER(UHOST_CONSOLE_BASE + 0x008u)
#define UART_RXDRDY REGISTER(UHOST_CONSOLE_BASE + 0x108u)
#define UART_TXDRDY REGISTER(UHOST_CONSOLE_BASE + 0x11Cu)
#define UART_INTENSET REGISTER(UHOST_CONSOLE_BASE + 0x304u)
#define INTEN_RXDRDY (1u << 2)
#define UART_ENABLE REGISTER(UHOST_CONSOLE_BASE + 0x500u)
#define ENABLE_UART 4u
#define UART_RXD REGISTER(UHOST_CONSOLE_BASE + 0x518u)
#define UART_TXD REGISTER(UHOST_CONSOLE_BASE + 0x51Cu)
#define UART_BAUDRATE REGISTER(UHOST_CONSOLE_BASE + 0x524u)

/* The values that the manual gives: fractions of 16 MHz in units of 2^-32. */
#if UHOST_CONSOLE_BAUD == 9600
#define BAUDRATE 0x00275000u
#elif UHOST_CONSOLE_BAUD == 19200
#define BAUDRATE 0x004EA000u
#elif UHOST_CONSOLE_BAUD == 38400
#define BAUDRATE 0x009D5000u
#elif UHOST_CONSOLE_BAUD == 57600
#define BAUDRATE 0x00EBF000u
#elif UHOST_CONSOLE_BAUD == 115200
#define BAUDRATE 0x01D7E000u
#elif UHOST_CONSOLE_BAUD == 230400
#define BAUDRATE 0x03AFB000u
#elif UHOST_CONSOLE_BAUD == 460800
#define BAUDRATE 0x075F7000u
#elif UHOST_CONSOLE_BAUD == 921600
#define BAUDRATE 0x0EBED000u
#elif UHOST_CONSOLE_BAUD == 1000000
#define BAUDRATE 0x10000000u
#else
#error "the UART has no value for the console's baud rate"
#endif

/* The transmitter tells that a byte left, not that it is idle: none has been sent yet. */
static bool sending;

void uhost_uart_start(uint32_t clock_hz)
{
    (void)clock_hz; /* the rate comes from a clock of its own */
    UART_BAUDRATE = BAUDRATE;
    UART_ENABLE = ENABLE_UART;
    UART_RXDRDY = 0;
    UART_TXDRDY = 0;
    UART_INTENSET = INTEN_RXDRDY;
    UART_STARTTX = 1;
    UART_STARTRX = 1;
}

void uhost_uart_acknowledge(void)
{
    /* The event is cleared with each byte, an overrun by taking bytes. */
}

bool uhost_uart_receive(uint8_t *byte)
{
    if (UART_RXDRDY == 0) {
        return false;
    }
    /* Cleared first: reading makes way for the next byte, which sets it again. */
    UART_RXDRDY = 0;
    *byte = (uint8_t)UART_RXD;
    return true;
}

void uhost_uart_send(uint8_t byte)
{
    for (uint32_t polls = 0; sending && UART_TXDRDY == 0; polls++) {
        if (polls == UHOST_UART_MAX_POLLS) {
            return;
        }
    }
    UART_TXDRDY = 0;
    sending = true;
    UART_TXD = byte;
}
