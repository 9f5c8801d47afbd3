/* USART of STM32F2 and STM32F4: status and data registers that clear each other. */
#include "board.h"
#include "registers.h"
#include "uart.h"

#define USART_SR REGISTER(UHOST_CONSOLE_BASE + 0x00u)
#define SR_ORE (1u << 3)
#define SR_RXNE (1u << 5)
#define SR_TXE (1u << 7)
#define USART_DR REGISTER(UHOST_CONSOLE_BASE + 0x04u)
#define USART_BRR REGISTER(UHOST_CONSOLE_BASE + 0x08u)
#define USART_CR1 REGISTER(UHOST_CONSOLE_BASE + 0x0Cu)
#define CR1_RE (1u << 2)
#define CR1_TE (1u << 3)
#define CR1_RXNEIE (1u << 5)
#define CR1_UE (1u << 13)

void uhost_uart_start(uint32_t clock_hz)
{
    USART_CR1 = 0;
    USART_BRR = (clock_hz + UHOST_CONSOLE_BAUD / 2u) / UHOST_CONSOLE_BAUD;
    USART_CR1 = CR1_UE | CR1_TE | CR1_RE | CR1_RXNEIE;
}

void uhost_uart_acknowledge(void)
{
    /* An overrun without a byte is cleared by reading both registers; with one, by taking it. */
    if ((USART_SR & (SR_ORE | SR_RXNE)) == SR_ORE) {
        (void)USART_DR;
    }
}

bool uhost_uart_receive(uint8_t *byte)
{
    if ((USART_SR & SR_RXNE) == 0) {
        return false;
    }
    *byte = (uint8_t)USART_DR;
    return true;
}

void uhost_uart_send(uint8_t byte)
{
    for (uint32_t polls = 0; polls < UHOST_UART_MAX_POLLS; polls++) {
        if ((USART_SR & SR_TXE) != 0) {
            USART_DR = byte;
            return;
        }
    }
}
