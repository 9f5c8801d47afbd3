/* USART of STM32F7, STM32H7, STM32L4 and STM32U5: separate status and clear registers. */
#include "board.h"
#include "registers.h"
#include "uart.h"

#define USART_CR1 REGISTER(UHOST_CONSOLE_BASE + 0x00u)
#define CR1_UE (1u << 0)
#define CR1_RE (1u << 2)
#define CR1_TE (1u << 3)
#define CR1_RXNEIE (1u << 5)
#define USART_BRR REGISTER(UHOST_CONSOLE_BASE + 0x0Cu)
#define USART_ISR REGISTER(UHOST_CONSOLE_BASE + 0x1Cu)
#define ISR_ERRORS 0x0Fu /* parity, framing, noise, overrun */
#define ISR_RXNE (1u << 5)
#define ISR_TXE (1u << 7)
#define USART_ICR REGISTER(UHOST_CONSOLE_BASE + 0x20u)
#define USART_RDR REGISTER(UHOST_CONSOLE_BASE + 0x24u)
#define USART_TDR REGISTER(UHOST_CONSOLE_BASE + 0x28u)

void uhost_uart_start(uint32_t clock_hz)
{
    USART_CR1 = 0;
    USART_BRR = (clock_hz + UHOST_CONSOLE_BAUD / 2u) / UHOST_CONSOLE_BAUD;
    USART_CR1 = CR1_UE | CR1_TE | CR1_RE | CR1_RXNEIE;
}

void uhost_uart_acknowledge(void)
{
    /* An overrun that is not cleared stops reception for good. */
    if ((USART_ISR & ISR_ERRORS) != 0) {
        USART_ICR = ISR_ERRORS;
    }
}

bool uhost_uart_receive(uint8_t *byte)
{
    if ((USART_ISR & ISR_RXNE) == 0) {
        return false;
    }
    *byte = (uint8_t)USART_RDR;
    return true;
}

void uhost_uart_send(uint8_t byte)
{
    for (uint32_t polls = 0; polls < UHOST_UART_MAX_POLLS; polls++) {
        if ((USART_ISR & ISR_TXE) != 0) {
            USART_TDR = byte;
            return;
        }
    }
}
