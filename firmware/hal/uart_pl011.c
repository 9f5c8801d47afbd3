/* Arm's PrimeCell UART PL011, also in Luminary's and Raspberry Pi's chips, with its FIFOs on. */
#include "board.h"
#include "registers.h"
#include "uart.h"

#define UART_DR REGISTER(UHOST_CONSOLE_BASE + 0x00u)
#define UART_ECR REGISTER(UHOST_CONSOLE_BASE + 0x04u)
#define UART_FR REGISTER(UHOST_CONSOLE_BASE + 0x18u)
#define FR_RXFE (1u << 4)
#define FR_TXFF (1u << 5)
#define UART_IBRD REGISTER(UHOST_CONSOLE_BASE + 0x24u)
#define UART_FBRD REGISTER(UHOST_CONSOLE_BASE + 0x28u)
#define UART_LCRH REGISTER(UHOST_CONSOLE_BASE + 0x2Cu)
#define LCRH_8N1_FIFO 0x70u
#define UART_CR REGISTER(UHOST_CONSOLE_BASE + 0x30u)
#define CR_UARTEN (1u << 0)
#define CR_TXE (1u << 8)
#define CR_RXE (1u << 9)
#define UART_IFLS REGISTER(UHOST_CONSOLE_BASE + 0x34u)
#define IFLS_EIGHTH 0u /* interrupt at the second byte; a lone one by the timeout */
#define UART_IMSC REGISTER(UHOST_CONSOLE_BASE + 0x38u)
#define UART_ICR REGISTER(UHOST_CONSOLE_BASE + 0x44u)
#define INTERRUPT_RX (1u << 4)
#define INTERRUPT_RX_TIMEOUT (1u << 6)
#define INTERRUPT_ALL 0x7FFu

void uhost_uart_start(uint32_t clock_hz)
{
    /* In 64ths of 16 baud clocks. */
    uint32_t divisor = (clock_hz * 4u + UHOST_CONSOLE_BAUD / 2u) / UHOST_CONSOLE_BAUD;

    UART_CR = 0;
    UART_IBRD = divisor >> 6;
    UART_FBRD = divisor & 0x3Fu;
    UART_LCRH = LCRH_8N1_FIFO; /* takes the divisor over as well */
    UART_IFLS = IFLS_EIGHTH;
    UART_ICR = INTERRUPT_ALL;
    UART_IMSC = INTERRUPT_RX | INTERRUPT_RX_TIMEOUT;
    UART_CR = CR_UARTEN | CR_TXE | CR_RXE;
}

void uhost_uart_acknowledge(void)
{
    /* Before the bytes are taken: one that comes after the last look interrupts again. */
    UART_ICR = INTERRUPT_RX | INTERRUPT_RX_TIMEOUT;
    UART_ECR = 0;
}

bool uhost_uart_receive(uint8_t *byte)
{
    if ((UART_FR & FR_RXFE) != 0) {
        return false;
    }
    *byte = (uint8_t)UART_DR;
    return true;
}

void uhost_uart_send(uint8_t byte)
{
    for (uint32_t polls = 0; polls < UHOST_UART_MAX_POLLS; polls++) {
        if ((UART_FR & FR_TXFF) == 0) {
            UART_DR = byte;
            return;
        }
    }
}
