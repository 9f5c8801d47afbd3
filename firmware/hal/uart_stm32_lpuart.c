/* Low-power UART of STM32: a USART (see uart_stm32_usart_v3.c) with a divisor in 1/256. */
#include "board.h"
#include "registers.h"
#include "uart.h"

#define LPUART_CR1 REGISTER(UHOST_CONSOLE_BASE + 0x00u)
#define CR1_UE (1u << 0)
#define CR1_RE (1u << 2)
#define CR1_TE (1u << 3)
#define CR1_RXNEIE (1u << 5)
#define LPUART_BRR REGISTER(UHOST_CONSOLE_BASE + 0x0Cu)
#define LPUART_ISR REGISTER(UHOST_CONSOLE_BASE + 0x1Cu)
#define ISR_ERRORS 0x0Fu /* parity, framing, noise, overrun */
#define ISR_RXNE (1u << 5)
#define ISR_TXE (1u << 7)
#define LPUART_ICR REGISTER(UHOST_CONSOLE_BASE + 0x20u)
#define LPUART_RDR REGISTER(UHOST_CONSOLE_BASE + 0x24u)
#define LPUART_TDR REGISTER(UHOST_CONSOLE_BASE + 0x28u)

void uhost_uart_start(uint32_t clock_hz)
{
    /* 256 times the clock does not fit 32 bits: whole part and remainder apart. */
    uint32_t whole = clock_hz / UHOST_CONSOLE_BAUD;
    uint32_t rest = clock_hz % UHOST_CONSOLE_BAUD;

    LPUART_CR1 = 0;
    LPUART_BRR =
        256u * whole + (256u * rest + UHOST_CONSOLE_BAUD / 2u) / UHOST_CONSOLE_BAUD;
    LPUART_CR1 = CR1_UE | CR1_TE | CR1_RE | CR1_RXNEIE;
}

void uhost_uart_acknowledge(void)
{
    /* An overrun that is not cleared stops reception for good. */
    if ((LPUART_ISR & ISR_ERRORS) != 0) {
        LPUART_ICR = ISR_ERRORS;
    }
}

bool uhost_uart_receive(uint8_t *byte)
{
    if ((LPUART_ISR & ISR_RXNE) == 0) {
        return false;
    }
    *byte = (uint8_t)LPUART_RDR;
    return true;
}

void uhost_uart_send(uint8_t byte)
{
    for (uint32_t polls = 0; polls < UHOST_UART_MAX_POLLS; polls++) {
        if ((LPUART_ISR & ISR_TXE) != 0) {
            LPUART_TDR = byte;
            return;
        }
    }
}
