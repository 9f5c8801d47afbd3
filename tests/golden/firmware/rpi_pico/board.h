/* Raspberry Pi Pico (RP2040): what start-up and the HAL need of the board's data. */
#ifndef UHOST_BOARD_H
#define UHOST_BOARD_H

#define UHOST_CLOCK_HZ 125000000u
#define UHOST_RESET_CLOCK_HZ 6500000u

#define UHOST_HAS_FPU 0
#define UHOST_HAS_CACHES 0
#define UHOST_HAS_DWT 0

/* UART0, a pl011 */
#define UHOST_CONSOLE_BASE 0x40034000u
#define UHOST_CONSOLE_IRQ 20u
#define UHOST_CONSOLE_BAUD 115200u
#define UHOST_CONSOLE_CLOCK_HZ 125000000u
#define UHOST_CONSOLE_RESET_CLOCK_HZ 6500000u
#define UHOST_RECEIVE_BYTES 4096u

/* The longest payload of a frame. */
#define UHOST_RPC_BUFFER_BYTES 2048u

#endif
