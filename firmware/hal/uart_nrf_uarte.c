/* UARTE of nRF52 and nRF53: bytes move by DMA, one at a time, to and from RAM. */
#include "board.h"
#include "registers.h"
#include "uart.h"

#define UARTE_STARTRX REGISTER(UHOST_CONSOLE_BASE + 0x000u)
#define UARTE_STARTTX REGISTER(UHOST_CONSOLE_BASE + 0x008u)
#define UARTE_ENDRX REGISTER(UHOST_CONSOLE_BASE + 0x110u)
#define UARTE_ENDTX REGISTER(UHOST_CONSOLE_BASE + 0x120u)
#define UARTE_INTENSET REGISTER(UHOST_CONSOLE_BASE + 0x304u)
#define INTEN_ENDRX (1u << 4)
#define UARTE_ERRORSRC REGISTER(UHOST_CONSOLE_BASE + 0x480u)
#define ERRORSRC_ALL 0x0Fu
#define UARTE_ENABLE REGISTER(UHOST_CONSOLE_BASE + 0x500u)
#define ENABLE_UARTE 8u
#define UARTE_BAUDRATE REGISTER(UHOST_CONSOLE_BASE + 0x524u)
#define UARTE_RXD_PTR REGISTER(UHOST_CONSOLE_BASE + 0x534u)
#define UARTE_RXD_MAXCNT REGISTER(UHOST_CONSOLE_BASE + 0x538u)
#define UARTE_TXD_PTR REGISTER(UHOST_CONSOLE_BASE + 0x544u)
#define UARTE_TXD_MAXCNT REGISTER(UHOST_CONSOLE_BASE + 0x548u)

/* The values that the manual gives: fractions of 16 MHz in units of 2^-32. */
#if UHOST_CONSOLE_BAUD == 9600
#define BAUDRATE 0x00275000u
#elif UHOST_CONSOLE_BAUD == 19200
#define BAUDRATE 0x004EA000u
#elif UHOST_CONSOLE_BAUD == 38400
#define BAUDRATE 0x009D0000u
#elif UHOST_CONSOLE_BAUD == 57600
#define BAUDRATE 0x00EB0000u
#elif UHOST_CONSOLE_BAUD == 115200
#define BAUDRATE 0x01D60000u
#elif UHOST_CONSOLE_BAUD == 230400
#define BAUDRATE 0x03B00000u
#elif UHOST_CONSOLE_BAUD == 460800
#define BAUDRATE 0x07400000u
#elif UHOST_CONSOLE_BAUD == 921600
#define BAUDRATE 0x0F000000u
#elif UHOST_CONSOLE_BAUD == 1000000
#define BAUDRATE 0x10000000u
#else
#error "the UARTE has no value for the console's baud rate"
#endif

static volatile uint8_t received;
static volatile uint8_t sent;

void uhost_uart_start(uint32_t clock_hz)
{
    (void)clock_hz; /* the rate comes from a clock of its own */
    UARTE_BAUDRATE = BAUDRATE;
    UARTE_ENABLE = ENABLE_UARTE;
    UARTE_RXD_PTR = (uint32_t)&received;
    UARTE_RXD_MAXCNT = 1;
    UARTE_TXD_PTR = (uint32_t)&sent;
    UARTE_TXD_MAXCNT = 1;
    UARTE_ENDRX = 0;
    UARTE_INTENSET = INTEN_ENDRX;
    UARTE_STARTRX = 1;
}

void uhost_uart_acknowledge(void)
{
    UARTE_ERRORSRC = ERRORSRC_ALL;
}

bool uhost_uart_receive(uint8_t *byte)
{
    if (UARTE_ENDRX == 0) {
        return false;
    }
    *byte = received;
    UARTE_ENDRX = 0;
    (void)UARTE_ENDRX; /* it is clear before the next byte may come */
    UARTE_STARTRX = 1;
    return true;
}

void uhost_uart_send(uint8_t byte)
{
    sent = byte;
    UARTE_ENDTX = 0;
    UARTE_STARTTX = 1;
    /* The byte must stay where it is until it is gone. */
    for (uint32_t polls = 0; polls < UHOST_UART_MAX_POLLS; polls++) {
        if (UARTE_ENDTX != 0) {
            return;
        }
    }
}
